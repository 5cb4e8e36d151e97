"""What the learners here share: a fitted index of feature -> (class, weight) edges that ranks, is counted and saved."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from harness.sdk import archive, rules
from harness.sdk.kernels.edges import Edges, as_edges, as_rows, check
from harness.sdk.kernels.instances import Instances, Labels, as_instances
from harness.sdk.kernels.rows import Rows
from harness.sdk.labels import as_labels, has_several, name_labels
from harness.sdk.ranking import rank_all

LARGE_BYTES = 2 * 1024**3
"""A matrix of all weights that would take more is never made."""
LARGE_PRUNE = 0.01
"""What `prune=None` stands for past that size: the threshold of DiSMEC (Babbar and Schoelkopf, WSDM 2017)."""


def is_large(n_features: int, n_classes: int) -> bool:
    """Whether a matrix of all weights would be too large to be made."""
    return 8 * n_features * n_classes > LARGE_BYTES


def threshold(prune: float | None, n_features: int, n_classes: int) -> float:
    """The size up to which weights are not stored."""
    if prune is not None:
        return float(prune)
    return LARGE_PRUNE if is_large(n_features, n_classes) else 0.0


class IndexClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn ships no types
    """A classifier that is trained as a whole, and then is an index.

    Attributes
    ----------
    classes_ : the classes, in the order of their positions.
    rows_ : the index.
    base_ : what each class scores before any feature counts; -inf for those that take no part.
    """

    takes_several: ClassVar[bool] = False
    """Whether a row may have any number of labels: y is then an indicator matrix, rows x classes."""
    records: ClassVar[Mapping[str, type[tuple[Any, ...]]]] = {}
    """Fitted attributes that are named tuples of arrays, beside `rows_`."""

    random_state: int | np.random.RandomState | None
    classes_: NDArray[Any]
    rows_: Rows
    base_: NDArray[np.float64]

    @abstractmethod
    def _rules(self) -> dict[str, rules.Rule]:
        """The rule of each parameter but `random_state`, which all learners have."""

    # -- learning

    def _check_parameters(self) -> None:
        rules.enforce({**self._rules(), "random_state": rules.seed(self.random_state)}, vars(self))

    def _begin(self, X: Any, y: Any) -> tuple[csr_array, Labels]:
        """Forget what was learned, check what is given, find the classes; gives X and the labels by position."""
        self._check_parameters()
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        several = self.takes_several and has_several(y)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float32, multi_output=several)
        with warnings.catch_warnings():  # many classes on few rows are nothing to be warned of
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            check_classification_targets(y)
        starts, names, self.classes_ = name_labels(y)
        X = csr_array(X)
        if not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        return X, as_labels(starts, names, self.classes_)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31))

    def _unknown(self, labels: Labels) -> NDArray[np.float64]:
        """The base of classes that no training row has, and 0 for the others."""
        seen = np.bincount(labels.indices, minlength=self.classes_.size) > 0
        return np.where(seen, 0.0, -np.inf)

    # -- asking

    def predict(self, X: Any) -> NDArray[Any]:
        """The best class of each row. A row that ranks no class gets `classes_[0]`."""
        best = self.rank(X, 1)[:, 0]
        return self.classes_[np.maximum(best, 0)]

    def rank(self, X: Any, k: int) -> NDArray[np.int32]:
        """The positions in `classes_` of the k best classes of each row, best first, ties by position; -1 pads.

        A row without a feature ranks by the biases, and where there are none, nothing.
        """
        instances = self._known_instances(X)
        rules.enforce({"k": rules.count(k)}, {"k": k})
        ranked = self._ranks(instances, k)
        if np.any(self.base_[np.isfinite(self.base_)] != 0):
            ranked[ranked[:, 0] < 0] = self._ranks_of_nothing(k)
        return ranked

    def _ranks(self, instances: Instances, k: int) -> NDArray[np.int32]:
        return rank_all(self.rows_, instances, self.base_, k)

    def _ranks_of_nothing(self, k: int) -> NDArray[np.int32]:
        order = np.argsort(-self.base_, kind="stable")[: np.isfinite(self.base_).sum()][:k]
        return np.pad(order, (0, k - order.size), constant_values=-1).astype(np.int32)

    @property
    def index_size_(self) -> int:
        """The number of stored weights, none of them 0."""
        check_is_fitted(self)
        return self.rows_.n_edges

    @property
    def index_bytes_(self) -> int:
        """The bytes that the index takes, with what the learner keeps beside it."""
        check_is_fitted(self)
        beside = [array for name in self.records for array in getattr(self, name)]
        return int(self.rows_.n_bytes + self.base_.nbytes + sum(array.nbytes for array in beside))

    def edges_touched(self, X: Any) -> float:
        """Edges read per active feature while scoring X; features that training never met count, with no edge."""
        instances = self._known_instances(X)
        read = self.rows_.length[instances.indices[instances.data != 0]]
        return float(read.mean()) if read.size else 0.0

    def _known_instances(self, X: Any) -> Instances:
        check_is_fitted(self)
        return as_instances(validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False))

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "rows_")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # -- files

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted learner to a numpy archive without pickle. A RandomState is not kept, a seed is."""
        check_is_fitted(self)
        parameters = {name: _plain(value) for name, value in self.get_params(deep=False).items()}
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_")}
        arrays: dict[str, NDArray[Any]] = {}
        for name, value in fitted.items():
            record = as_edges(value) if isinstance(value, Rows) else value
            if name in self.records or name == "rows_":
                arrays |= {f"{name}.{field}": array for field, array in record._asdict().items()}
            else:
                arrays[name] = np.asarray(value)
        archive.write(path, {"learner": _name(type(self)), "parameters": parameters}, arrays)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """A learner as `save` wrote it; ValueError when the file is damaged, foreign or another learner's."""
        header, arrays = archive.read(path)
        if header.get("learner") != _name(cls):
            raise ValueError(f"{path}: holds a model of {header.get('learner')}, not of {_name(cls)}")
        try:
            parameters = {name: _tuples(value) for name, value in header["parameters"].items()}
            learner = cls(**parameters)
            learner._check_parameters()
            learner._restore(arrays)
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ValueError(f"{path}: damaged ({error})") from error
        return learner

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        for name, array in arrays.items():
            if "." not in name:
                setattr(self, name, array if array.ndim else array.item())
        for name, record in self.records.items():
            fields: Any = record._fields  # type: ignore[attr-defined]  # all records are named tuples
            setattr(self, name, record(*(arrays[f"{name}.{field}"] for field in fields)))
        edges = Edges(*(arrays[f"rows_.{field}"] for field in Edges._fields))
        self._check_restored(edges)
        self.rows_ = as_rows(edges)

    def _check_restored(self, edges: Edges) -> None:
        """Raise ValueError for what makes no sound model."""
        check(edges, self.n_features_in_, self.classes_.size)
        if self.base_.shape != self.classes_.shape or self.base_.dtype != np.float64:
            raise ValueError("base_ does not fit")


def _name(learner: type) -> str:
    return f"{learner.__module__}:{learner.__qualname__}"


def _plain(value: Any) -> Any:
    """A parameter as JSON can hold it."""
    if isinstance(value, np.generic):
        return value.item()
    return None if isinstance(value, np.random.RandomState) else value


def _tuples(value: Any) -> Any:
    """JSON has lists where the parameters were tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list) else value
