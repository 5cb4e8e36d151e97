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
    multilabel: bool = False


@dataclass(frozen=True)
class Cost:
    """What a learner that finished has, means over trials."""

    r1: float
    train_seconds: float
    """Processor time."""
    answer_seconds: float
    """A row."""


@dataclass(frozen=True)
class Measurement:
    """How a learner fared on one data set."""

    dataset: str
    facts: Facts
    learner: str
    expression: str
    """The learner with the parameters that were chosen there."""
    cost: Cost | None
    """None where it failed."""


@dataclass(frozen=True)
class Proposal:
    """A learner worth a trial, what for, and what it is expected to cost."""

    learner: str
    expression: str
    """The learner with the parameters that were chosen on the data set below."""
    reason: str
    dataset: str
    """The data set, of those it was measured on, that is most like the data."""
    r1: float
    """There."""
    behind: float
    """The highest R1, on average over the data sets most like the data, the nearest counting most."""
    train_seconds: float
    """Expected, for one training: what it took there, in proportion to the rows."""
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
    """The data sets most like the data on which somebody finished, the most like it first.

    Data with as many labels a row, one or several, goes before all other: only where there is none has that a say.
    """
    known = {one.dataset: one.facts for one in measured if one.cost is not None}
    alike = [name for name in known if known[name].multilabel == facts.multilabel]
    return sorted(alike or known, key=lambda name: (distance(facts, known[name]), name))[:NEAREST]


def propose(facts: Facts, measured: Sequence[Measurement]) -> list[Proposal]:
    """Up to three learners: the most accurate, the quickest to train and the quickest to answer near it.

    Who failed on one of the nearest data sets is not proposed; who never met one of them, since it has no class tree
    or no texts, is judged by the others.
    """
    near = nearest_datasets(facts, measured)
    if not near:
        raise HarnessError("no comparison that was measured has a learner for this data")
    expected = _expected_on(near, measured)
    while not expected:  # those that finished on the nearest may all have failed on the furthest
        near = near[:-1]
        expected = _expected_on(near, measured)
    best = min(expected, key=lambda one: one.behind)
    chosen = [_proposal(best, facts, "the most accurate")]
    quick: list[tuple[str, float, Callable[[_Expected], float]]] = [
        ("quickest to train", CLOSE, lambda one: one.cost.train_seconds / one.first.facts.rows),
        ("quickest to answer", NEAR, lambda one: one.cost.answer_seconds),
    ]
    for merit, loss, cost in quick:
        taken = {proposal.learner for proposal in chosen}
        able = sorted((one for one in expected if one.behind <= best.behind + loss), key=cost)
        left = [one for one in able if one.learner not in taken]
        if left:
            which = "the" if left[0] is able[0] else "the next"
            chosen.append(_proposal(left[0], facts, f"{which} {merit} at most {loss:.2f} behind it"))
    return chosen


@dataclass(frozen=True)
class _Expected:
    """A learner and where it finished of the nearest data sets, the nearest first."""

    learner: str
    first: Measurement
    cost: Cost
    """There."""
    behind: float
    """Of the highest R1, on average: the second data set counts half of the first, the third a third of it."""


def _expected_on(near: Sequence[str], measured: Sequence[Measurement]) -> list[_Expected]:
    """Those that failed on none of these, and met one at least."""
    on_these = [one for place in near for one in measured if one.dataset == place]
    failed = {one.learner for one in on_these if one.cost is None}
    highest: dict[str, float] = {}
    own: dict[str, list[tuple[Measurement, Cost]]] = {}
    for one in on_these:
        if one.cost is None:
            continue
        highest[one.dataset] = max(one.cost.r1, highest.get(one.dataset, 0.0))
        if one.learner not in failed:
            own.setdefault(one.learner, []).append((one, one.cost))
    expected = []
    for learner, fared in own.items():
        first, cost = fared[0]
        weights = [1 / (near.index(one.dataset) + 1) for one, _ in fared]
        missing = [weight * (highest[one.dataset] - at.r1) for weight, (one, at) in zip(weights, fared, strict=True)]
        expected.append(_Expected(learner, first, cost, sum(missing) / sum(weights)))
    return expected


def _proposal(one: _Expected, facts: Facts, reason: str) -> Proposal:
    rows = facts.rows / one.first.facts.rows
    return Proposal(
        learner=one.learner,
        expression=one.first.expression,
        reason=reason,
        dataset=one.first.dataset,
        r1=one.cost.r1,
        behind=one.behind,
        train_seconds=one.cost.train_seconds * rows,
        answer_seconds=one.cost.answer_seconds,
    )
