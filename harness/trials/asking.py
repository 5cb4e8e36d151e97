"""Asking a fitted learner about the test part: on the clock its answer, off it the check that it kept the contract."""

from __future__ import annotations

from dataclasses import dataclass

from harness.contract import Learner
from harness.trials.clock import Clock
from harness.trials.outcome import Ranking
from harness.trials.parts import Parts
from harness.trials.ranking import as_classes, places_in, rank_positions


@dataclass(frozen=True)
class Answer:
    """A learner's ranking of the test part, and the method that gave it."""

    ranking: Ranking
    ranked_by: str


def ask(learner: Learner, parts: Parts, depth: int, clock: Clock) -> Answer:
    """Have the test part ranked, on the clock, and the answer checked, off it."""
    X = parts.test.X
    with clock.running():
        given, ranked_by = rank_positions(learner, X, depth)
    ranks = as_classes(learner, given, ranked_by, X.shape[0], depth, parts.n_classes)
    return Answer(Ranking(ranks, places_in(given)), ranked_by)
