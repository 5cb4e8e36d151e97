"""Asking a fitted learner about the test part: on the clock its answer, off it the check that it kept the contract."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from harness.contract import Learner
from harness.trials.clock import Clock
from harness.trials.outcome import Ranking, known_depth
from harness.trials.parts import Parts
from harness.trials.ranking import as_classes, force, places_in, rank_positions


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
    return Answer(Ranking(ranks, places_in(given), known_depth(ranked_by)), ranked_by)


def ask_one_label(learner: Learner, parts: Parts, clock: Clock) -> Any:
    """The one label that the learner gives each test row, on the clock: what users of a classifier wait for."""
    with clock.running():
        return force(learner.predict(parts.test.X))


def tell_disagreement(predicted: Any, answer: Answer) -> str:
    """A line where labels and ranking name different classes first; nothing where they agree or cannot be compared."""
    first = answer.ranking.ranks[:, 0]
    if issparse(predicted) or predicted.shape != first.shape:  # several labels a row
        return ""
    others = int(np.count_nonzero((predicted != first) & (first >= 0)))
    if not others:
        return ""
    differ = f"{others} of {first.size} test rows"
    return f"predict names another class than {answer.ranked_by} on {differ}: R1 goes by {answer.ranked_by}"
