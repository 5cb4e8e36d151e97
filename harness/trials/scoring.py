"""The scores behind a ranking: what the first two classes of each row score, where the learner tells."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.abilities import Ranks
from harness.errors import ContractError
from harness.trials.ranking import (
    KEPT_SCORES,
    Scored,
    as_classes,
    force,
    listed_scores,
    rank_positions,
    score_blocks,
    scoring_method,
    top_k,
)

LARGEST = float(np.finfo(np.float32).max)


def first_scores(learner: Any, X: Any, given: Any) -> NDArray[np.float32] | None:
    """What the first two classes of each row score, 0 for one that is not there; None where the learner does not tell.

    `given` is its ranking: one made of scores has them already, and a learner with `scores(X, ranks)` is asked.
    """
    if isinstance(given, Scored):
        return as_kept(given.scores)
    if not tells_scores(learner):
        return None
    ranks = np.asarray(given)
    if ranks.shape[1] < KEPT_SCORES:
        ranks = force(learner.rank(X, KEPT_SCORES))
    return as_kept(ask_scores(learner, X, ranks[:, :KEPT_SCORES]))


def rank_with_scores(
    learner: Any, X: Any, k: int, n_classes: int
) -> tuple[NDArray[np.int32], NDArray[np.float64] | None]:
    """The k best classes of each row, as class positions, and what each of them scores, where the learner tells."""
    method = None if isinstance(learner, Ranks) else scoring_method(learner)
    if method is None and hasattr(learner, "rank_scored"):  # both at once, for those that can
        given, told = learner.rank_scored(X, k)
        return as_classes(learner, given, "rank", X.shape[0], k, n_classes), checked_scores(told, np.asarray(given))
    if method is None:
        given, by = rank_positions(learner, X, k)
        scores = ask_scores(learner, X, given) if tells_scores(learner) and by == "rank" else None
        return as_classes(learner, given, by, X.shape[0], k, n_classes), scores
    ranks, listed = [np.empty((0, k), np.int32)], [np.empty((0, k))]
    for block in score_blocks(learner, method, X):
        ranks.append(top_k(block, k))
        listed.append(listed_scores(block, ranks[-1]))
    return as_classes(learner, np.concatenate(ranks), method, X.shape[0], k, n_classes), np.concatenate(listed)


def all_scores(learner: Any, X: Any) -> NDArray[np.float64] | None:
    """The score of every class in `classes_`, rows x classes; None where the learner does not tell."""
    if tells_scores(learner):
        every = np.arange(len(learner.classes_), dtype=np.int32)
        return np.asarray(learner.scores(X, np.tile(every, (X.shape[0], 1))), dtype=np.float64)
    method = scoring_method(learner)
    if method is None:
        return None
    blocks = list(score_blocks(learner, method, X))
    return np.concatenate(blocks).astype(np.float64) if blocks else np.empty((0, len(learner.classes_)))


def tells_scores(learner: Any) -> bool:
    """Whether a learner can say what the classes that it ranks score."""
    return hasattr(learner, "scores")  # a method may be there for some set-ups only, which a Protocol cannot see


def ask_scores(learner: Any, X: Any, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
    """What a learner with `scores` says of these classes; ContractError says which promise is broken."""
    return checked_scores(learner.scores(X, ranks), ranks)


def checked_scores(told: Any, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
    """The scores of a ranking, as numbers of eight bytes; ContractError says which promise is broken."""
    scores = np.asarray(told)
    if scores.shape != ranks.shape or not np.issubdtype(scores.dtype, np.floating):
        raise ContractError(f"scores gave {scores.dtype} of shape {scores.shape}, expected numbers of {ranks.shape}")
    if not np.isfinite(scores).all():
        raise ContractError("scores gave NaN or infinity for a class that is ranked, or beside a pad, where 0 stands")
    listed = ranks[:, 1:] >= 0
    if (scores[:, 1:] > scores[:, :-1])[listed].any():
        raise ContractError("scores rise along a ranking: the better class must score as much or more")
    return scores.astype(np.float64, copy=False)


def as_kept(scores: NDArray[np.float64]) -> NDArray[np.float32]:
    """Scores as they are kept: numbers of four bytes, infinite ones as the largest there are."""
    return np.clip(scores, -LARGEST, LARGEST).astype(np.float32)
