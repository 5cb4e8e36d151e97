"""The k best classes of each row, from whatever the learner has: rank, decision_function, predict_proba or predict."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import issparse

from harness.abilities import Ranks
from harness.errors import ContractError

SCORING = ("decision_function", "predict_proba")
"""What gives the scores of all classes, the first that a learner has."""
KEPT_SCORES = 2
"""Of how many classes a row the scores are kept: the first, and the second for the gap between them."""
BLOCK_VALUES = 4_000_000
"""Scores held at once: a block of rows, never a full rows x classes matrix for many classes."""


@dataclass(frozen=True)
class Scored:
    """Ranks that were made here of a learner's scores, so that it is known which of them tie."""

    ranks: np.ndarray
    places: np.ndarray | None
    """The rank of each listed class with ties at their worst: how many classes score as much; None without ties."""
    scores: np.ndarray
    """What the first two classes of each row score."""


def rank_positions(learner: Any, X: Any, k: int) -> tuple[Any, str]:
    """The learner's own answer, unchecked, and the name of what gave it: this is what the clock measures."""
    if isinstance(learner, Ranks):
        return force(learner.rank(X, k)), "rank"
    method = scoring_method(learner)
    if method is not None:
        return _rank_scores(learner, method, X, k), method
    return force(learner.predict(X)), "predict"


def force(answer: Any) -> Any:
    """An answer as it is used: one that is worked out only when somebody looks is looked at here, on the clock."""
    return answer if issparse(answer) else np.asarray(answer)


def as_classes(learner: Any, answer: Any, by: str, rows: int, k: int, n_classes: int) -> np.ndarray:
    """The answer as class positions of the data set: int32, k columns, -1 pads. ContractError says what is wrong."""
    if by == "predict":
        return _from_predict(answer, rows, k, n_classes)
    if isinstance(answer, Scored):
        answer = answer.ranks
    positions = check_ranks(answer, rows, k, _class_count(learner))
    classes = np.asarray(learner.classes_)
    if classes.ndim != 1 or not np.issubdtype(classes.dtype, np.integer) or not _within(classes, n_classes):
        raise ContractError(f"classes_ must hold class positions 0..{n_classes - 1} as given to fit, got {classes!r}")
    if classes.size == 0 or np.unique(classes).size != classes.size:
        raise ContractError(f"classes_ must name each class of fit once, got {classes!r}")
    return np.where(positions >= 0, classes[positions], -1).astype(np.int32)


def places_in(answer: Any) -> np.ndarray | None:
    """The ranks with ties at their worst, where scores are known and any of them tie."""
    return answer.places if isinstance(answer, Scored) else None


def check_ranks(answer: Any, rows: int, k: int, n_classes: int) -> np.ndarray:
    """What `rank` gave, if it kept the contract; ContractError says how not."""
    ranks: np.ndarray = np.asarray(answer)
    if ranks.shape != (rows, k):
        raise ContractError(f"rank gave shape {ranks.shape}, expected {(rows, k)}: one row per row of X, k columns")
    if not np.issubdtype(ranks.dtype, np.signedinteger):
        raise ContractError(f"rank gave {ranks.dtype}, expected signed integers: positions in classes_, -1 pads")
    if ranks.size and (ranks.min() < -1 or ranks.max() >= n_classes):
        wrong = ranks[(ranks < -1) | (ranks >= n_classes)][0]
        raise ContractError(f"rank gave class {wrong}, expected positions in classes_, 0..{n_classes - 1}, or -1")
    ordered = np.sort(ranks, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    if twice.any():
        raise ContractError(f"rank named a class twice in row {int(np.flatnonzero(twice.any(axis=1))[0])}")
    if ((ranks[:, :-1] < 0) & (ranks[:, 1:] >= 0)).any():
        raise ContractError("rank put a pad (-1) before a class; pads come last")
    return ranks


def top_k(scores: np.ndarray, k: int) -> np.ndarray:
    """Positions of the k largest scores of each row: score descending, position ascending on ties, -1 pads."""
    if not np.issubdtype(scores.dtype, np.floating):
        scores = scores.astype(np.float64)  # unsigned and boolean scores have no negative
    classes = scores.shape[1]
    kept = min(k, classes)
    if kept < classes:
        # All that reach the k-th best score are candidates, so that ties at the border go to the lowest position.
        border = -np.partition(-scores, kept - 1, axis=1)[:, kept - 1 : kept]
        scores = np.where(scores >= border, scores, -np.inf)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :kept]
    return np.pad(order.astype(np.int32), ((0, 0), (0, k - kept)), constant_values=-1)


def worst_places(scores: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """For each class listed in `ranks`, best first, the number of classes that score as much or more; 0 for pads."""
    rows, k = ranks.shape
    kept = min(k, scores.shape[1])
    places = np.zeros((rows, k), np.int32)
    if kept == 0:
        return places
    listed = np.take_along_axis(scores, ranks[:, :kept], axis=1)
    places[:, kept - 1] = (scores >= listed[:, -1:]).sum(axis=1)  # the last one may tie with some that are not listed
    for place in range(kept - 1, 0, -1):
        tied = listed[:, place - 1] == listed[:, place]
        places[:, place - 1] = np.where(tied, places[:, place], place)
    return places


def _rank_scores(learner: Any, method: str, X: Any, k: int) -> Scored:
    parts, places = [np.empty((0, k), np.int32)], [np.empty((0, k), np.int32)]
    best = [np.empty((0, KEPT_SCORES))]
    for scores in score_blocks(learner, method, X):
        ranked = top_k(scores, max(k, KEPT_SCORES))
        parts.append(ranked[:, :k])
        places.append(worst_places(scores, parts[-1]))
        best.append(listed_scores(scores, ranked[:, :KEPT_SCORES]))
    ranks, worst = np.concatenate(parts), np.concatenate(places)
    tied = (worst != np.where(ranks >= 0, np.arange(1, k + 1), 0)).any()
    return Scored(ranks, worst if tied else None, np.concatenate(best))


def score_blocks(learner: Any, method: str, X: Any) -> Iterator[np.ndarray]:
    """The scores of all classes by one of `SCORING`, some rows at a time; ContractError says what is wrong."""
    for block in _blocks(X, _class_count(learner)):
        scores = getattr(learner, method)(block)
        if isinstance(scores, list):
            raise ContractError(f"{method} gave a list, one array per label: such a learner needs rank(X, k)")
        scores = np.asarray(scores)
        if scores.ndim == 1:  # two classes: scikit-learn gives one column, for the second
            scores = np.column_stack([-scores, scores])
        if scores.shape != (block.shape[0], _class_count(learner)):
            raise ContractError(f"{method} gave shape {scores.shape}, expected rows x classes_")
        if np.isnan(scores).any():
            raise ContractError(f"{method} gave NaN")
        yield scores


def scoring_method(learner: Any) -> str | None:
    """The method that gives the scores of all classes, where the learner has one."""
    for method in SCORING:
        if hasattr(learner, method):
            return method
    return None


def listed_scores(scores: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """What the listed classes score, 0 beside pads."""
    taken = np.take_along_axis(scores.astype(np.float64), np.maximum(ranks, 0), axis=1)
    return np.where(ranks >= 0, taken, 0.0)


def _from_predict(predicted: Any, rows: int, k: int, n_classes: int) -> np.ndarray:
    predicted = np.asarray(predicted)
    if predicted.shape != (rows,) or not np.issubdtype(predicted.dtype, np.integer):
        raise ContractError(f"predict gave {predicted.dtype} of shape {predicted.shape}, expected {rows} integers")
    if not _within(predicted, n_classes):
        raise ContractError(f"predict gave a class outside 0..{n_classes - 1}")
    ranks = np.full((rows, k), -1, np.int32)
    ranks[:, 0] = predicted
    return ranks


def _class_count(learner: Any) -> int:
    classes = getattr(learner, "classes_", None)
    if classes is None:
        raise ContractError("the fitted learner has no classes_, which says what its ranks or scores stand for")
    return len(classes)


def _within(classes: np.ndarray, n_classes: int) -> bool:
    return bool(classes.size == 0 or (classes.min() >= 0 and classes.max() < n_classes))


def _blocks(X: Any, classes: int) -> Iterator[Any]:
    step = max(1, BLOCK_VALUES // max(classes, 1))
    for start in range(0, X.shape[0], step):
        yield X[start : start + step]
