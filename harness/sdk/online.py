"""An online classifier but for its update: passes and batches, ranking, growing, sparsifying, saving and loading."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from math import inf
from os import PathLike
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from harness.contract import AfterPass
from harness.sdk import archive, rules
from harness.sdk.kernels.edges import Edges, as_edges, as_rows, check, keep_largest, pack
from harness.sdk.kernels.instances import Instances, Labels, as_instances, positive_only
from harness.sdk.kernels.rows import Rows, empty_rows, enlarge, widen
from harness.sdk.labels import as_labels, extend, has_several, name_labels
from harness.sdk.negative import warn_of_negative
from harness.sdk.ranking import load_kernel, rank_all, rank_touched

CACHED_CLASSES = 4096
"""Of how many classes the scores fit into the nearest cache, 32 kB."""


class OnlineClassifier(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn ships no types
    """A classifier that learns instance by instance into an index of feature -> (class, weight) edges.

    A learner says in the four class variables how it treats input and ranking, and supplies `_rules` and `_update`;
    where it keeps more than the index, `_arrays`; where rows are scored in part, `_degree`.

    Attributes
    ----------
    classes_ : the classes, in the order of their positions: sorted, then those that later batches brought.
    rows_ : the index.
    base_ : 0 for each class met so far, -inf for the others.
    """

    ignores_not_positive: ClassVar[bool] = False
    """Whether features with x_f <= 0 count as absent; where some are negative, that is said once a fit."""
    ranks_untouched: ClassVar[bool] = True
    """Whether a class that no feature of a row knows takes part with the score 0; else only scores above 0 rank."""
    takes_several: ClassVar[bool] = False
    """Whether a row may have any number of labels: y is then an indicator matrix, rows x classes."""

    passes: int
    random_state: int | np.random.RandomState | None
    classes_: NDArray[Any]
    rows_: Rows
    base_: NDArray[np.float64]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        load_kernel(cls.ranks_untouched)

    # -- what a learner supplies

    @abstractmethod
    def _rules(self) -> dict[str, rules.Rule]:
        """The rule of each parameter but `passes` and `random_state`, which all learners have."""

    @abstractmethod
    def _update(self, instances: Instances, labels: Labels, order: NDArray[np.int64], number: int) -> int:
        """Learn from the instances in this order, in pass `number`, changing `rows_` and the arrays in place.

        Gives how many were done before the arena ran out of room: it is called again for the others in a larger one.
        """

    def _arrays(self, n_features: int, n_classes: int) -> dict[str, NDArray[Any]]:
        """What the learner keeps beside the index as it is before training: by feature or by class, names end in _."""
        return {}

    def _degree(self) -> int:
        """How many edges of a row are read while scoring; 0 stands for all."""
        return 0

    def _factors(self) -> NDArray[np.float64]:
        """By what the values of each feature are multiplied while ranking touched classes; empty where by 1."""
        return np.empty(0)

    def _sizes(self, edges: Edges) -> NDArray[Any]:
        """How much each edge weighs when it comes to leaving out the lightest."""
        sizes: NDArray[Any] = np.abs(edges.weights)
        return sizes

    # -- learning

    def fit(self, X: Any, y: ArrayLike, *, after_pass: AfterPass | None = None) -> Self:
        """Train from nothing. `after_pass(n)` is called after pass n = 1, 2, ...; the learner may rank meanwhile."""
        self._check_parameters()
        self._clear()
        X, (starts, names, self.classes_) = self._validated(X, y, reset=True)
        labels, instances = as_labels(starts, names, self.classes_), self._as_instances(X)
        self._begin(n_edges=instances.data.size)
        generator = np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))
        for number in range(1, self.passes + 1):
            self._train(instances, labels, generator.permutation(instances.n_instances), number)
            if after_pass is not None:
                after_pass(number)
        self.rows_ = pack(self.rows_, by_class=self.classes_.size > CACHED_CLASSES and not self._degree())
        return self

    def partial_fit(self, X: Any, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Go once through a batch in the order given, on top of what was learned so far.

        Classes that are new, from y or from `classes`, get the next positions; columns of X that are new become new
        features. `classes` is never needed.
        """
        self._check_parameters()
        fresh = not self.__sklearn_is_fitted__()
        X, (starts, names, found) = self._validated(X, y, reset=fresh or self._is_wider(X))
        instances = self._as_instances(X)
        if classes is not None:
            found = extend(np.unique(np.asarray(classes)), found)
        if fresh:
            self.classes_ = found
            self._begin(n_edges=instances.data.size)
        else:
            self._grow()
            self.classes_ = extend(self.classes_, found)
            self._grow()
        self._train(instances, as_labels(starts, names, self.classes_), np.arange(instances.n_instances), number=1)
        return self

    def sparsify(self, share: float) -> Self:
        """Keep the floor(share * index_size_) largest weights of the index, ties by feature, then class."""
        check_is_fitted(self)
        rules.enforce({"share": rules.share(share)}, {"share": share})
        edges = as_edges(self.rows_)
        self.rows_ = as_rows(keep_largest(edges, self._sizes(edges), share))
        return self

    def _check_parameters(self) -> None:
        shared = {"passes": rules.count(self.passes), "random_state": rules.seed(self.random_state)}
        rules.enforce({**self._rules(), **shared}, vars(self))

    def _validated(self, X: Any, y: Any, reset: bool) -> tuple[Any, tuple[Any, Any, Any]]:
        several = self.takes_several and has_several(y)
        X, y = validate_data(
            self, X, y, accept_sparse="csr", dtype=np.float32, multi_output=several, reset=reset
        )  # fmt: skip
        with warnings.catch_warnings():  # many classes in a small batch are nothing to be warned of
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            check_classification_targets(y)
        if self.ignores_not_positive and reset:  # later batches would repeat it
            warn_of_negative(X, self)
        return X, name_labels(y)

    def _is_wider(self, X: Any) -> bool:
        """Whether X brings new features behind those that are known."""
        known, names = self.rows_.start.size, getattr(self, "feature_names_in_", None)
        if getattr(X, "shape", np.shape(X))[1:] <= (known,):
            return False
        if names is not None and list(getattr(X, "columns", names)[:known]) != list(names):
            raise ValueError("new features must come behind those that are known, in the same order")
        return True

    def _as_instances(self, X: Any) -> Instances:
        instances = as_instances(X)
        return positive_only(instances) if self.ignores_not_positive else instances

    def _train(self, instances: Instances, labels: Labels, order: NDArray[np.int64], number: int) -> None:
        while (done := self._update(instances, labels, order, number)) < order.size:
            self.rows_, order = enlarge(self.rows_), order[done:]
        self.base_[labels.indices] = 0.0

    # -- fitted state: whatever ends in _

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "rows_")

    def _clear(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _begin(self, n_edges: int) -> None:
        """Nothing learned yet, for the features and classes that are known."""
        self.rows_ = empty_rows(self.n_features_in_, n_edges)
        for name, array in self._fresh().items():
            setattr(self, name, array)

    def _grow(self) -> None:
        """Make room for the features and classes that have come; what is known keeps its place."""
        if (self.rows_.start.size, self.base_.size) == (self.n_features_in_, self.classes_.size):
            return
        self.rows_ = widen(self.rows_, self.n_features_in_)
        for name, array in self._fresh().items():
            known = getattr(self, name)
            array[: known.size] = known
            setattr(self, name, array)

    def _fresh(self) -> dict[str, NDArray[Any]]:
        n_classes = self.classes_.size
        return {"base_": np.full(n_classes, -inf), **self._arrays(self.n_features_in_, n_classes)}

    # -- asking

    def predict(self, X: Any) -> NDArray[Any]:
        """The best class of each row. A row that ranks no class, as one without features does, gets `classes_[0]`."""
        best = self.rank(X, 1)[:, 0]
        return self.classes_[np.maximum(best, 0)]

    def rank(self, X: Any, k: int) -> NDArray[np.int32]:
        """The positions in `classes_` of the k best classes of each row, best first, ties by position; -1 pads.

        A row without a feature ranks none. Where untouched classes take part, they score 0; else only those rank that
        score above 0.
        """
        instances = self._known_instances(X)
        rules.enforce({"k": rules.count(k)}, {"k": k})
        if self.ranks_untouched:
            return rank_all(self.rows_, instances, self.base_, k)
        n_classes, degree = self.classes_.size, self._degree()
        return rank_touched(self.rows_, instances, self._factors(), k, n_classes=n_classes, degree=degree)

    @property
    def index_size_(self) -> int:
        """The number of stored weights, none of them 0."""
        check_is_fitted(self)
        return self.rows_.n_edges

    @property
    def index_bytes_(self) -> int:
        """The bytes that the index takes, with what the learner keeps beside it."""
        check_is_fitted(self)
        beside = self._arrays(self.n_features_in_, self.classes_.size)
        return self.rows_.n_bytes + sum(array.nbytes for array in beside.values())

    def edges_touched(self, X: Any) -> float:
        """Edges read per active feature while scoring X; features that training never met count, with no edge."""
        instances = self._known_instances(X)
        read = self.rows_.length[instances.indices[instances.data != 0]]
        if self._degree():
            read = np.minimum(read, self._degree())
        return float(read.mean()) if read.size else 0.0

    def _known_instances(self, X: Any) -> Instances:
        check_is_fitted(self)
        return self._as_instances(validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.poor_score = self.ignores_not_positive  # on the centred data of scikit-learn's checks
        return tags

    # -- files

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted learner to a numpy archive without pickle. A RandomState is not kept, a seed is."""
        check_is_fitted(self)
        parameters = {name: _plain(value) for name, value in self.get_params(deep=False).items()}
        header = {"learner": _name(type(self)), "parameters": parameters}
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_") and name != "rows_"}
        arrays = {name: np.asarray(value) for name, value in fitted.items()}
        edges = {f"rows_.{name}": array for name, array in as_edges(self.rows_)._asdict().items()}
        archive.write(path, header, {**arrays, **edges})

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Self:
        """A learner as `save` wrote it; ValueError when the file is damaged, foreign or another learner's."""
        header, arrays = archive.read(path)
        if header.get("learner") != _name(cls):
            raise ValueError(f"{path}: holds a model of {header.get('learner')}, not of {_name(cls)}")
        try:
            learner = cls(**header["parameters"])
            learner._check_parameters()
            learner._restore(arrays)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}: damaged ({error})") from error
        return learner

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        edges = Edges(*(arrays[f"rows_.{field}"] for field in Edges._fields))
        for name, array in arrays.items():
            if "." not in name:
                setattr(self, name, array if array.ndim else array.item())
        check(edges, self.n_features_in_, self.classes_.size)
        for name, fresh in self._fresh().items():
            if (fresh.shape, fresh.dtype) != (arrays[name].shape, arrays[name].dtype):
                raise ValueError(f"{name} does not fit")
        self.rows_ = as_rows(edges)


def _name(learner: type) -> str:
    return f"{learner.__module__}:{learner.__qualname__}"


def _plain(value: Any) -> Any:
    """A parameter as JSON can hold it."""
    if isinstance(value, np.generic):
        return value.item()
    return None if isinstance(value, np.random.RandomState) else value
