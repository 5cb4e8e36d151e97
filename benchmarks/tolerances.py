"""Objective gap and R1 of `svm` with the hinge loss and of `crammer-singer`, by their tolerance.

    harness data import NAME FILE     (the datasets of benchmarks/defaults.toml)
    python benchmarks/tolerances.py --raw FOLDER [--sets clinc150,noc] [--costs 1,3,10] [--tols 1,0.3,0.1,0.03]
        [--learners crammer-singer]

Test rows are set aside and never read; R1 is on a fifth of the other rows, as in defaults.py. The gap is the objective
divided by the one at the tightest tolerance, minus 1. Choice: the largest tolerance whose mean loss of R1 to the best
one is within the tie of defaults.py.
"""

from __future__ import annotations

import argparse
import tomllib
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from defaults import PLAN, TIE, Part, load_parts, recalls
from report import Column, Section, Table
from scipy.sparse import csr_array, issparse
from sklearn.exceptions import ConvergenceWarning
from timing import cpu_seconds, take_one_thread

from harness.host.discovery import Session
from harness.sdk.kernels.edges import as_edges
from harness_svm import SVM, CrammerSinger

LEARNERS: dict[str, Callable[..., Any]] = {
    "svm(loss=hinge)": lambda **given: SVM(loss="hinge", **given),
    "crammer-singer": CrammerSinger,
}
BLOCK_ROWS = 1000
MOST_COMPILED_ROWS = 300
COLUMNS = [
    Column("dataset"),
    Column("tol", digits=None),
    Column("train", "s", 2),
    Column("gap", "%", 2),
    Column("R1", digits=4),
]
CHOICE_COLUMNS = [
    Column("tol", digits=None),
    Column("mean loss", "points", 2),
    Column("largest loss", "points", 2),
    Column("largest gap", "%", 1),
    Column("train, ratio to the tightest", digits=2),
]


class Measured(NamedTuple):
    """One training."""

    dataset: str
    tol: float
    seconds: float
    objective: float
    r1: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--raw", type=Path, default=Path(), help="folder with titles/")
    parser.add_argument("--sets", help="names in defaults.toml, separated by commas; default: all with one label a row")
    parser.add_argument("--costs", default="1,3,10", help="values of C; default: %(default)s")
    parser.add_argument("--tols", default="1,0.3,0.1,0.03", help="default: %(default)s")
    parser.add_argument("--learners", default=",".join(LEARNERS), help="default: %(default)s")
    options = parser.parse_args()
    take_one_thread()
    warnings.filterwarnings("ignore", category=ConvergenceWarning)
    tols = sorted(map(float, options.tols.split(",")), reverse=True)
    parts = read_parts(options.sets.split(",") if options.sets else None, options.raw)
    for name in options.learners.split(","):
        build = LEARNERS[name]
        for C in map(float, options.costs.split(",")):
            found = [measure(build, part, C, tol) for part in parts for tol in tols]
            print("\n".join(report(f"`{name}`, C={C:g}", found, tols).render()), flush=True)


def read_parts(names: Sequence[str] | None, raw: Path) -> list[Part]:
    """Return the first draw of each dataset with one label a row."""
    session, parts = Session(), []
    for entry in tomllib.loads(PLAN.read_text())["sets"]:
        if names is None or entry["name"] in names:
            part = next(load_parts(entry, session, raw))
            if not part.has_several_labels:
                parts.append(part)
    return parts


def measure(build: Callable[..., Any], part: Part, C: float, tol: float) -> Measured:
    """Train once, after a training on a few rows that compiles."""
    build().fit(part.X[:MOST_COMPILED_ROWS], part.y[:MOST_COMPILED_ROWS])
    learner = build(C=C, tol=tol, random_state=0)
    seconds = cpu_seconds(lambda: learner.fit(part.X, part.y))
    r1, _ = recalls(learner, part)
    return Measured(part.set_name, tol, seconds, objective(learner, part, C), r1)


def objective(learner: Any, part: Part, C: float) -> float:
    """Return the objective that the learner minimises: of all classes, if each has a problem of its own."""
    indptr, classes, weights = as_edges(learner.rows_)
    shape = (learner.n_features_in_, learner.classes_.size)
    W = csr_array((weights.astype(np.float64), classes.astype(np.int64), indptr), shape=shape)
    y = np.atleast_1d(np.searchsorted(learner.classes_, part.y))
    total = float((W.data**2).sum()) / 2
    each_apart = isinstance(learner, SVM)
    if each_apart:
        total += float((learner.base_**2).sum()) / 2
    for start in range(0, y.size, BLOCK_ROWS):
        block = slice(start, start + BLOCK_ROWS)
        scores = part.X[block].astype(np.float64) @ W
        scores = (scores.toarray() if issparse(scores) else scores) + learner.base_
        own = np.arange(shape[1]) == y[block, np.newaxis]
        if each_apart:
            losses = np.maximum(0, 1 - np.where(own, scores, -scores))
        else:
            losses = np.where(own, 0, 1 - scores[own][:, np.newaxis] + scores).max(axis=1)
        total += C * float(losses.sum())
    return total


def report(title: str, found: list[Measured], tols: Sequence[float]) -> Section:
    """Return a table of all trainings, and one of the losses by tolerance."""
    names = list(dict.fromkeys(one.dataset for one in found))
    at = {(one.dataset, one.tol): one for one in found}
    gaps = {key: 100 * (one.objective / at[one.dataset, tols[-1]].objective - 1) for key, one in at.items()}
    rows = [[one.dataset, one.tol, one.seconds, gaps[one.dataset, one.tol], one.r1] for one in found]
    choices, chosen = [], tols[-1]
    best = {name: max(at[name, tol].r1 for tol in tols) for name in names}
    for tol in tols:
        losses = [100 * (best[name] - at[name, tol].r1) for name in names]
        time = sum(at[name, tol].seconds for name in names) / sum(at[name, tols[-1]].seconds for name in names)
        choices.append([tol, fmean(losses), max(losses), max(gaps[name, tol] for name in names), time])
    least = min(row[1] for row in choices)
    chosen = max(row[0] for row in choices if row[1] <= least + 100 * TIE)
    return Section(title, [Table(COLUMNS, rows), Table(CHOICE_COLUMNS, choices)], f"Choice: tol={chosen:g}.")


if __name__ == "__main__":
    main()
