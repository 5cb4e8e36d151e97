"""Asking a fitted learner about the test part: on the clock its answer, off it the check that it kept the contract."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import issparse

from harness.abilities import Learner
from harness.trials.clock import Clock
from harness.trials.outcome import Ranking, known_depth
from harness.trials.parts import Parts
from harness.trials.ranking import as_classes, force, places_in, rank_positions
from harness.trials.scoring import first_scores

MOST_ANSWERS, SHORT_SECONDS = 5, 0.05
"""How often an answer is asked for, until it has taken so long."""
Given = TypeVar("Given")


@dataclass(frozen=True)
class Answer:
    """A learner's ranking of the test part, and the method that gave it."""

    ranking: Ranking
    ranked_by: str


def ask(learner: Learner, parts: Parts, depth: int, clock: Clock) -> Answer:
    """Have the test part ranked, on the clock, and the answer checked, off it."""
    X = parts.test.X
    given, ranked_by = _time_answer(clock, lambda: rank_positions(learner, X, depth))
    ranks = as_classes(learner, given, ranked_by, X.shape[0], depth, parts.n_classes)
    scores = first_scores(learner, X, given)
    return Answer(Ranking(ranks, places_in(given), known_depth(ranked_by), scores), ranked_by)


def ask_one_label(learner: Learner, parts: Parts, clock: Clock) -> Any:
    """The one label that the learner gives each test row, on the clock: what users of a classifier wait for."""
    return _time_answer(clock, lambda: force(learner.predict(parts.test.X)))


def _time_answer(clock: Clock, answer: Callable[[], Given]) -> Given:
    """The first answer. One that comes at once is asked for some times more, and the clock gets the median of them.

    A clock that is read once says little of a few milliseconds, in which memory is touched for the first time.
    """
    times: list[Clock] = []
    given: list[Given] = []
    while len(times) < MOST_ANSWERS and sum(time.wall for time in times) < SHORT_SECONDS:
        time = Clock()
        with time.running():
            one = answer()
        times.append(time)
        given = given or [one]
    middle = sorted(times, key=lambda time: time.wall)[len(times) // 2]
    clock.wall += middle.wall
    clock.cpu += middle.cpu
    return given[0]


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
