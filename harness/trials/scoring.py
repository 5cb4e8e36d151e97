"""The scores behind a ranking: what the first two classes of each row score, where the learner tells."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.errors import ContractError
from harness.trials.ranking import KEPT_SCORES, Scored, force

LARGEST = float(np.finfo(np.float32).max)


def first_scores(learner: Any, X: Any, given: Any) -> NDArray[np.float32] | None:
    """What the first two classes of each row score, 0 for one that is not there; None where the learner does not tell.

    `given` is its ranking: one made of scores has them already, and a learner with `scores(X, ranks)` is asked.
    """
    if isinstance(given, Scored):
        return as_kept(given.scores)
    if not hasattr(learner, "scores"):
        return None
    ranks = np.asarray(given)
    if ranks.shape[1] < KEPT_SCORES:
        ranks = force(learner.rank(X, KEPT_SCORES))
    return as_kept(ask_scores(learner, X, ranks[:, :KEPT_SCORES]))


def ask_scores(learner: Any, X: Any, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
    """What a learner with `scores` says of these classes; ContractError says which promise is broken."""
    scores = np.asarray(learner.scores(X, ranks))
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
