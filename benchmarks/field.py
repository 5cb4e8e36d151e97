"""Files drawn from the records of results/field: the table behind `harness suggest`, and the tables of its README.

    python benchmarks/field.py [--page-only]

Runs no trial. The table for `harness suggest` has a row per learner and dataset, means over trials; it needs the
datasets, for their numbers of rows, classes and letters. `--page-only` draws the README and the figure of ranks alone.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from statistics import fmean, median
from textwrap import wrap

from harness.experiment.references import DatasetRef
from harness.experiment.resolve import preparer, resolve_dataset
from harness.host.catalog import Catalog, find_metric
from harness.host.discovery import Session
from harness.records.record import Record
from harness.report.figures.drawing import FILE_FORMATS
from harness.report.lines import Line, rank_learners
from harness.results.results import read_results
from harness.runner.suggest import SEVERAL, Facts, facts_of
from harness.syntax.expression import parse
from harness.syntax.values import plain_label
from harness.trials.trial import REPRESENTATION

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "field"
PAGE = RESULTS / "README.md"
MEASURED = ROOT / "plugins" / "harness_papers" / "measured" / "field.csv"
COLUMNS = (
    *("dataset", "rows", "classes", "features_a_row", "letters", "labels"),
    *("learner", "expression", "r1", "train_seconds", "answer_seconds"),
)

OTHER_TOOLS = ("harness_peers.", "harness_sklearn.")
"""Packages of the external learners."""
CLOSE = 0.01
"""Difference of R1 within which the fastest learner is chosen."""
MOST_CLASSES = 2000
"""Largest dataset for average ranks: too few learners finish larger ones."""
SEVERAL_LABELS = {"reuters90", "eurlex4k"}
"""Datasets with several labels per row, which most learners do not support."""
WIDTH = 120
SHOWN = 12
"""Learners in the table of average ranks."""

By = Callable[[Line], float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page-only", action="store_true", help="draw the README and the figure of ranks only")
    page_only = parser.parse_args().page_only
    session = Session()
    results = read_results([RESULTS], session)
    if not page_only:
        write_measured(results.lines(), session)
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), results.lines(), session.catalog), encoding="utf-8")
    ranked = rankable(results.lines())
    drawing = results.plot("cd", metric="r1", datasets=_names(ranked, "dataset"), learners=_names(ranked, "label"))
    for ending in FILE_FORMATS:
        drawing.save(RESULTS / f"ranks.{ending}")
    print(PAGE.relative_to(ROOT))


# -- the table behind `harness suggest` ------------------------------------------------------------------------------


def write_measured(lines: Iterable[Line], session: Session) -> None:
    """Write the table with a row per learner and dataset."""
    known: dict[str, Facts] = {}
    MEASURED.parent.mkdir(exist_ok=True)
    with MEASURED.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(COLUMNS)
        for line in lines:
            if line.dataset not in known:
                known[line.dataset] = dataset_facts(line.records[0], session)
            rows.writerow(row_of(line, known[line.dataset]))
    print(MEASURED.relative_to(ROOT))


def dataset_facts(record: Record, session: Session) -> Facts:
    ref = DatasetRef(record.dataset_source, plain_label(record.dataset), params=record.dataset_params)
    return facts_of(preparer(session)(resolve_dataset(ref, session.catalog)))


def row_of(line: Line, facts: Facts) -> list[object]:
    """Return the row of a learner on a dataset."""
    size = [facts.rows, facts.classes, _one_decimal(facts.features_a_row), _one_decimal(facts.letters)]
    return [line.dataset, *size, SEVERAL if facts.multilabel else "one", *outcome(line)]


def outcome(line: Line) -> list[str]:
    """Return learner, tuned expression, R1, and CPU seconds of training and of a prediction; blanks after a failure."""
    records = line.finished
    if not records:
        return [line.label, line.label, "", "", ""]
    r1 = fmean(record.scores["r1"] or 0.0 for record in records)
    training = fmean(record.fit_cpu_seconds or 0.0 for record in records)
    answering = fmean((record.predict_cpu_seconds or 0.0) / (record.n_test or 1) for record in records)
    return [line.label, _tuned_expression(records[0]), f"{r1:.4f}", f"{training:.4g}", f"{answering:.4g}"]


def _tuned_expression(record: Record) -> str:
    """Return the learner with its tuned parameters, without the representation."""
    chosen = {name: value for name, value in record.tuned.items() if name != REPRESENTATION}
    if record.to_tune and not record.tuned:  # a first stage chose them, and the trial was given them
        chosen = {name: value for name, value in record.params.items() if f"{name}=" in record.to_tune}
    plain = parse(record.label)
    return str(replace(plain, params={**plain.params, **chosen}))


def _one_decimal(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


# -- tables of the README ---------------------------------------------------------------------------------------------


def fill(text: str, lines: Sequence[Line], catalog: Catalog) -> str:
    """Return the README with the tables that the records make."""
    text = _between(text, "leaders", leaders(lines, catalog))
    return _between(text, "ranks", average_ranks(lines, catalog))


def _between(text: str, name: str, lines: Iterable[str]) -> str:
    """Return the text with these lines between the marks of this name."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    head, found, rest = text.partition(begin)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{PAGE.name} has no marks {begin.strip()} and {end}")
    return "".join([head, begin, "\n", "\n".join(lines), "\n\n", end, tail])


def leaders(lines: Sequence[Line], catalog: Catalog) -> list[str]:
    """Return the table of the best learners, a row per dataset, fewest classes first."""
    rows = [
        "| dataset | classes | trials | best built-in | best external | fastest within a point | best R5 | finished |",
        "|---|---:|---:|---|---|---|---|---:|",
    ]
    by_data: dict[str, list[Line]] = {}
    for line in lines:
        by_data.setdefault(line.dataset, []).append(line)
    for name in sorted(by_data, key=lambda name: _classes(by_data[name])):
        rows.append(_row(name, by_data[name], catalog))
    spreads = {name: _spread(competitors) for name, competitors in by_data.items()}
    each = [f"{name} {100 * spread:.2f}" for name, spread in spreads.items() if spread is not None]
    between = f"Median difference between two trials of one learner, in points of R1: {', '.join(each)}."
    return [*rows, "", *wrap(between, WIDTH)]


def _spread(competitors: Sequence[Line]) -> float | None:
    """Return the median range of R1 between trials of one learner; None with one trial."""
    spans = []
    for line in competitors:
        values = line.values("r1").values()
        if len(values) > 1:
            spans.append(max(values) - min(values))
    return median(spans) if spans else None


def _row(name: str, competitors: Sequence[Line], catalog: Catalog) -> str:
    able = [line for line in competitors if line.finished]
    r1, r5, training = partial(_mean, "r1"), partial(_mean, "r5"), partial(_mean, "train_cpu")
    others = [line for line in able if _is_external(line, catalog)]
    ours = [line for line in able if line not in others]
    first = max(map(r1, able))
    near = [line for line in able if r1(line) >= first - CLOSE]
    ranking = [line for line in able if line.summary("r5") is not None]
    trials = max(len(line.finished) for line in able)
    cells = [
        name,
        f"{_classes(competitors):,}",
        str(trials),
        _with_time(max(ours, key=r1), first),
        _with_time(max(others, key=r1), first),
        _with_time(min(near, key=training), first),
        _best_ranking(max(ranking, key=r5), r5),
        f"{len(able)} of {len(competitors)}",
    ]
    return f"| {' | '.join(cells)} |"


def _with_time(line: Line, first: float) -> str:
    """Return a learner with its R1, bold if it is the highest, and its training time."""
    r1 = f"{_mean('r1', line):.3f}"
    if r1 == f"{first:.3f}":
        r1 = f"**{r1}**"
    return f"`{line.label}` {r1}, {_mean('train_cpu', line):.2f} s"


def _best_ranking(line: Line, r5: By) -> str:
    return f"`{line.label}` {r5(line):.3f}"


def _mean(metric: str, line: Line) -> float:
    """Return the mean over finished trials."""
    found = line.summary(metric)
    assert found is not None, f"{line.label} finished on {line.dataset} without {metric}"
    return found.mean


def _classes(competitors: Sequence[Line]) -> int:
    return max(record.n_classes or 0 for line in competitors for record in line.finished)


def _is_external(line: Line, catalog: Catalog) -> bool:
    learner = catalog.learner(line.records[0].learner)
    return learner.spec.load.startswith(OTHER_TOOLS)


# -- average ranks ---------------------------------------------------------------------------------------------------


def rankable(lines: Sequence[Line]) -> list[Line]:
    """Return the lines of learners that finished all single-label datasets of at most `MOST_CLASSES` classes."""
    learners: dict[str, set[str]] = {}
    fit = []
    for line in lines:
        if line.finished and line.dataset not in SEVERAL_LABELS and _classes([line]) <= MOST_CLASSES:
            learners.setdefault(line.dataset, set()).add(line.label)
            fit.append(line)
    everywhere = set.intersection(*learners.values())
    return [line for line in fit if line.label in everywhere]


def average_ranks(lines: Sequence[Line], catalog: Catalog) -> list[str]:
    """Return the table of average ranks with the critical difference."""
    chosen = rankable(lines)
    found = rank_learners(chosen, find_metric("r1", catalog).spec)
    rows = ["| learner | mean rank of R1 |", "|---|---:|"]
    for label, rank in list(found.ranks.items())[:SHOWN]:
        rows.append(f"| `{label}` | {rank:.1f} |")
    first = next(iter(found.ranks.values()))
    worse = sum(rank > first + found.difference for rank in found.ranks.values())
    summary = (
        f"{len(found.ranks)} learners finished all of {', '.join(_names(chosen, 'dataset'))}; samples of one dataset "
        f"count as one, which makes {found.n_datasets}. The critical difference (Nemenyi, 5%) is "
        f"{found.difference:.1f}: {worse} of the learners are significantly worse than the first."
    )
    return [*wrap(summary, WIDTH), "", *rows]


def _names(lines: Iterable[Line], field: str) -> list[str]:
    named: Mapping[str, None] = dict.fromkeys(getattr(line, field) for line in lines)
    return list(named)


if __name__ == "__main__":
    main()
