"""`label-tree` and `shortlist` beside the label trees of other tools, in one run; writes docs/label-trees.md.

    python benchmarks/label_trees.py SOURCE... [--times 3] [--peers omikuji,PECOS,napkinXC]

SOURCE is as sources.py has it. One thread; processor time, which other work on the machine disturbs least. Other tools
run in the environments that `harness env build` makes. A source that was measured before keeps its lines until it is
measured again.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from label_trees_peers import PEERS, measure_peer
from scipy.sparse import issparse
from sources import name_of, read_source
from svm_speed import Parts
from timing import take_one_thread

from harness.machine import describe_machine
from harness_shortlist import Shortlist
from harness_svm.label_tree import LabelTree

PAGE = Path(__file__).resolve().parent.parent / "docs" / "label-trees.md"
DEPTH = 5
OURS: dict[str, tuple[Any, dict[str, Any]]] = {
    "shortlist": (Shortlist, {}),
    "shortlist, 20 candidates": (Shortlist, {"candidates": 20}),
    "label-tree": (LabelTree, {}),
}
"""By their defaults; half as many candidates show what a quicker shortlist costs, or does not."""
COLUMNS = "| data | rows | classes | learner | train | a row | R1 | R5 | train, ratio | a row, ratio |"
HEAD = f"""# Speed and accuracy of label trees and shortlists

Written by `python benchmarks/label_trees.py`; do not edit by hand. Processor time of one thread, the best of some runs;
ranking {DEPTH} deep. Ours have the defaults that [all data sets together chose](defaults.md), so that no one of these
has its own; `shortlist` stands there with half of its candidates too. R1 and R5: the share of test rows with a true
class in the first place, and among the first five. Ratios: the time of the fastest other tool over ours, so that above
1 it takes longer. Aims, at no lower R1 and R5: `label-tree` 1.5 for training and 3 for ranking, `shortlist` 2 and 5.

omikuji is its Parabel with one tree, asked row by row: its interface has no other way. PECOS is XR-Linear, its model
opened for answers alone, napkinXC its probabilistic label tree, both with the tool's defaults. Rows in the form that a
tool wants are made before the clock runs. [What the files are](datasets.md#files-that-pages-of-measurements-name).

PECOS was asked before as its training leaves it, which is several times slower: then ours ranked 12,000 classes eight
times as fast as anybody. They do not: `label-tree` is level with PECOS there and slower on `eurlex4k`, and the aim of
3 is met on short texts alone; `shortlist` has its 5 there too, and nowhere else.

What limits `label-tree`: on `eurlex4k` and `syn12k` rows have some two hundred features, the nodes above the classes
know most of them, and a ranking reads tens of thousands of weights; each of the sixteen children of a node is trained
on all rows of the node. Tried: two or four children in the place of sixteen, which the defaults were chosen from (four
train hardly faster at 12,000 classes, with a point less of R1); beams of 20 and paths worth the cube of what is short,
as PECOS has it, which change R1 on validation parts of six sets by less than half a point, up as often as down. Asking
for the memory of all features of a row at once nearly halved the time of a ranking on long rows. R1 on `eurlex4k` stays
a point behind all three tools.

What limits `shortlist`: its machines cost what the candidates cost, so that with twenty classes, where all of them are
candidates, little is saved beside a tree; with 12,000 the proposer alone takes a fifth of the training. Tables that
hold feature and weight side by side, and asking for their memory ahead, gained a tenth in ranking and were not kept.
Where a row has several labels, as in `eurlex4k`, forty candidates are too few for the R5 of a tree.

"""


class Measured(NamedTuple):
    """What one learner took, and how good it was."""

    train_seconds: float
    rank_microseconds: float
    r1: float
    r5: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sources", nargs="+")
    parser.add_argument("--times", type=int, default=3, help="the best of so many runs counts")
    parser.add_argument("--peers", default=",".join(PEERS), help="default: %(default)s")
    chosen = parser.parse_args()
    take_one_thread()
    known = read_lines()
    for source in chosen.sources:
        name = name_of(source)
        known[name] = compare(name, read_source(source), chosen.times, chosen.peers.split(","))
        print("\n".join(known[name]), flush=True)
        write_page(known)


def read_lines() -> dict[str, list[str]]:
    """What the page says already, by data set."""
    known: dict[str, list[str]] = {}
    for line in PAGE.read_text().splitlines() if PAGE.exists() else ():
        cells = line.split(" | ")
        if len(cells) > 9 and cells[1][0].isdigit():  # a heading has no number there
            known.setdefault(cells[0].removeprefix("| "), []).append(line)
    return known


def write_page(known: dict[str, list[str]]) -> None:
    machine = describe_machine()
    lines = [f"Measured on {machine.processor}, {machine.cores} cores; load average {os.getloadavg()[0]:.1f}.", ""]
    lines += [COLUMNS, "|---|---:|---:|---|---:|---:|---:|---:|---:|---:|"]
    for own in known.values():
        lines += own
    lines += ["", "Who is ahead:", "", *(tell_best(name, own) for name, own in known.items())]
    PAGE.write_text(HEAD + "\n".join(lines) + "\n")


def tell_best(name: str, lines: list[str]) -> str:
    """Who has the highest R1 on a data set, and who the highest R5, whoever made it."""
    told = []
    for heading, place in (("R1", 6), ("R5", 7)):
        cells = max((line.split(" | ") for line in lines), key=lambda cells: float(cells[place]))
        told.append(f"{heading} {cells[3]} ({cells[place]})")
    return f"- {name}: {', '.join(told)}"


def compare(name: str, parts: Parts, times: int, peers: list[str]) -> list[str]:
    """A line for each learner of ours, with ratios, and one for each other tool."""
    ours = {}
    for own, (kind, params) in OURS.items():
        kind(**params).fit(parts.X[:200], parts.y[:200]).rank(parts.X[:2], DEPTH)  # whatever is made on first use
        ours[own] = measure(
            parts, times, partial(fit, kind, params, parts), partial(kind.rank, X=parts.X_test, k=DEPTH)
        )
    theirs = {peer: judge(parts, *measure_peer(parts, times, peer, DEPTH)) for peer in peers}
    train = min(found.train_seconds for found in theirs.values())
    a_row = min(found.rank_microseconds for found in theirs.values())
    classes = parts.y.shape[1] if issparse(parts.y) else int(parts.y.max()) + 1
    size = f"| {name} | {parts.X.shape[0]:,} | {classes:,}"
    lines = []
    for own, found in ours.items():
        ratios = f"**{train / found.train_seconds:.1f}** | **{a_row / found.rank_microseconds:.1f}**"
        lines.append(f"{size} | {own} | {row(found)} | {ratios} |")
    return lines + [f"{size} | {other} | {row(found)} | - | - |" for other, found in theirs.items()]


def fit(kind: Any, params: dict[str, Any], parts: Parts) -> Any:
    return kind(random_state=0, **params).fit(parts.X, parts.y)


def row(found: Measured) -> str:
    return f"{found.train_seconds:.2f} s | {found.rank_microseconds:.0f} µs | {found.r1:.4f} | {found.r5:.4f}"


def measure(parts: Parts, times: int, train: Callable[[], Any], rank: Callable[[Any], np.ndarray]) -> Measured:
    """The fastest of some trainings and rankings."""
    trainings, rankings = [], []
    for _ in range(times):
        begun = time.process_time()
        model = train()
        trained = time.process_time()
        ranked = rank(model)
        rankings.append(time.process_time() - trained)
        trainings.append(trained - begun)
    return judge(parts, min(trainings), min(rankings), ranked)


def judge(parts: Parts, train_seconds: float, rank_seconds: float, ranked: np.ndarray) -> Measured:
    if issparse(parts.y_test):
        hits = np.take_along_axis(parts.y_test.toarray(), np.maximum(ranked, 0), axis=1).astype(bool) & (ranked >= 0)
    else:
        hits = (ranked == parts.y_test[:, np.newaxis]) & (ranked >= 0)
    microseconds = rank_seconds / ranked.shape[0] * 1e6
    return Measured(train_seconds, microseconds, float(hits[:, 0].mean()), float(hits.any(axis=1).mean()))


if __name__ == "__main__":
    main()
