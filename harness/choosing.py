"""Which learners to try on data, by what was measured on data like it. Pure: it reads nothing."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.errors import HarnessError

NEAREST = 3
"""Data sets that have a say, at most."""
CLOSE, NEAR = 0.02, 0.05
"""How much R1 quicker training, and quicker answers, may cost."""
UNLIKE = math.log(10)
"""How far texts are from numbers: as far as data of ten times the size."""


@dataclass(frozen=True)
class Facts:
    """What is known of data before anything is trained on it."""

    rows: int
    classes: int
    features_a_row: float | None
    """Features that are not 0, for rows of numbers."""
    letters: float | None
    """Of a text, on average; None for rows of numbers."""


@dataclass(frozen=True)
class Measurement:
    """What a learner did on one data set, means over trials."""

    dataset: str
    facts: Facts
    learner: str
    r1: float
    train_seconds: float
    """Processor time."""
    answer_seconds: float
    """A row."""


@dataclass(frozen=True)
class Proposal:
    """A learner worth a trial, what for, and what it is expected to cost."""

    learner: str
    reason: str
    dataset: str
    """The data set, of those it was measured on, that is most like the data."""
    r1: float
    """There."""
    train_seconds: float
    """Expected: what it took there, in proportion to the rows."""
    answer_seconds: float


def distance(one: Facts, other: Facts) -> float:
    """How unlike two data sets are: by rows, classes and length of rows, in logarithms."""
    apart = abs(math.log(one.rows / other.rows)) + abs(math.log(one.classes / other.classes))
    for length, its in ((one.letters, other.letters), (one.features_a_row, other.features_a_row)):
        if (length is None) != (its is None):
            apart += UNLIKE / 2
        elif length and its:
            apart += abs(math.log(length / its))
    return apart


def nearest_datasets(facts: Facts, measured: Sequence[Measurement]) -> list[str]:
    """The data sets most like the data, the most like it first."""
    known = {one.dataset: one.facts for one in measured}
    return sorted(known, key=lambda name: (distance(facts, known[name]), name))[:NEAREST]


def propose(facts: Facts, measured: Sequence[Measurement]) -> list[Proposal]:
    """Up to three learners: the most accurate, the quickest to train and the quickest to answer near it."""
    near = nearest_datasets(facts, measured)
    if not near:
        raise HarnessError("no comparison that was measured has a learner for this data")
    while not _learners_on(near, measured):  # those that met the nearest may all have failed on the furthest
        near = near[:-1]
    expected = [_Expected(learner, _of(learner, near, measured)) for learner in _learners_on(near, measured)]
    best = max(expected, key=lambda one: one.merit)
    chosen = [_proposal(best, facts, "the most accurate")]
    quick: list[tuple[str, float, Callable[[_Expected], float]]] = [
        (f"the quickest to train within {CLOSE:.2f} of its R1", CLOSE, lambda one: one.first.train_seconds),
        (f"the quickest to answer within {NEAR:.2f} of its R1", NEAR, lambda one: one.first.answer_seconds),
    ]
    for reason, loss, cost in quick:
        taken = {proposal.learner for proposal in chosen}
        able = [one for one in expected if one.merit >= best.merit - loss and one.learner not in taken]
        if able:
            chosen.append(_proposal(min(able, key=cost), facts, reason))
    return chosen


@dataclass(frozen=True)
class _Expected:
    """A learner and its measurements on the nearest data sets, the nearest first."""

    learner: str
    measured: list[Measurement]

    @property
    def first(self) -> Measurement:
        return self.measured[0]

    @property
    def merit(self) -> float:
        """Mean R1, the nearer the data set the more it counts."""
        weights = [1 / place for place in range(1, len(self.measured) + 1)]
        return sum(w * one.r1 for w, one in zip(weights, self.measured, strict=True)) / sum(weights)


def _learners_on(near: Sequence[str], measured: Sequence[Measurement]) -> list[str]:
    """Those that were measured on all of these: who failed on one of them is not proposed."""
    ran = {(one.learner, one.dataset) for one in measured}
    learners = dict.fromkeys(one.learner for one in measured)
    return [name for name in learners if all((name, dataset) in ran for dataset in near)]


def _of(learner: str, near: Sequence[str], measured: Sequence[Measurement]) -> list[Measurement]:
    found = {one.dataset: one for one in measured if one.learner == learner}
    return [found[dataset] for dataset in near]


def _proposal(one: _Expected, facts: Facts, reason: str) -> Proposal:
    there = one.first
    rows = facts.rows / there.facts.rows
    return Proposal(one.learner, reason, there.dataset, there.r1, there.train_seconds * rows, there.answer_seconds)
