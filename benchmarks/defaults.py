"""Which defaults do the learners justice: tries the grids of benchmarks/defaults.toml, writes docs/defaults.md.

    harness data import NAME FILE     (newsgroups, reuters21578, clinc150, lshtc1-dryrun, wordnet, isolet)
    python benchmarks/defaults.py --raw FOLDER [--learners ooz,pa] [--page-only]

FOLDER holds titles/. The test rows of a data set are set aside first and never read; of the training rows a fifth
judges the candidates. Each training is a process of its own, so that one that takes too long can be ended. What was
measured stands in results/defaults/records.jsonl: a second call trains what is missing there.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
from defaults_page import Measurement, read_measurements, write_page
from numpy.typing import NDArray
from represented import represented
from scipy.sparse import csr_array, issparse
from timing import take_one_thread

from harness.api.preparing import preparer
from harness.api.session import Session
from harness.contract import Labels, LearnerSpec, Taxonomy
from harness.data.arrays import open_dataset
from harness.experiment.dataset_ref import parse_dataset
from harness.experiment.resolve import resolve_dataset
from harness.signature import import_target
from harness.split import parse_split
from harness.trials.splitting import draw_split

Params = dict[str, Any]
ROOT = Path(__file__).resolve().parent.parent
PLAN = ROOT / "benchmarks" / "defaults.toml"
RECORDS = ROOT / "results" / "defaults" / "records.jsonl"
MOST_ROWS = 15_000
"""Training rows of a set that are used; of larger sets a random part."""
JUDGING = "holdout:0.2"
MOST_SECONDS = 12
"""Processor seconds of a training, with its rankings; the system ends it then. What it has not told counts as R1 0."""


@dataclass(frozen=True)
class Part:
    """Training rows of one set, parted: what candidates train on and what they are judged by."""

    set_name: str
    draw: int
    X: csr_array
    y: Labels
    X_judging: csr_array
    y_judging: Labels
    taxonomy: Taxonomy | None

    @property
    def has_several_labels(self) -> bool:
        return bool(issparse(self.y))

    @property
    def has_negative(self) -> bool:
        return bool((self.X.data < 0).any())


@dataclass(frozen=True)
class Candidate:
    """A learner with parameters; `passes` are the numbers of passes that one training is looked at after."""

    learner: str
    params: Params
    passes: tuple[int, ...]

    def variants(self) -> list[Params]:
        """The parameters with each number of passes."""
        if not self.passes:
            return [self.params]
        return [{**self.params, "passes": number} for number in self.passes]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--raw", type=Path, default=Path(), help="the folder that holds titles/")
    parser.add_argument("--learners", help="some of them, with commas between")
    parser.add_argument("--page-only", action="store_true", help="write the page from what has been measured")
    options = parser.parse_args()
    take_one_thread()
    plan = tomllib.loads(PLAN.read_text())
    names = list(plan["learners"])
    if options.learners:
        names = options.learners.split(",")
    if not options.page_only:
        measure(plan, names, options.raw)
    write_page(plan, read_measurements(RECORDS), MOST_ROWS, MOST_SECONDS)


def measure(plan: Mapping[str, Any], names: list[str], raw: Path) -> None:
    """Train every candidate on every set that suits its learner, unless that has been done."""
    session = Session()
    specs = {entry.spec.name: entry.spec for entry in session.catalog.learners}
    parts = [part for entry in plan["sets"] for part in load_parts(entry, session, raw)]
    stand_ins = {entry["name"]: entry["instead_of"] for entry in plan["sets"] if "instead_of" in entry}
    for name in names:
        done = {measurement.key for measurement in read_measurements(RECORDS)}
        for candidate in candidates_of(name, plan["learners"][name]):
            for part in suiting_parts(specs[name], parts, stand_ins):
                wanted = [Measurement(name, params, part.set_name, part.draw).key for params in candidate.variants()]
                if not done.issuperset(wanted):
                    keep(train_apart(candidate, specs[name], part))


def candidates_of(name: str, entry: Mapping[str, Any]) -> Iterator[Candidate]:
    """All combinations of each grid."""
    for grid in entry["grids"]:
        for values in product(*grid.values()):
            yield Candidate(name, dict(zip(grid, values, strict=True)), tuple(entry.get("passes", ())))


# -- data ------------------------------------------------------------------------------------------------------------


def load_parts(entry: Mapping[str, Any], session: Session, raw: Path) -> Iterator[Part]:
    """Set the test rows aside, and part the others: once, or as often as the plan says."""
    source = entry["data"]
    if "/" in source:
        source = str(raw / source)
    dataset = resolve_dataset(parse_dataset(source), session.catalog)
    data = open_dataset(Path(preparer(session)(dataset).folder))
    rows, _ = draw_split(parse_split(entry["split"]), data.rows, 0, data.splits, data.y)
    rows = rows[:MOST_ROWS]  # in random order
    for draw in range(entry.get("draws", 1)):
        train, judging = draw_split(parse_split(JUDGING), rows.size, draw, {})
        train, judging = rows[train], rows[judging]
        X_train, X_judging = represented(data, dataset.representations[0].name, train, judging)
        yield Part(entry["name"], draw, X_train, data.y[train], X_judging, data.y[judging], data.taxonomy)


def suiting_parts(spec: LearnerSpec, parts: list[Part], stand_ins: Mapping[str, str]) -> Iterator[Part]:
    """The parts of sets that a learner can take, and of two forms of one set the one with more labels."""
    ignores_negative = getattr(import_target(spec.load), "ignores_not_positive", False)
    suiting = []
    for part in parts:
        takes_labels = "multilabel" in spec.supports or not part.has_several_labels
        has_tree = "taxonomy" not in spec.needs or part.taxonomy is not None
        if takes_labels and has_tree and not (ignores_negative and part.has_negative):
            suiting.append(part)
    found = {part.set_name for part in suiting}
    for part in suiting:
        if stand_ins.get(part.set_name) not in found:
            yield part


# -- training --------------------------------------------------------------------------------------------------------


def train_apart(candidate: Candidate, spec: LearnerSpec, part: Part) -> list[Measurement]:
    """Train in a process of its own; what it has not told when it ends has no R1."""
    told, telling = multiprocessing.Pipe(duplex=False)
    # A forked process has the data and the compiled learners already; this one never trains, so it has no thread.
    process = multiprocessing.get_context("fork").Process(target=train, args=(candidate, spec, part, telling))
    process.start()
    telling.close()
    measurements = []
    for params in candidate.variants():
        try:
            measurements.append(told.recv())
        except EOFError:  # out of time, or it failed and has said why on stderr
            measurements.append(Measurement(candidate.learner, params, part.set_name, part.draw))
    process.join()
    return measurements


def train(candidate: Candidate, spec: LearnerSpec, part: Part, telling: Connection) -> None:
    """Train, and tell of each number of passes that is asked for; a learner that stops early stands where it is."""
    resource.setrlimit(resource.RLIMIT_CPU, (MOST_SECONDS, MOST_SECONDS))
    fit_arguments: Params = {}
    if "taxonomy" in spec.needs:
        fit_arguments["taxonomy"] = part.taxonomy
    params = candidate.variants()[-1]
    learner = import_target(spec.load)(**params, random_state=0)
    begun, apart = time.process_time(), 0.0

    def tell(params: Params) -> None:
        nonlocal apart
        stopped = time.process_time()
        r1, r5 = recalls(learner, part)
        seconds = round(stopped - begun - apart, 3)
        telling.send(
            Measurement(candidate.learner, params, part.set_name, part.draw, r1, r5, seconds, int(learner.index_size_))
        )
        apart += time.process_time() - stopped

    def after_pass(number: int) -> None:
        if number in candidate.passes:
            tell({**candidate.params, "passes": number})

    if candidate.passes:
        learner.fit(part.X, part.y, after_pass=after_pass, **fit_arguments)
    else:
        learner.fit(part.X, part.y, **fit_arguments)
        tell(params)


def recalls(learner: Any, part: Part) -> tuple[float, float]:
    """The shares of rows with a true class in the first place, and among the first five."""
    ranks = learner.rank(part.X_judging, 5)
    found = is_true(part.y_judging, learner.classes_[ranks]) & (ranks >= 0)
    return round(float(found[:, 0].mean()), 4), round(float(found.any(axis=1).mean()), 4)


def is_true(y: Labels, classes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which of the classes that are named for each row are true of it."""
    if not issparse(y):
        return np.asarray(classes == y[:, None])
    return np.take_along_axis(y.toarray(), classes, axis=1).astype(bool)


def keep(measurements: list[Measurement]) -> None:
    RECORDS.parent.mkdir(parents=True, exist_ok=True)
    with open(RECORDS, "a") as file:
        for measurement in measurements:
            file.write(measurement.as_json() + "\n")
            print(measurement.as_json(), flush=True)


if __name__ == "__main__":
    main()
