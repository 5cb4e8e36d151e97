"""Which cells of a table are marked as the best, and what these marks rest on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.choices import choose
from harness.contract import MetricSpec
from harness.groups import Line, Prepared, held_out_ratio, rivals_by_data, shared_seeds
from harness.stats import TESTS, PairedTest, indistinguishable_from_best

CellPlace = tuple[Prepared, str, str]
"""A cell, by data set as prepared, title of the line and name of the metric."""


@dataclass(frozen=True)
class Marks:
    """The marked cells, and what the foot of the table says of them."""

    places: frozenset[CellPlace]
    words: str

    def has(self, line: Line, metric: MetricSpec) -> bool:
        return (line.prepared, line.title, metric.name) in self.places


def mark_best(lines: Iterable[Line], columns: Sequence[MetricSpec], test: str) -> Marks:
    """Mark, on each data set, the best of each column and all that the test cannot tell from it."""
    chosen = choose(TESTS, test, "test")
    places: set[CellPlace] = set()
    tested: set[int] = set()
    needed: set[int] = set()
    is_partial = is_unshared = False
    for prepared, rivals in rivals_by_data(lines).items():
        for metric in columns:
            column = mark_column(rivals, metric, test)
            places.update((prepared, title, metric.name) for title in column.best)
            tested.update(column.tested)
            needed.update(column.needed)
            is_partial |= column.partial
            is_unshared |= column.unshared
    if places and not tested and not needed:
        needed.add(chosen.fewest(1))
    words = _describe_marks(chosen, tested, needed)
    if is_partial:
        words += "; learners have unequal trials: marks compare those that all have"
    if is_unshared:
        words += "; unmarked where no trial is shared by all"
    return Marks(frozenset(places), words)


@dataclass(frozen=True)
class MarkedColumn:
    """The best of one column on one data set, and what that rests on: one of the two, or neither."""

    best: frozenset[str] = frozenset()
    tested: tuple[int, ...] = ()
    """Over how many paired trials there was a test."""
    needed: tuple[int, ...] = ()
    """How many it takes, where there were too few."""
    partial: bool = False
    """Whether some have trials that others lack, which are left out."""
    unshared: bool = False
    """Whether there is no trial that all have, so that nothing can be compared."""


def mark_column(rivals: Sequence[Line], metric: MetricSpec, test: str) -> MarkedColumn:
    """The best of these rivals by a metric, in the trials that all of them have."""
    seeds = shared_seeds(rivals, metric.name)
    samples = {}
    is_partial = False
    for line in rivals:
        values = line.values(metric.name)
        if values:
            samples[line.title] = {seed: values[seed] for seed in seeds}
            is_partial |= len(values) > len(seeds)
    if len(samples) < 2:
        return MarkedColumn()
    if not seeds:
        return MarkedColumn(unshared=True)
    higher, ratio = metric.direction == "higher", held_out_ratio(rivals)
    winners, enough = indistinguishable_from_best(samples, higher=higher, test=test, ratio=ratio)
    best = frozenset(winners)
    least, needed = min(map(len, samples.values())), TESTS[test].fewest(len(samples) - 1)
    if len(best) == len(samples) and least < needed:  # all are equal: nothing is claimed
        return MarkedColumn(best, partial=is_partial)
    if enough:
        return MarkedColumn(best, tested=(least,), partial=is_partial)
    return MarkedColumn(best, needed=(needed,), partial=is_partial)


def _describe_marks(test: PairedTest, tested: set[int], needed: set[int]) -> str:
    """What a mark means, by whether marks rest on a test: none of them, all, or some."""
    if not tested and not needed:
        return ""
    few = f"fewer than {max(needed)} paired trials" if needed else ""
    if not tested:
        return f"; marked: the best mean ({few} are too few to test)"
    trials = f"{max(tested)} paired trials"
    if min(tested) < max(tested):
        trials = f"{min(tested)} to {trials}"
    some = f"; with {few}, the best mean alone" if few else ""
    return f"; marked: the best, and all that {test.words} cannot tell from it over {trials}{some}"
