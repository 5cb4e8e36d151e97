"""Problems for training kernels and their references: rows, labels, and an order of instances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse import csr_array

from harness.sdk import Labels, frozen

POSITIVE = st.sampled_from([0.0, 0.0, 0.0, 1.0, 0.5, 2.0, 1e-20, 3e-30, 0.1, 7.0])
SIGNED = st.sampled_from([0.0, 0.0, 0.0, 1.0, -1.0, 0.5, 2.0, 1e-20, -3e-30, 0.1, 7.0])
"""Few values, which give many ties and zero rows."""
EXACT = st.sampled_from([0.0, 0.0, 0.0, 1.0, -1.0, 0.5, 2.0, 7.0])
"""Values whose sums are exact in any order, which decides ties alike in a kernel and a reference."""


@dataclass(frozen=True)
class Problem:
    """Rows with one class each, or several."""

    X: np.ndarray
    y: np.ndarray
    order: np.ndarray
    n_classes: int
    several: list[list[int]] | None = None
    """The classes of each instance; None if each has only the class in `y`."""

    @property
    def truths(self) -> list[list[int]]:
        return [[c] for c in self.y.tolist()] if self.several is None else self.several

    @property
    def labels(self) -> Labels:
        classes = np.array([c for truth in self.truths for c in truth])
        return Labels(frozen(np.cumsum([0, *map(len, self.truths)]), np.int64), frozen(classes, np.int32))


@dataclass(frozen=True)
class IndicatedProblem:
    """Rows with any number of classes."""

    X: np.ndarray
    Y: np.ndarray
    """Instances x classes: whether the class is true."""
    order: np.ndarray

    @property
    def n_classes(self) -> int:
        return self.Y.shape[1]

    @property
    def labels(self) -> Labels:
        Y = csr_array(self.Y)
        return Labels(frozen(Y.indptr, np.int64), frozen(Y.indices, np.int32))


def draw_rows(draw, values):
    """Draw rows of these values, a number of classes, and an order with repeats and omissions."""
    n, n_features, n_classes = draw(st.integers(1, 10)), draw(st.integers(1, 6)), draw(st.integers(1, 5))
    X = draw(hnp.arrays(np.float32, (n, n_features), elements=values.map(lambda x: float(np.float32(x)))))
    order = draw(hnp.arrays(np.int64, st.integers(0, 25), elements=st.integers(0, n - 1)))
    return X, order, n_classes


@st.composite
def tied_problems(draw, values=SIGNED, most_labels: int = 1):
    """Draw many ties and zero rows; some classes never occur."""
    X, order, n_classes = draw_rows(draw, values)
    n = X.shape[0]
    y = draw(hnp.arrays(np.int32, n, elements=st.integers(0, n_classes - 1)))
    truth = st.lists(st.integers(0, n_classes - 1), max_size=most_labels, unique=True)
    several = draw(st.lists(truth, min_size=n, max_size=n)) if most_labels > 1 else None
    return Problem(X, y, order, n_classes, several)


@st.composite
def tied_indicated(draw, values=SIGNED):
    """Draw the same with one label per row, or any number including none and all."""
    X, order, n_classes = draw_rows(draw, values)
    n = X.shape[0]
    single = hnp.arrays(np.int64, n, elements=st.integers(0, n_classes - 1)).map(lambda y: np.eye(n_classes)[y] > 0)
    Y = draw(single | hnp.arrays(np.bool_, (n, n_classes)))
    return IndicatedProblem(X, Y, order)


def unit_rows(rng: np.random.Generator, n: int, n_features: int) -> np.ndarray:
    """Draw rows of unit length without ties."""
    X = rng.normal(size=(n, n_features)) * (rng.random((n, n_features)) < 0.6)
    X[:, 0] += rng.random(n)  # no zero row
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def free_problem(seed: int, n: int = 30, n_features: int = 12, n_classes: int = 6) -> Problem:
    """Return a problem with unit rows and no ties except at the start."""
    rng = np.random.default_rng(seed)
    X = unit_rows(rng, n, n_features)
    return Problem(X.astype(np.float32), rng.integers(0, n_classes, n, np.int32), rng.permutation(n), n_classes)


def free_indicated(seed: int, n: int = 30, n_features: int = 12, n_classes: int = 6) -> IndicatedProblem:
    """Return the same with mostly one or two labels per row."""
    rng = np.random.default_rng(seed)
    X = unit_rows(rng, n, n_features)
    return IndicatedProblem(X.astype(np.float32), rng.random((n, n_classes)) < 0.25, rng.permutation(n))


free_problems = st.builds(free_problem, st.integers(0, 2**32 - 1))
free_indicated_problems = st.builds(free_indicated, st.integers(0, 2**32 - 1))
