"""A learner under examination: how it is made and trained, and the small, easy problem that it is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness.checks.inside import ClassSums
from harness.contract import LearnerSpec, Taxonomy
from harness.sdk.texts import Texts
from harness.signature import import_parameters, import_target, read_parameters
from harness.trials.blueprint import Blueprint, build_estimator
from harness.trials.ranking import as_classes, rank_positions
from harness.trials.represent import as_text_array

N_ROWS, N_CLASSES = 240, 6
FEATURES_A_CLASS = 10
"""Each class has so many features of its own."""
WORD = "word{}"


@dataclass(frozen=True)
class Problem:
    """Rows, the class of each, and a tree of the classes."""

    X: Any
    """A `csr_array`; dense, or an array of texts, where the learner needs that."""
    y: Any
    """Class positions, or whatever else a check puts there."""
    taxonomy: Taxonomy

    def labelled(self, y: Any) -> Problem:
        """The same rows with other labels."""
        return replace(self, y=y)

    def part(self, start: int, stop: int) -> Problem:
        """Some of the rows."""
        return replace(self, X=self.X[start:stop], y=self.y[start:stop])


@dataclass(frozen=True)
class Subject:
    """A learner by its spec, with parameters that are set otherwise than by default."""

    spec: LearnerSpec
    params: Mapping[str, Any] = field(default_factory=dict)

    def told_parameters(self) -> dict[str, Any]:
        """What the host takes for the learner's parameters, with their defaults."""
        told = self.spec.parameters
        if told is None:
            told = read_parameters(self.spec.load)
        return dict(import_parameters(self.spec.load) if told is None else told)

    def kind(self) -> Any:
        """The learner's class."""
        return import_target(self.spec.load)

    def build(self) -> Any:
        """The learner, not fitted, with a seed; one that is built round another gets a simple one to wrap."""
        params = dict(self.params)
        if "random_state" in self.told_parameters():
            params.setdefault("random_state", 0)
        if self.spec.wraps:
            params.setdefault(self.spec.wraps, ClassSums())
        return build_estimator(Blueprint(self.spec.load, params))

    def problem(self, seed: int = 0) -> Problem:
        """An easy problem: each class has features of its own, all values are positive, one row is empty."""
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
        """The rows as a trial would hand them to the learner; in a text each feature is a word."""
        if "text" in self.spec.needs:
            return as_text_array(Texts.of(" ".join(map(WORD.format, row.nonzero()[0])) for row in X.toarray()))
        return X.toarray() if "dense" in self.spec.needs else X

    def fitted(self, problem: Problem, **extra: Any) -> Any:
        """A new learner, trained on the problem; `extra` goes to its `fit`."""
        return self.fit(self.build(), problem, **extra)

    def fit(self, learner: Any, problem: Problem, **extra: Any) -> Any:
        """Train this learner on the problem as a trial does it."""
        if "taxonomy" in self.spec.needs:
            extra["taxonomy"] = problem.taxonomy
        learner.fit(problem.X, problem.y, **extra)
        return learner


def own_parameters(learner: Any) -> dict[str, Any] | None:
    """The learner's own, as scikit-learn asks for them; None where it does not tell."""
    if not callable(getattr(learner, "get_params", None)):
        return None
    return dict(learner.get_params(deep=False))


def ranks_by(learner: Any, X: Any, k: int = 3) -> NDArray[np.int32]:
    """Classes as a trial ranks them, -1 pads; ContractError where the answer is not as promised."""
    answer, by = rank_positions(learner, X, k)
    return as_classes(learner, answer, by, X.shape[0], k, N_CLASSES)


def accuracy_of(learner: Any, problem: Problem) -> float:
    """The share of rows whose class is ranked first."""
    return float((ranks_by(learner, problem.X)[:, 0] == problem.y).mean())
