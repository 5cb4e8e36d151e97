"""What the learners of this plugin share: training in passes or batches, asking, files. Each adds its own steps."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from os import PathLike
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, check_random_state
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from harness import AfterPass
from harness.sdk import archive, rules
from harness.sdk.kernels.instances import Instances, as_instances
from harness.sdk.labels import as_labels, extend
from harness_tree.kernels.regressor import LOSSES, Step

Positions = NDArray[np.int32]
"""The class of each instance, as a position in `classes_`."""


class PassLearner(ClassifierMixin, BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn ships no types
    """A classifier with linear regressors that learns instance by instance, in passes over the data.

    All that it learns is in attributes that end in `_`: arrays and numbers, which are what is saved.
    """

    loss: str
    eta: float
    decay: float
    passes: int
    random_state: int | np.random.RandomState | None
    classes_: NDArray[Any]

    # -- what a learner supplies

    @abstractmethod
    def _rules(self) -> dict[str, rules.Rule]:
        """The rule of each parameter that the learners do not share."""

    @abstractmethod
    def _begin(self, generator: np.random.Generator) -> None:
        """Set up what is learned, for the features and classes that are known."""

    @abstractmethod
    def _learn(self, instances: Instances, labels: Positions, order: NDArray[np.int64], step: Step) -> None:
        """Go through the instances in this order."""

    @abstractmethod
    def _rank(self, instances: Instances, k: int) -> NDArray[np.int32]:
        """The positions of the k best classes of each instance, -1 pads."""

    @abstractmethod
    def _check_restored(self) -> None:
        """Raise ValueError unless what came from a file can be used without reading beyond an array."""

    def _arrange(self, instances: Instances) -> None:
        """Settle how weights lie in memory, by the instances that training begins with."""

    def _arranged(self, instances: Instances) -> Instances:
        """The instances as the weights lie in memory: by the number of the feature, unless settled otherwise."""
        return instances

    def _finish(self) -> None:  # most learners are done after the last pass
        """What is left to do after the last pass."""

    # -- learning

    def fit(self, X: Any, y: ArrayLike, *, after_pass: AfterPass | None = None) -> Self:
        """Train from nothing. `after_pass(n)` is called after pass n = 1, 2, ...; the learner may rank meanwhile."""
        self._check_parameters()
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        X, labelled = self._validated(X, y, reset=True)
        self.classes_ = np.unique(labelled)
        instances, labels = as_instances(X), self._positions(labelled)
        self._arrange(instances)
        instances = self._arranged(instances)
        generator = np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4))
        self._begin(generator)
        self._training = instances, labels
        try:
            for number in range(1, self.passes + 1):
                self._learn(instances, labels, generator.permutation(instances.n_instances), self._step(number))
                if after_pass is not None:
                    after_pass(number)
            self._finish()
        finally:
            del self._training
        return self

    def _check_parameters(self) -> None:
        shared = {
            "loss": rules.one_of(self.loss, LOSSES),
            "eta": rules.positive(self.eta),
            "decay": (rules.share(self.decay)[0] and self.decay > 0, "a number above 0, at most 1"),
            "passes": rules.count(self.passes),
            "random_state": rules.seed(self.random_state),
        }
        rules.enforce({**self._rules(), **shared}, vars(self))

    def _step(self, number: int) -> Step:
        adaptive = getattr(self, "step", "plain") == "adagrad"
        return Step(LOSSES.index(self.loss), adaptive, float(self.eta * self.decay ** (number - 1)))

    def _validated(self, X: Any, y: Any, reset: bool) -> tuple[Any, Any]:
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float32, reset=reset)
        with warnings.catch_warnings():  # many classes in a small batch are nothing to be warned of
            warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
            check_classification_targets(y)
        return X, y

    def _positions(self, y: NDArray[Any]) -> Positions:
        return as_labels(np.arange(y.size + 1, dtype=np.int64), y, self.classes_).indices

    # -- asking

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "classes_")

    def predict(self, X: Any) -> NDArray[Any]:
        """The best class of each row."""
        best = self._rank(self._known_instances(X), 1)[:, 0]
        return self.classes_[best]

    def rank(self, X: Any, k: int) -> NDArray[np.int32]:
        """The positions in `classes_` of the k best classes of each row, best first; -1 pads."""
        instances = self._known_instances(X)
        rules.enforce({"k": rules.count(k)}, {"k": k})
        return self._rank(instances, k)

    def _known_instances(self, X: Any) -> Instances:
        check_is_fitted(self)
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float32, reset=False)
        return self._arranged(as_instances(X))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # -- files

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted learner to a numpy archive without pickle. A RandomState is not kept, a seed is."""
        check_is_fitted(self)
        self._finish()
        parameters = {name: _plain(value) for name, value in self.get_params(deep=False).items()}
        fitted = {name: np.asarray(value) for name, value in vars(self).items() if name.endswith("_")}
        archive.write(path, {"learner": _name(type(self)), "parameters": parameters}, fitted)

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
            learner._check_restored()
        except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path}: damaged ({error})") from error
        return learner

    def _restore(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        for name, array in arrays.items():
            setattr(self, name, array if array.ndim else array.item())


class BatchLearner(PassLearner):
    """One that also learns batch by batch."""

    @abstractmethod
    def _grow(self, n_features: int, n_classes: int) -> None:
        """Make room for the features and classes that have come, after n_features and n_classes before."""

    def partial_fit(self, X: Any, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Go once through a batch in the order given, on top of what was learned so far.

        Classes that are new, from y or from `classes`, get the next positions; columns of X that are new become new
        features. `classes` is never needed.
        """
        self._check_parameters()
        fresh = not self.__sklearn_is_fitted__()
        n_features, n_classes = (0, 0) if fresh else (self.n_features_in_, self.classes_.size)
        X, labelled = self._validated(X, y, reset=fresh or self._is_wider(X))
        found = np.unique(labelled)
        if classes is not None:
            found = extend(np.unique(np.asarray(classes)), found)
        self.classes_ = found if fresh else extend(self.classes_, found)
        if fresh:
            self._begin(np.random.default_rng(check_random_state(self.random_state).randint(2**31, size=4)))
        else:
            self._grow(n_features, n_classes)
        instances = as_instances(X)
        if fresh:
            self._arrange(instances)
        self._learn(
            self._arranged(instances), self._positions(labelled), np.arange(instances.n_instances), self._step(1)
        )
        return self

    def _is_wider(self, X: Any) -> bool:
        """Whether X brings new features behind those that are known."""
        known, names = self.n_features_in_, getattr(self, "feature_names_in_", None)
        if getattr(X, "shape", np.shape(X))[1:] <= (known,):
            return False
        if names is not None and list(getattr(X, "columns", names)[:known]) != list(names):
            raise ValueError("new features must come behind those that are known, in the same order")
        return True


def expect(holds: bool, what: str) -> None:
    """Raise ValueError when something that came from a file does not hold."""
    if not holds:
        raise ValueError(f"{what} does not fit")


def expect_array(array: NDArray[Any], shape: tuple[int, ...], dtype: Any, name: str) -> None:
    """Raise ValueError when an array that came from a file is not of this shape and type."""
    expect(array.shape == shape and array.dtype == np.dtype(dtype), name)


def _name(learner: type) -> str:
    return f"{learner.__module__}:{learner.__qualname__}"


def _plain(value: Any) -> Any:
    """A parameter as JSON can hold it."""
    if isinstance(value, np.generic):
        return value.item()
    return None if isinstance(value, np.random.RandomState) else value
