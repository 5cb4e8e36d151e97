"""Building blocks of checks: `Check` and its errors, the learner under test, and a small problem to train it on."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from types import ModuleType
from typing import Any, Self, TypeVar
from unittest import SkipTest

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array

from harness.host.contract import AfterPass, LearnerSpec, Taxonomy
from harness.host.introspection import import_parameters, import_target, read_parameters
from harness.sdk.classifier import Classifier, Matrix
from harness.sdk.kernels.instances import Labels
from harness.sdk.rules import Rule, count
from harness.sdk.texts import Texts
from harness.trials.data import TrainingPart, as_text_array
from harness.trials.fit import fit
from harness.trials.predict import as_classes, rank_positions
from harness.trials.trial import Blueprint, build_estimator


class ClassSums(Classifier):
    """Simple learner inside wrappers such as `committee` while they are checked.

    The score of a class is the dot product of the row and the sum of the training rows of the class.

    Parameters
    ----------
    passes : int, default=1
        Passes over the rows.
    random_state : int or np.random.RandomState, optional
        Accepted and ignored.

    Attributes
    ----------
    coef_ : ndarray of float64
        The sums, classes x features.
    """

    takes_several = True
    learned = "coef_"
    coef_: NDArray[np.float64]

    def __init__(self, *, passes: int = 1, random_state: int | np.random.RandomState | None = None) -> None:
        self.passes = passes
        self.random_state = random_state

    def fit(self, X: Matrix, y: ArrayLike, *, after_pass: AfterPass | None = None) -> Self:
        """Add up the rows of each class."""
        rows, labels = self._begin(X, y)
        self.coef_ = np.zeros((self.classes_.size, self.n_features_in_))
        for number in range(1, self.passes + 1):
            self._add(rows, labels)
            if after_pass is not None:
                after_pass(number)
        return self

    def partial_fit(self, X: Matrix, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Add the rows of a batch."""
        rows, labels, first = self._begin_batch(X, y, classes)
        known = np.zeros((0, 0)) if first else self.coef_
        self.coef_ = np.zeros((self.classes_.size, self.n_features_in_))
        self.coef_[: known.shape[0], : known.shape[1]] = known
        self._add(rows, labels)
        return self

    def edges_touched(self, X: Matrix, k: int = 1) -> float:
        """Return the weights read for each active feature: one for each class."""
        return float(self.classes_.size) if self._known(X).nnz else 0.0

    def _add(self, rows: csr_array, labels: Labels) -> None:
        shape = (rows.shape[0], self.classes_.size)
        members = csr_array((np.ones(labels.indices.size), labels.indices, labels.indptr), shape=shape)
        self.coef_ += (members.T @ rows).toarray()

    def _rank(self, X: csr_array, k: int) -> NDArray[np.int32]:
        order = np.argsort(-(X @ self.coef_.T), axis=1, kind="stable")[:, :k]
        return np.pad(order.astype(np.int32), ((0, 0), (0, k - order.shape[1])), constant_values=-1)

    def _rules(self) -> dict[str, Rule]:
        return {"passes": count(self.passes)}


N_ROWS, N_CLASSES = 240, 6
FEATURES_A_CLASS = 10
"""Number of typical features of each class, which rows of other classes rarely have."""
WORD = "word{}"
"""The word for a feature, for learners that take texts."""


@dataclass(frozen=True)
class Problem:
    """Training data for a learner under test: rows, labels and a taxonomy."""

    X: Any
    """A `csr_array`; or a dense array or an array of texts, if the learner needs it."""
    y: Any
    """Class positions, or the labels that a check replaces them with."""
    taxonomy: Taxonomy

    def labelled(self, y: Any) -> Problem:
        """Return the same rows with other labels."""
        return replace(self, y=y)

    def part(self, start: int, stop: int) -> Problem:
        """Return the problem with the rows from `start` to `stop` only."""
        return replace(self, X=self.X[start:stop], y=self.y[start:stop])


@dataclass(frozen=True)
class Subject:
    """A learner under test: its spec and the parameters to set."""

    spec: LearnerSpec
    params: Mapping[str, Any] = field(default_factory=dict)

    def declared_parameters(self) -> dict[str, Any]:
        """Return the parameters and defaults that the spec or the source declares."""
        declared = self.spec.parameters
        if declared is None:
            declared = read_parameters(self.spec.load)
        return dict(import_parameters(self.spec.load) if declared is None else declared)

    def kind(self) -> Any:
        """Return the learner's class."""
        return import_target(self.spec.load)

    def build(self) -> Any:
        """Return a new learner with the random state 0. A wrapper of one learner gets `ClassSums` inside."""
        params = dict(self.params)
        if "random_state" in self.declared_parameters():
            params.setdefault("random_state", 0)
        if self.spec.wraps and not self.spec.wraps_several:
            params.setdefault(self.spec.wraps, ClassSums())
        return build_estimator(Blueprint(self.spec.load, params))

    def problem(self, seed: int = 0) -> Problem:
        """Return an easy problem: each class has typical features, and no value is negative. The last row is empty.

        Parameters
        ----------
        seed : int, default=0
            Seed of the values. Problems of different seeds have the same classes, so one can test what another trained.
        """
        random = np.random.default_rng(seed)
        y = np.arange(N_ROWS) % N_CLASSES
        shape = (N_ROWS, N_CLASSES * FEATURES_A_CLASS)
        dense = random.random(shape) * (random.random(shape) < 0.1)
        for row, label in enumerate(y):
            dense[row, label * FEATURES_A_CLASS + random.integers(0, FEATURES_A_CLASS, 4)] += 1.0
        dense[-1] = 0
        X = csr_array(dense.astype(np.float32))
        parent = np.array([-1, 0, 0, *(1 + (np.arange(N_CLASSES) % 2))])
        taxonomy = Taxonomy(parent, 3 + np.arange(N_CLASSES))
        return Problem(self._as_needed(X), y, taxonomy)

    def _as_needed(self, X: csr_array) -> Any:
        """Return the rows as the learner needs them: sparse, dense, or as texts with a word for each feature."""
        if "text" in self.spec.needs:
            return as_text_array(Texts.of(" ".join(map(WORD.format, row.nonzero()[0])) for row in X.toarray()))
        return X.toarray() if "dense" in self.spec.needs else X

    def fitted(self, problem: Problem, *, after_pass: AfterPass | None = None) -> Any:
        """Return a new learner, trained on the problem.

        Parameters
        ----------
        problem : Problem
            The training data.
        after_pass : AfterPass, optional
            Passed to `fit`, for learners that report their passes.
        """
        return self.fit(self.build(), problem, after_pass=after_pass)

    def fit(self, learner: Any, problem: Problem, *, after_pass: AfterPass | None = None) -> Any:
        """Train a learner on the problem as a trial does, but without seeding the global random generators.

        If these were seeded, a learner that ignores its `random_state` would pass the check of repeatability.

        Parameters
        ----------
        learner : object
            An unfitted learner, or a fitted one to train again.
        problem : Problem
            The training data.
        after_pass : AfterPass, optional
            Passed to `fit`, for learners that report their passes.
        """
        needed = "taxonomy" in self.spec.needs
        part = TrainingPart(problem.X, problem.y)
        taxonomy = problem.taxonomy if needed else None
        return fit(learner, part, seed=None, taxonomy=taxonomy, wants_taxonomy=needed, after_pass=after_pass)


def own_parameters(learner: Any) -> dict[str, Any] | None:
    """Return `get_params(deep=False)`, or None if the learner has no `get_params`."""
    if not callable(getattr(learner, "get_params", None)):
        return None
    return dict(learner.get_params(deep=False))


def ranks_by(learner: Any, X: Any, k: int = 3) -> NDArray[np.int32]:
    """Return the k best classes of each row as a trial computes them: class positions, padded with -1.

    Raises
    ------
    ContractError
        If the ranks have a wrong shape or contain unknown classes.
    """
    answer, by = rank_positions(learner, X, k)
    return as_classes(learner, answer, by, X.shape[0], k, N_CLASSES)


def accuracy_of(learner: Any, problem: Problem) -> float:
    """Return the share of rows whose class is ranked first."""
    return float((ranks_by(learner, problem.X)[:, 0] == problem.y).mean())


PREFIX = "check_"
Checked = TypeVar("Checked")
"""Type of the object under test."""


@dataclass(frozen=True)
class Check:
    """A named check of an object. Call it to run it.

    The call returns nothing if the check passes. It raises CheckFailed, or the error of the object itself, if the check
    fails. It raises NotApplicable if the object does not claim the property; pytest and unittest then skip the test.
    """

    name: str
    run: Callable[[], None]
    why: str = ""
    """What is checked and why: the first line of the docstring of the check."""

    def __str__(self) -> str:
        return self.name

    def __call__(self) -> None:
        self.run()


class NotApplicable(SkipTest):
    """The object does not claim the property that is checked. The message gives the reason."""


class CheckFailed(AssertionError):
    """The object breaks the contract. The message describes the problem and, where possible, the remedy."""


def require(condition: bool, message: str) -> None:
    """Raise CheckFailed unless the condition holds."""
    if not condition:
        raise CheckFailed(message)


def checks_in(module: ModuleType, checked: Checked) -> list[Check]:
    """Return the checks of an object from a module with `check_*` functions.

    Parameters
    ----------
    module : ModuleType
        The module.
    checked : Checked
        The object under test. Functions whose first parameter has another type are left out.
    """
    found = []
    for name, function in vars(module).items():
        if name.startswith(PREFIX) and _takes(function, type(checked)):
            why = (function.__doc__ or "").partition("\n")[0]
            found.append(Check(name.removeprefix(PREFIX), partial(function, checked), why))
    return found


def _takes(check: Callable[..., Any], kind: type) -> bool:
    """Return whether the first parameter of a check is annotated with this type."""
    annotations = list(inspect.get_annotations(check).values())
    return annotations[0] in (kind, kind.__name__)
