"""Labels, ranks and scores that a fitted learner gives to test rows, and the time that they take.

Ranks come from the first of these methods that the learner has: `rank`, `decision_function`, `predict_proba`,
`predict`. A ranking is stored as consecutive numpy arrays in one file: the ranks, followed by places (integers), scores
(float32, two columns) and confidence (float32, one dimension) if the ranking has them.
"""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse, vstack

from harness.errors import ContractError
from harness.host.contract import Learner, Ranks
from harness.sdk.contributions import Contributions
from harness.trials.clock import Clock
from harness.trials.data import Parts
from harness.trials.outcome import Ranking, known_depth

SCORING = ("decision_function", "predict_proba")
"""Methods that return the scores of all classes; the first one that a learner has is used."""
KEPT_SCORES = 2
"""Number of scores stored for each row: calibration uses those of the first and second class."""
BLOCK_VALUES = 4_000_000
"""Maximum number of scores in memory; rows are scored in blocks of this size."""


@dataclass(frozen=True)
class Scored:
    """Ranks computed from the scores of a learner, with ties."""

    ranks: np.ndarray
    places: np.ndarray | None
    """The rank of each listed class, where tied classes all get the worst rank among them; None without ties."""
    scores: np.ndarray
    """Scores of the first two classes of each row."""


def rank_positions(learner: Any, X: Any, k: int) -> tuple[Any, str]:
    """Rank rows by the first ranking method that the learner has.

    The function is timed. It therefore does not check the result; `as_classes` does.

    Parameters
    ----------
    learner : object
        A fitted learner.
    X : object
        Test rows in the form that the learner takes.
    k : int
        Number of classes for each row.

    Returns
    -------
    array or Scored
        Positions in the learner's `classes_`; for `predict`, labels.
    str
        The name of the method.
    """
    if isinstance(learner, Ranks):
        return force(learner.rank(X, k)), "rank"
    method = scoring_method(learner)
    if method is not None:
        return _rank_scores(learner, method, X, k), method
    return force(learner.predict(X)), "predict"


def force(result: Any) -> Any:
    """Return a result as an array. A lazy result is computed here, while the clock runs."""
    return result if issparse(result) else np.asarray(result)


def as_classes(learner: Any, given: Any, by: str, rows: int, k: int, n_classes: int) -> np.ndarray:
    """Return the result of `rank_positions` as class positions of the dataset.

    Parameters
    ----------
    learner : object
        The fitted learner.
    given, by : object and str
        The result, and the name of the method that returned it.
    rows, k : int
        The expected shape.
    n_classes : int
        The number of classes in the dataset.

    Returns
    -------
    array of int32, rows x k
        Class positions, best first, padded with -1.

    Raises
    ------
    ContractError
        If the result breaks the contract of the method.
    """
    if by == "predict":
        return _from_predict(given, rows, k, n_classes)
    if isinstance(given, Scored):
        given = given.ranks
    positions = check_ranks(given, rows, k, _class_count(learner))
    classes = np.asarray(learner.classes_)
    if classes.ndim != 1 or not np.issubdtype(classes.dtype, np.integer) or not _within(classes, n_classes):
        raise ContractError(f"classes_ must hold class positions 0..{n_classes - 1} as given to fit, got {classes!r}")
    if classes.size == 0 or np.bincount(classes.astype(np.int64)).max() > 1:  # each request: faster than np.unique
        raise ContractError(f"classes_ must name each class of fit once, got {classes!r}")
    return np.where(positions >= 0, classes[positions], -1).astype(np.int32)


def places_in(given: Any) -> np.ndarray | None:
    """Return the `places` of a result of `rank_positions`; None without scores or ties."""
    return given.places if isinstance(given, Scored) else None


def check_ranks(given: Any, rows: int, k: int, n_classes: int) -> np.ndarray:
    """Return the result of `rank` as an array, after checking it.

    Raises
    ------
    ContractError
        If shape or type is wrong, a class is unknown or named twice in a row, or a pad (-1) precedes a class.
    """
    ranks: np.ndarray = np.asarray(given)
    if ranks.shape != (rows, k):
        raise ContractError(f"rank returned shape {ranks.shape}, expected {(rows, k)}: one row per row of X, k columns")
    if not np.issubdtype(ranks.dtype, np.signedinteger):
        raise ContractError(f"rank returned {ranks.dtype}, expected signed integers: positions in classes_, -1 pads")
    if ranks.size and (ranks.min() < -1 or ranks.max() >= n_classes):
        wrong = ranks[(ranks < -1) | (ranks >= n_classes)][0]
        raise ContractError(f"rank returned class {wrong}, expected positions in classes_, 0..{n_classes - 1}, or -1")
    ordered = np.sort(ranks, axis=1)
    twice = (ordered[:, 1:] == ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    if twice.any():
        raise ContractError(f"rank named a class twice in row {int(np.flatnonzero(twice.any(axis=1))[0])}")
    if ((ranks[:, :-1] < 0) & (ranks[:, 1:] >= 0)).any():
        raise ContractError("rank put a pad (-1) before a class; pads come last")
    return ranks


def top_k(scores: np.ndarray, k: int) -> np.ndarray:
    """Return the positions of the k largest scores of each row, padded with -1; ties go to the lowest position.

    Examples
    --------
    >>> top_k(np.array([[0.1, 0.7, 0.7]]), 2).tolist()
    [[1, 2]]
    """
    if not np.issubdtype(scores.dtype, np.floating):
        scores = scores.astype(np.float64)  # unsigned and boolean scores have no negative
    classes = scores.shape[1]
    kept = min(k, classes)
    if kept < classes:
        # Every class with the k-th best score is a candidate: ties at the border go to the lowest position.
        border = -np.partition(-scores, kept - 1, axis=1)[:, kept - 1 : kept]
        scores = np.where(scores >= border, scores, -np.inf)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :kept]
    return np.pad(order.astype(np.int32), ((0, 0), (0, k - kept)), constant_values=-1)


def worst_places(scores: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Return for each class in `ranks` the number of classes with the same score or a higher one; 0 for pads.

    Examples
    --------
    >>> worst_places(np.array([[0.1, 0.7, 0.7]]), np.array([[1, 2]])).tolist()
    [[2, 2]]
    """
    rows, k = ranks.shape
    kept = min(k, scores.shape[1])
    places = np.zeros((rows, k), np.int32)
    if kept == 0:
        return places
    listed = np.take_along_axis(scores, ranks[:, :kept], axis=1)
    places[:, kept - 1] = (scores >= listed[:, -1:]).sum(axis=1)  # the last listed class may tie with unlisted ones
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
    """Yield the scores of all classes in blocks of rows; raise ContractError for a wrong shape or NaN."""
    for block in _blocks(X, _class_count(learner)):
        scores = getattr(learner, method)(block)
        if isinstance(scores, list):
            raise ContractError(f"{method} returned a list, one array per label: such a learner needs rank(X, k)")
        scores = np.asarray(scores)
        if scores.ndim == 1:  # for two classes, scikit-learn returns the score of the second only
            scores = np.column_stack([-scores, scores])
        if scores.shape != (block.shape[0], _class_count(learner)):
            raise ContractError(f"{method} returned shape {scores.shape}, expected rows x classes_")
        if np.isnan(scores).any():
            raise ContractError(f"{method} returned NaN")
        yield scores


def scoring_method(learner: Any) -> str | None:
    """Return the name of the learner's method for the scores of all classes; None if it has no such method."""
    for method in SCORING:
        if hasattr(learner, method):
            return method
    return None


def listed_scores(scores: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Return the scores of the listed classes, 0 for pads."""
    taken = np.take_along_axis(scores.astype(np.float64), np.maximum(ranks, 0), axis=1)
    return np.where(ranks >= 0, taken, 0.0)


def _from_predict(predicted: Any, rows: int, k: int, n_classes: int) -> np.ndarray:
    predicted = np.asarray(predicted)
    if predicted.shape != (rows,) or not np.issubdtype(predicted.dtype, np.integer):
        raise ContractError(f"predict returned {predicted.dtype} of shape {predicted.shape}, expected {rows} integers")
    if not _within(predicted, n_classes):
        raise ContractError(f"predict returned a class outside 0..{n_classes - 1}")
    ranks = np.full((rows, k), -1, np.int32)
    ranks[:, 0] = predicted
    return ranks


def _class_count(learner: Any) -> int:
    classes = getattr(learner, "classes_", None)
    if classes is None:
        raise ContractError("the fitted learner has no classes_: its ranks and scores cannot be assigned to classes")
    return len(classes)


def _within(classes: np.ndarray, n_classes: int) -> bool:
    return bool(classes.size == 0 or (classes.min() >= 0 and classes.max() < n_classes))


def _blocks(X: Any, classes: int) -> Iterator[Any]:
    step = max(1, BLOCK_VALUES // max(classes, 1))
    for start in range(0, X.shape[0], step):
        yield X[start : start + step]


LARGEST = float(np.finfo(np.float32).max)


def first_scores(learner: Any, X: Any, given: Any) -> NDArray[np.float32] | None:
    """Return the scores of the first two classes of each row, 0 for a missing class; None without scores.

    `given` is the result of `rank_positions`. It has the scores if it was computed from them. Otherwise the learner's
    method `scores` computes them, if there is one.
    """
    if isinstance(given, Scored):
        return as_stored(given.scores)
    if not has_scores(learner):
        return None
    ranks = np.asarray(given)
    if ranks.shape[1] < KEPT_SCORES:
        ranks = force(learner.rank(X, KEPT_SCORES))
    return as_stored(checked_scores_of(learner, X, ranks[:, :KEPT_SCORES]))


def rank_with_scores(
    learner: Any, X: Any, k: int, n_classes: int
) -> tuple[NDArray[np.int32], NDArray[np.float64] | None]:
    """Return the k best classes of each row with their scores.

    Parameters
    ----------
    learner : object
        A fitted learner.
    X : object
        Test rows in the form that the learner takes.
    k : int
        Number of classes for each row.
    n_classes : int
        Number of classes of the dataset.

    Returns
    -------
    array of int32, rows x k
        Class positions of the dataset, best first, padded with -1.
    array of float64, rows x k, or None
        Their scores, 0 for pads; None if the learner has no scores.

    Raises
    ------
    ContractError
        If the learner returns malformed ranks or scores.
    """
    method = None if isinstance(learner, Ranks) else scoring_method(learner)
    if method is None and hasattr(learner, "rank_scored"):  # cheaper than calling rank and scores
        given, scored = learner.rank_scored(X, k)
        return as_classes(learner, given, "rank", X.shape[0], k, n_classes), checked_scores(scored, np.asarray(given))
    if method is None:
        given, by = rank_positions(learner, X, k)
        scores = checked_scores_of(learner, X, given) if has_scores(learner) and by == "rank" else None
        return as_classes(learner, given, by, X.shape[0], k, n_classes), scores
    ranks, listed = [np.empty((0, k), np.int32)], [np.empty((0, k))]
    for block in score_blocks(learner, method, X):
        ranks.append(top_k(block, k))
        listed.append(listed_scores(block, ranks[-1]))
    return as_classes(learner, np.concatenate(ranks), method, X.shape[0], k, n_classes), np.concatenate(listed)


def gives_scores(learner: Any) -> bool:
    """Return whether `rank_with_scores` returns scores for a learner."""
    if isinstance(learner, Ranks):
        return hasattr(learner, "rank_scored") or has_scores(learner)
    return scoring_method(learner) is not None


def all_scores(learner: Any, X: Any) -> NDArray[np.float64] | None:
    """Return the score of every class in `classes_`, rows x classes; None without scores."""
    if has_scores(learner):
        every = np.arange(len(learner.classes_), dtype=np.int32)
        return np.asarray(learner.scores(X, np.tile(every, (X.shape[0], 1))), dtype=np.float64)
    method = scoring_method(learner)
    if method is None:
        return None
    blocks = list(score_blocks(learner, method, X))
    return np.concatenate(blocks).astype(np.float64) if blocks else np.empty((0, len(learner.classes_)))


def has_scores(learner: Any) -> bool:
    """Return whether a learner has the method `scores`, for the classes that it ranks."""
    return hasattr(learner, "scores")  # no Protocol: some learners have the method for some parameters only


def checked_scores_of(learner: Any, X: Any, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the scores of these classes by the learner's `scores`, after `checked_scores`."""
    return checked_scores(learner.scores(X, ranks), ranks)


def checked_scores(given: Any, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the scores of a ranking as float64, after checking them.

    Raises
    ------
    ContractError
        If the shape differs from that of the ranking, a score is not finite, or scores rise along a row.
    """
    scores = np.asarray(given)
    if scores.shape != ranks.shape or not np.issubdtype(scores.dtype, np.floating):
        raise ContractError(f"scores returned {scores.dtype} of shape {scores.shape}, expected floats {ranks.shape}")
    if not np.isfinite(scores).all():
        raise ContractError("scores returned NaN or infinity for a ranked class, or beside a pad, whose score is 0")
    listed = ranks[:, 1:] >= 0
    if (scores[:, 1:] > scores[:, :-1])[listed].any():
        raise ContractError("scores rise along a ranking: the better class must score as much or more")
    return scores.astype(np.float64, copy=False)


CLOSE = 1e-4
"""Difference between a score and the sum of its contributions, relative to their size, that rounding may cause."""


def checked_contributions(learner: Any, X: Any, ranks: NDArray[np.int32]) -> Contributions:
    """Return the contributions of features to the scores of a ranking, after checking that they add up.

    Raises
    ------
    ContractError
        If shapes are wrong, a feature contributes that its row does not have, or the sum differs from the score.
    """
    given, bias = learner.contributions(X, ranks)
    parts, bias = csr_array(given).astype(np.float64), np.asarray(bias, dtype=np.float64)
    expected = (ranks.size, X.shape[1])
    if parts.shape != expected or bias.shape != ranks.shape:
        raise ContractError(
            f"contributions returned parts of shape {parts.shape} and bias of shape {bias.shape}, "
            f"expected {expected} and {ranks.shape}"
        )
    if not _known_features(parts, X, ranks.shape[1]):
        raise ContractError("contributions returned a part to a feature that the row does not have")
    scores = checked_scores_of(learner, X, ranks)
    sums = parts.sum(axis=1).reshape(ranks.shape) + bias
    size = np.abs(parts).sum(axis=1).reshape(ranks.shape) + np.abs(bias)
    apart = np.where(ranks >= 0, np.abs(sums - scores), 0.0)
    if not (apart <= CLOSE * np.maximum(size, 1.0)).all():
        raise ContractError(f"contributions and bias differ from the score by {np.nanmax(apart):.3g}")
    return Contributions(parts, bias)


def _known_features(parts: csr_array, X: Any, k: int) -> bool:
    """Return whether each row of `parts` has features of its row of X only."""
    has = csr_array(X).astype(bool)[np.repeat(np.arange(X.shape[0]), k)]
    return bool((parts.astype(bool) > has).nnz == 0)


def as_stored(scores: NDArray[np.float64]) -> NDArray[np.float32]:
    """Return scores as float32; scores beyond its range, also infinite ones, become the largest float32."""
    return np.clip(scores, -LARGEST, LARGEST).astype(np.float32)


# -- test rows of a trial --------------------------------------------------------------------------------------------

MOST_PARTS, SHORT_SECONDS = 3, 0.05
"""Timed rows are divided into this many parts if predicting all of them takes less than this many seconds."""
Prediction = TypeVar("Prediction")


@dataclass(frozen=True)
class TimedRows:
    """Positions of test rows, by the measurement that uses them.

    No row is timed twice, since a learner may be faster on a row that it has seen before. The exception is a test set
    with a single row left: `predict` and `rank` then share it.
    """

    predict: NDArray[np.int64]
    rank: NDArray[np.int64]
    single: NDArray[np.int64]
    """Rows that are predicted one at a time."""


def divide_rows(n_rows: int, n_single: int = 0) -> TimedRows:
    """Divide test rows among the measurements; the rows of each are spread evenly over the test set.

    Parameters
    ----------
    n_rows : int
        The number of test rows.
    n_single : int, default=0
        The number of rows to predict one at a time, limited to a third of the rows.

    Examples
    --------
    >>> divide_rows(7).predict.tolist(), divide_rows(7).rank.tolist()
    ([0, 2, 4, 6], [1, 3, 5])
    """
    n_single = min(n_single, n_rows // 3)
    single = np.unique(np.linspace(0, n_rows - 1, num=n_single).astype(np.int64))
    others = np.setdiff1d(np.arange(n_rows), single)
    if len(others) < 2:
        return TimedRows(others, others, single)
    return TimedRows(others[0::2], others[1::2], single)


@dataclass(frozen=True)
class RankedRows:
    """A learner's ranking of the test rows, and the name of the method that returned it."""

    ranking: Ranking
    ranked_by: str


def rank_rows(learner: Learner, parts: Parts, depth: int, clock: Clock | None = None) -> RankedRows:
    """Rank all test rows, and check the result.

    Parameters
    ----------
    learner : Learner
        The fitted learner.
    parts : Parts
        Has the test rows.
    depth : int
        The number of classes to rank for each row.
    clock : Clock, optional
        Times the ranking without the checks.

    Raises
    ------
    ContractError
        If the result breaks the contract of the method.
    """
    X = parts.X_test
    with (clock or Clock()).running():
        given, ranked_by = rank_positions(learner, X, depth)
    ranks = as_classes(learner, given, ranked_by, X.shape[0], depth, parts.n_classes)
    scores = first_scores(learner, X, given)
    return RankedRows(Ranking(ranks, places_in(given), known_depth(ranked_by), scores), ranked_by)


def time_ranking(learner: Learner, parts: Parts, depth: int, rows: NDArray[np.int64], clock: Clock) -> None:
    """Rank some test rows, and advance the clock by the estimated time for all of them."""
    _time_rows(clock, parts.X_test, rows, lambda X: rank_positions(learner, X, depth))


def time_predict(learner: Learner, parts: Parts, rows: NDArray[np.int64], clock: Clock) -> Any:
    """Predict some test rows, advance the clock by the estimated time for all of them, and return the labels."""
    labels = _time_rows(clock, parts.X_test, rows, lambda X: force(learner.predict(X)))
    if issparse(labels[0]):
        return vstack(labels, format="csr")
    return np.concatenate(labels) if labels[0].ndim else labels[0]  # a scalar is wrong, and reported later


def _time_rows(clock: Clock, X: Any, rows: NDArray[np.int64], predict: Callable[[Any], Prediction]) -> list[Prediction]:
    """Predict some rows, each once, and advance the clock by the time that all rows of X would take.

    The rows are divided into parts. If the first part is fast, every part is timed separately and the median time per
    row counts, because a single short measurement is unreliable. Otherwise the remaining rows are predicted together.
    """
    parts = [part for part in np.array_split(rows, MOST_PARTS) if part.size]
    found: list[Prediction] = []
    times: list[tuple[Clock, int]] = []
    while parts:
        part = parts.pop(0)
        if times and times[0][0].wall >= SHORT_SECONDS / MOST_PARTS:
            part, parts = np.concatenate([part, *parts]), []
        block, timed = X[part], Clock()
        with timed.running():
            found.append(predict(block))
        times.append((timed, len(part)))
    wall, cpu = _seconds_per_row(times)
    clock.wall += wall * X.shape[0]
    clock.cpu += cpu * X.shape[0]
    return found


def _seconds_per_row(times: list[tuple[Clock, int]]) -> tuple[float, float]:
    """Return wall and CPU time per row: the median of `MOST_PARTS` parts, or the mean of fewer."""
    if len(times) < MOST_PARTS:
        rows = sum(count for _, count in times)
        return sum(clock.wall for clock, _ in times) / rows, sum(clock.cpu for clock, _ in times) / rows
    by_time = sorted(times, key=lambda each: each[0].wall / each[1])
    clock, count = by_time[len(by_time) // 2]
    return clock.wall / count, clock.cpu / count


def describe_disagreement(predicted: Any, rows: NDArray[np.int64], ranked: RankedRows) -> str:
    """Return a warning if `predict` and the first rank differ for some rows; empty if they agree.

    Multi-label predictions are not compared.
    """
    first = ranked.ranking.ranks[rows, 0]
    if issparse(predicted) or predicted.shape != first.shape:
        return ""
    others = int(np.count_nonzero((predicted != first) & (first >= 0)))
    if not others:
        return ""
    differ = f"{others} of {first.size} test rows"
    return f"predict names another class than {ranked.ranked_by} on {differ}: R1 goes by {ranked.ranked_by}"


# -- stored rankings -------------------------------------------------------------------------------------------------


def ranking_to_bytes(ranking: Ranking) -> bytes:
    """Return a ranking as the bytes of a file."""
    buffer = io.BytesIO()
    for array in (ranking.ranks, ranking.places, ranking.scores, ranking.confidence):
        if array is not None:
            np.save(buffer, array)
    return buffer.getvalue()


def ranking_from_bytes(content: bytes, known_depth: int | None) -> Ranking:
    """Return the ranking in the bytes of a file that `ranking_to_bytes` wrote; raise ValueError if malformed."""
    buffer = io.BytesIO(content)
    ranks = next_array(buffer)
    places = scores = confidence = None
    while buffer.tell() < len(content):
        array = next_array(buffer)
        if array.dtype.kind != "f":
            places = array
        elif array.ndim == 2:
            scores = array
        else:
            confidence = array
    return Ranking(ranks, places, known_depth, scores, confidence)


def next_array(buffer: BinaryIO) -> NDArray[Any]:
    """Read one array; raise ValueError if it is malformed, or if its header announces more bytes than follow."""
    version = np.lib.format.read_magic(buffer)
    if version != (1, 0):
        raise ValueError(f"an array of format {version}, expected (1, 0)")
    shape, is_fortran, dtype = np.lib.format.read_array_header_1_0(buffer)
    if dtype.hasobject or is_fortran:
        raise ValueError("an array of objects, or in Fortran order")
    n_bytes = dtype.itemsize * math.prod(shape)
    content = buffer.read(n_bytes)
    if len(content) != n_bytes:
        raise ValueError(f"an array of {n_bytes:,} bytes has only {len(content):,}")
    return np.frombuffer(content, dtype).reshape(shape)
