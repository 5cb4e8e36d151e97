"""Learners built round others: seeding and asking those inside, and keeping them in a file as what they write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import check_random_state

from harness.sdk.archive import NamedArrays
from harness.sdk.description import class_name, class_named

MOST_SCORES = 4_000_000
"""Scores held at once when a learner without `rank` is asked for ranks."""
MODEL_KINDS = "model_kinds_"


def seeds(random_state: int | np.random.RandomState | None, count: int) -> list[int]:
    """Seeds for the learners inside, all different from each other with the same generator."""
    return [int(seed) for seed in check_random_state(random_state).randint(2**31 - 1, size=count)]


def fresh(learner: Any, seed: int) -> Any:
    """A copy of the learner inside, unfitted, with this seed where it has none of its own."""
    copy = clone(learner)
    parameters = copy.get_params(deep=False)
    if "random_state" in parameters and parameters["random_state"] is None:
        copy.set_params(random_state=seed)
    return copy


def positions_by(learner: Any, X: Any, k: int) -> NDArray[np.int32]:
    """The k best classes of each row by position in `classes_`, from whatever the learner has; -1 pads."""
    if hasattr(learner, "rank"):
        ranks: NDArray[np.int32] = learner.rank(X, k)
        return ranks
    kept = min(k, len(learner.classes_))
    blocks = [np.argsort(-scores, axis=1, kind="stable")[:, :kept] for scores in _scores(learner, X)]
    return np.pad(np.concatenate(blocks).astype(np.int32), ((0, 0), (0, k - kept)), constant_values=-1)


def _scores(learner: Any, X: Any) -> Iterator[NDArray[Any]]:
    """The scores of each class, some rows at a time; two columns where scikit-learn gives one for two classes."""
    method = "decision_function" if hasattr(learner, "decision_function") else "predict_proba"
    step = max(1, MOST_SCORES // len(learner.classes_))
    for start in range(0, X.shape[0], step):
        scores = np.asarray(getattr(learner, method)(X[start : start + step]))
        yield np.column_stack([-scores, scores]) if scores.ndim == 1 else scores


def index_size(learner: Any) -> int | None:
    """Non-zero weights of a fitted learner; None where it does not tell."""
    if hasattr(learner, "index_size_"):
        return int(learner.index_size_)
    return int(np.count_nonzero(learner.coef_)) if hasattr(learner, "coef_") else None


# -- files -----------------------------------------------------------------------------------------------------------


def pack_models(models: Sequence[Any]) -> NamedArrays:
    """The class of each model, and the file that it writes; ValueError for one that writes none."""
    arrays: NamedArrays = {MODEL_KINDS: np.array([class_name(type(model)) for model in models])}
    for number, model in enumerate(models):
        arrays[_place(number)] = _write(model)
    return arrays


def unpack_models(arrays: dict[str, Any]) -> list[Any]:
    """The models, taken out of what a file holds; ValueError for one whose class is not at hand."""
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
