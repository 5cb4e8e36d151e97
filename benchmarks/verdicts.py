"""Measure how often each test finds a difference, between equal learners and between unequal ones.

    python benchmarks/verdicts.py --datasets 500

Writes results/benchmarks/verdicts: figures.csv and a README. Learners are equal by construction: each has its own
features, and all features are drawn from the same distribution. `harness.stats.judge` compares them, as for every
table. The first tables of each scenario also go through the public interface: records in a results folder,
`harness.open_results` and its matrix, which must give the same verdicts.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree
from verdicts_page import write_page

import harness
from harness.data.split import draw_split
from harness.host.catalog import find_metric
from harness.host.discovery import Session
from harness.records.record import Record, to_line
from harness.report.lines import group_records
from harness.report.tables.pairwise import compare_pairs
from harness.stats import AUTO, TESTS, Verdict, correction_ratio, judge
from harness.syntax.split import Split, parse_split

FOLDER = Path(__file__).resolve().parent.parent / "results" / "benchmarks" / "verdicts"
CLASSES = 4
LEARNERS = (3, 10)
ROWS = (400, 2_000, 10_000)
NEIGHBOURS = 12
"""Nearest rows that are searched for a training row; beyond them, all training rows are searched."""
AT_ONCE = 50
"""Tables that are simulated together."""
LARGE = 5_000
"""Number of rows above which a scenario has fewer datasets."""
CHECKED = 5
"""Tables of each scenario that also go through the public interface."""
BETTER_BY = 0.02
"""The true difference in R1 of which power is measured: 2 points."""
GIVEN = parse_split("given:official")

Floats = NDArray[np.float64]
Rows = NDArray[np.int64]
Hits = NDArray[np.bool_]
Predict = Callable[[Floats, Rows, Sequence[tuple[Rows, Rows]]], list[Hits]]
"""Takes the features of a learner, all labels, and training and test rows by trial; returns hits by trial."""


@dataclass(frozen=True)
class Design:
    """A split and a number of trials."""

    name: str
    split: Split
    trials: int


DESIGNS = (
    Design("7 x 10%", parse_split("holdout:0.1"), 7),
    Design("7 x 20%", parse_split("holdout:0.2"), 7),
    Design("10 x 10%", parse_split("holdout:0.1"), 10),
    Design("10 x 20%", parse_split("holdout:0.2"), 10),
    Design("kfold:10", parse_split("kfold:10"), 10),
)
FIXED = Design("fixed split", parse_split("holdout:0.2"), 1)


@dataclass(frozen=True)
class Figure:
    """Number of tables in which a test found a difference between learners; a row of figures.csv."""

    truth: str
    """"equal", or "better" where the first learner is better by `BETTER_BY`."""
    learner: str
    rows: int
    learners: int
    design: str
    test: str
    tables: int
    told_apart: int
    """Tables with a difference between any two learners; of unequal ones, pairs of the better one with another."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", type=int, default=500, help="Simulate this many datasets for each figure.")
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS, help="Numbers of rows of datasets.")
    parser.add_argument("--out", type=Path, default=FOLDER, help="Write to this folder.")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    figures: list[Figure] = []
    for rows, learner in itertools.product(options.rows, PREDICT):
        figures += measure_errors(learner, rows, datasets_of(rows, options.datasets))
        print(f"{learner}, {rows} rows: done", flush=True)
        write_figures(figures, options.out / "figures.csv")  # after each scenario: a run may be cut short
    figures += measure_power(max(options.rows), options.datasets)
    write_figures(figures, options.out / "figures.csv")
    write_page(options.out)


def datasets_of(rows: int, datasets: int) -> int:
    """Return how many datasets a scenario has: large ones are slow, and get a fifth."""
    return datasets if rows <= LARGE else -(-datasets // 5)


def write_figures(figures: Iterable[Figure], path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(Figure.__dataclass_fields__), lineterminator="\n")
        writer.writeheader()
        writer.writerows(map(vars, figures))


# -- simulation ------------------------------------------------------------------------------------------------------


def measure_errors(learner: str, rows: int, datasets: int) -> Iterator[Figure]:
    """Yield figures of equal learners: any difference that a test finds is an error."""
    counts: Counter[tuple[int, str, str]] = Counter()
    tables: Counter[int] = Counter()
    generator = np.random.default_rng([list(PREDICT).index(learner), rows])
    for first in range(0, datasets, AT_ONCE):
        n = min(AT_ONCE, datasets - first)
        scores, hits = simulate(generator, PREDICT[learner], rows, n, [1.0] * max(LEARNERS))
        for learners in LEARNERS:
            for design in DESIGNS:
                of_trials = part_tables(scores[design.split][:, :, : design.trials], learners)
                counts.update((learners, design.name, test) for test in differing(of_trials, design, rows))
                if first == 0:
                    check_public(of_trials[:CHECKED], design, rows)
            of_rows = part_tables(hits, learners)
            counts[learners, FIXED.name, "mcnemar"] += count_fixed(of_rows, rows)
            tables[learners] += len(of_rows)
    for learners, design, test in itertools.product(LEARNERS, (*DESIGNS, FIXED), TESTS):
        if is_measured(design, test, learners):
            count = counts[learners, design.name, test]
            yield Figure("equal", learner, rows, learners, design.name, test, tables[learners], count)


def part_tables(scores: NDArray[Any], learners: int) -> NDArray[Any]:
    """Divide the learners of each dataset into tables of equal size; learners are independent, and so are their
    tables."""
    datasets, available, _ = scores.shape
    used = available // learners * learners
    return scores[:, :used].reshape(datasets * (used // learners), learners, -1)


def measure_power(rows: int, tables: int) -> Iterator[Figure]:
    """Yield figures of three learners, the first of which is better: how often the default test finds that."""
    generator = np.random.default_rng(rows)
    scores, _ = simulate(generator, nearest_mean, rows, tables, [find_scale(BETTER_BY), 1.0, 1.0])
    for design in DESIGNS:
        found = 0
        for table in scores[design.split][:, :, : design.trials]:
            found += sum(name == "learner 0" for name, _ in judge_table(table, design, rows, "ttest").wins)
        yield Figure("better", "nearest mean", rows, 3, design.name, "ttest", 2 * tables, found)


def is_measured(design: Design, test: str, learners: int) -> bool:
    """Return whether a test is suitable for a design, and can find any difference with its trials."""
    if TESTS[test].by_rows or design == FIXED:
        return TESTS[test].by_rows and design == FIXED
    return design.trials >= TESTS[test].fewest(learners - 1)


def simulate(
    generator: np.random.Generator, predict: Predict, rows: int, tables: int, scales: Sequence[float]
) -> tuple[dict[Split, Floats], Hits]:
    """Return R1 by split as an array of tables, learners and trials, and the hits on the rows of a fixed test set."""
    y = np.arange(rows) % CLASSES
    splits = {design.split: draw_splits(design.split, y) for design in DESIGNS}
    trials = list(itertools.chain.from_iterable(splits.values()))
    place = list(splits).index(FIXED.split) * len(splits[FIXED.split])
    scores: dict[Split, Floats] = {split: np.empty((tables, len(scales), len(each))) for split, each in splits.items()}
    hits = np.empty((tables, len(scales), len(trials[place][1])), dtype=np.bool_)
    for table, learner in itertools.product(range(tables), range(len(scales))):
        X = generator.normal(size=(rows, CLASSES)) + scales[learner] * np.eye(CLASSES)[y]
        by_trial = predict(X, y, trials)
        hits[table, learner] = by_trial[place]
        shares = iter([found.mean() for found in by_trial])
        for split, each in splits.items():
            scores[split][table, learner] = list(itertools.islice(shares, len(each)))
    return scores, hits


def draw_splits(split: Split, y: Rows) -> list[tuple[Rows, Rows]]:
    most = max(design.trials for design in DESIGNS)
    return [draw_split(split, len(y), seed, {}, y) for seed in range(most)]


def nearest_mean(X: Floats, y: Rows, trials: Sequence[tuple[Rows, Rows]]) -> list[Hits]:
    """Classify by the nearest mean: a stable learner."""
    hits = []
    classes = np.eye(CLASSES)[y]
    for train, test in trials:
        means = classes[train].T @ X[train] / classes[train].sum(axis=0)[:, None]
        distances = (means**2).sum(axis=1) - 2 * X[test] @ means.T
        hits.append(distances.argmin(axis=1) == y[test])
    return hits


def nearest_neighbour(X: Floats, y: Rows, trials: Sequence[tuple[Rows, Rows]]) -> list[Hits]:
    """Classify by the nearest training row: an unstable learner."""
    _, near = cKDTree(X).query(X, k=NEIGHBOURS)
    hits = []
    for train, test in trials:
        in_training = np.zeros(len(y), dtype=np.bool_)
        in_training[train] = True
        usable = in_training[near[test]]
        nearest = near[test, usable.argmax(axis=1)]
        lost = ~usable.any(axis=1)
        if lost.any():
            nearest[lost] = train[cKDTree(X[train]).query(X[test[lost]])[1]]
        hits.append(y[nearest] == y[test])
    return hits


PREDICT: dict[str, Predict] = {"nearest mean": nearest_mean, "1-NN": nearest_neighbour}


def find_scale(gain: float) -> float:
    """Return the distance of class centres with which the nearest mean is right on so many more rows."""
    generator = np.random.default_rng(0)
    noise = generator.normal(size=(1_000_000, CLASSES))

    def share_right(scale: float) -> float:
        return float((noise[:, 0] + scale > noise[:, 1:].max(axis=1)).mean())

    low, high, wanted = 1.0, 3.0, share_right(1.0) + gain
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if share_right(middle) < wanted else (low, middle)
    return high


# -- verdicts --------------------------------------------------------------------------------------------------------


def differing(scores: Floats, design: Design, rows: int) -> Iterator[str]:
    """Yield a test for each table in which it finds a difference between any two learners."""
    for table, test in itertools.product(scores, TESTS):
        if is_measured(design, test, len(table)) and judge_table(table, design, rows, test).wins:
            yield test


def judge_table(table: Floats, design: Design, rows: int, test: str) -> Verdict:
    n_test = test_rows(design.split, rows)
    samples = {f"learner {place}": dict(enumerate(row.tolist())) for place, row in enumerate(table)}
    ratio = correction_ratio(rows - n_test, n_test, folds=bool(design.split.folds))
    return judge(samples, higher=True, test=test, ratio=ratio)


def check_public(scores: Floats, design: Design, rows: int) -> None:
    """Raise AssertionError if results in a folder have other verdicts than `judge`."""
    values = open_scores(scores, design, rows).matrix("r1")[0].values
    found = {(row["dataset"], row["better"]) for row in values if row["better"]}
    expected = set()
    for place, table in enumerate(scores):
        wins = judge_table(table, design, rows, "ttest").wins
        expected |= {(f"table {place}", winner) for winner, _ in wins}
    assert found == expected, f"{design.name}, {rows} rows: {found} and {expected}"


def open_scores(scores: Floats, design: Design, rows: int) -> harness.Results:
    """Return scores as results; each table is a dataset."""
    records = [
        make_record(design.split, table, learner, trial, float(scores[table, learner, trial]), rows)
        for table, learner, trial in np.ndindex(scores.shape)
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "records.jsonl").write_text("".join(map(to_line, records)), encoding="utf-8")
        (folder / "machine.json").write_text("{}", encoding="utf-8")
        return harness.open_results(folder)


def count_fixed(hits: Hits, rows: int) -> int:
    """Return the number of tables in which the default test on a fixed split finds a difference.

    Every learner has three trials with the same score, as a deterministic learner has. They must not count as three.
    """
    r1 = find_metric("r1", Session().catalog).spec
    records, by_key = [], {}
    for table, learner in np.ndindex(hits.shape[:2]):
        row = hits[table, learner].tolist()
        for seed in range(3):
            records.append(make_record(GIVEN, table, learner, seed, sum(row) / len(row), rows))
        by_key[records[-3].key, 1] = row
    pairs = compare_pairs(group_records(records), r1, AUTO, by_key)
    return len({pair.prepared for pair in pairs if pair.winner})


def test_rows(split: Split, rows: int) -> int:
    return round(rows * (1 / split.folds if split.folds else split.share or 0.2))


def make_record(split: Split, table: int, learner: int, seed: int, score: float, rows: int) -> Record:
    n_test = test_rows(split, rows)
    return Record(
        key=f"{table}-{learner}-{seed}",
        label=f"learner {learner}",
        family=f"learner {learner}",
        learner="equal",
        learner_kind="flat",
        learner_distribution="benchmark",
        learner_version="1",
        params={},
        dataset=f"table {table}",
        dataset_family="table",
        dataset_params={},
        fingerprint="0" * 64,
        representation="raw",
        split=split,
        number=seed,
        seed=seed,
        depth=1,
        status="ok",
        scores={"r1": score},
        n_train=rows - n_test,
        n_test=n_test,
        n_classes=CLASSES,
        n_features=CLASSES,
    )


if __name__ == "__main__":
    main()
