"""Helpers for learners that wrap others: seeds, ranks and scores of the inner learners, and their files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse
from sklearn.base import clone
from sklearn.utils import check_random_state

from harness.sdk.saving import NamedArrays, class_name, class_named

MOST_SCORES = 4_000_000
"""Scores in memory at once to rank with a learner that has no `rank`."""
MODEL_KINDS = "model_kinds_"


def seeds(random_state: int | np.random.RandomState | None, count: int) -> list[int]:
    """Return distinct seeds for the inner learners.

    Parameters
    ----------
    random_state : int, RandomState or None
        Source of the seeds. Equal integers give equal seeds.
    count : int
        Number of seeds.

    Returns
    -------
    list of int
        Seeds without duplicates.
    """
    return [int(seed) for seed in check_random_state(random_state).randint(2**31 - 1, size=count)]


def fresh(learner: Any, seed: int) -> Any:
    """Return an unfitted copy of an inner learner.

    Parameters
    ----------
    learner : estimator
        The inner learner, which is not changed.
    seed : int
        Seed of the copy, unless the learner has a `random_state` already.

    Returns
    -------
    estimator
        The copy.
    """
    copy = clone(learner)
    parameters = copy.get_params(deep=False)
    if "random_state" in parameters and parameters["random_state"] is None:
        copy.set_params(random_state=seed)
    return copy


def positions_by(learner: Any, X: Any, k: int) -> NDArray[np.int32]:
    """Return the best classes of each row as positions in `classes_`.

    Parameters
    ----------
    learner : fitted classifier
        It ranks by `rank` if it has that method, otherwise by its scores.
    X : matrix of shape (n_rows, n_features)
        Rows to rank.
    k : int
        Number of classes for each row.

    Returns
    -------
    ndarray of int32, shape (n_rows, k)
        Positions, best first; -1 pads.
    """
    if hasattr(learner, "rank"):
        ranks: NDArray[np.int32] = learner.rank(X, k)
        return ranks
    return np.concatenate([rank_scores(scores, k) for scores in _scores(learner, X)])


def tells_scores(learner: Any) -> bool:
    """Return whether a learner has scores, of the classes that it ranks or of all.

    Parameters
    ----------
    learner : classifier
        The inner learner.

    Returns
    -------
    bool
        True for a learner with `scores`, `decision_function` or `predict_proba`.
    """
    return any(hasattr(learner, method) for method in ("scores", "decision_function", "predict_proba"))


def scores_by(learner: Any, X: Any, ranks: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return the scores of some classes of each row.

    Parameters
    ----------
    learner : fitted classifier
        The inner learner. Its `scores` is called, otherwise the scores of all classes are computed.
    X : matrix of shape (n_rows, n_features)
        Rows.
    ranks : ndarray of int32, shape (n_rows, k)
        Positions in `classes_`; -1 pads.

    Returns
    -------
    ndarray of float64, shape (n_rows, k)
        The scores; 0 beside pads.
    """
    if hasattr(learner, "scores"):
        return np.asarray(learner.scores(X, ranks), dtype=np.float64)
    every = np.concatenate(list(_scores(learner, X))).astype(np.float64)
    return np.where(ranks >= 0, np.take_along_axis(every, np.maximum(ranks, 0), axis=1), 0.0)


def rank_scores(scores: Any, k: int) -> NDArray[np.int32]:
    """Return the k classes of highest score of each row, the lowest position on ties; -1 pads.

    Parameters
    ----------
    scores : ndarray or csr_array of shape (n_rows, n_classes)
        In a sparse matrix, only the stored entries of a row are ranked.
    k : int
        Number of classes for each row.

    Returns
    -------
    ndarray of int32, shape (n_rows, k)
        Positions, best first.
    """
    if not issparse(scores):
        kept = min(k, scores.shape[1])
        best = np.argsort(-scores, axis=1, kind="stable")[:, :kept]
        return np.pad(best.astype(np.int32), ((0, 0), (0, k - kept)), constant_values=-1)
    row = np.repeat(np.arange(scores.shape[0]), np.diff(scores.indptr))
    order = np.lexsort((scores.indices, -scores.data, row))
    place = np.arange(row.size) - scores.indptr[row]
    ranks = np.full((scores.shape[0], k), -1, np.int32)
    kept_places = place < k
    ranks[row[kept_places], place[kept_places]] = scores.indices[order][kept_places]
    return ranks


def _scores(learner: Any, X: Any) -> Iterator[NDArray[Any]]:
    """Yield the scores of all classes, some rows at a time; two columns for two classes."""
    method = "decision_function" if hasattr(learner, "decision_function") else "predict_proba"
    step = max(1, MOST_SCORES // len(learner.classes_))
    for start in range(0, X.shape[0], step):
        scores = np.asarray(getattr(learner, method)(X[start : start + step]))
        yield np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def index_size(learner: Any) -> int | None:
    """Return the number of weights that are not 0; None if the learner does not declare it.

    Parameters
    ----------
    learner : fitted classifier
        Its `index_size_` counts, otherwise the non-zeros of its `coef_`.

    Returns
    -------
    int or None
        Number of weights.
    """
    if hasattr(learner, "index_size_"):
        return int(learner.index_size_)
    return int(np.count_nonzero(learner.coef_)) if hasattr(learner, "coef_") else None


# -- files -----------------------------------------------------------------------------------------------------------


def pack_models(models: Sequence[Any]) -> NamedArrays:
    """Return the class and the file of each model, as arrays for the wrapper's own file.

    Parameters
    ----------
    models : sequence of fitted learners
        Models with `save`.

    Returns
    -------
    dict of str to ndarray
        Arrays that `unpack_models` reads.

    Raises
    ------
    ValueError
        If a model cannot be saved without pickle.
    """
    arrays: NamedArrays = {MODEL_KINDS: np.array([class_name(type(model)) for model in models])}
    for number, model in enumerate(models):
        arrays[_place(number)] = _write(model)
    return arrays


def unpack_models(arrays: dict[str, Any]) -> list[Any]:
    """Return the models that a file holds.

    Parameters
    ----------
    arrays : dict of str to ndarray
        Arrays of the wrapper's file. Those of the models are removed from it.

    Returns
    -------
    list of fitted learners
        The models, in the order of `pack_models`.

    Raises
    ------
    ValueError
        If the class of a model is not available, or its file is damaged.
    """
    kinds = arrays.pop(MODEL_KINDS)
    return [_read(name, arrays.pop(_place(number))) for number, name in enumerate(kinds.tolist())]


def _place(number: int) -> str:
    return f"model_{number}_"


def _write(model: Any) -> NDArray[np.uint8]:
    if not (hasattr(model, "save") and hasattr(model, "load")):
        raise ValueError(f"{type(model).__name__} has no save and load: it cannot be kept without pickle")
    with TemporaryDirectory() as folder:
        file = Path(folder, "model")
        model.save(file)
        return np.frombuffer(file.read_bytes(), np.uint8)


def _read(name: str, content: NDArray[np.uint8]) -> Any:
    with TemporaryDirectory() as folder:
        file = Path(folder, "model")
        file.write_bytes(content.tobytes())
        return class_named(name).load(file)
