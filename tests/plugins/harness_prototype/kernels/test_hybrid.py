"""Training an index in two parts is bit-identical to training the whole index."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

from harness.sdk import Instances, Labels, as_instances, frozen
from harness_prototype.hybrid import HybridIndex, learn_hybrid
from harness_prototype.kernels.hybrid_pa import update_pa_hybrid
from harness_prototype.kernels.hybrid_perceptron import update_perceptron_hybrid
from harness_prototype.kernels.passive_aggressive import PAStep, update_pa
from harness_prototype.kernels.perceptron import update_perceptron
from internals import Rows, as_edges, empty_rows, enlarge
from problems import near_prototypes

STEPS = [
    PAStep(1.0, 1.0, 0.5, np.inf),
    PAStep(1.0, 2.0, 0.0, np.inf),
    PAStep(0.25, 2.0, 0.0, 0.01),
    PAStep(0.05, 1.0, 0.5, np.inf),
]
VALUES = st.sampled_from([0.0, 0.0, 0.0, 1.0, -1.0, 0.5, 2.0, 0.1, 0.3, 7.0]).map(lambda x: float(np.float32(x)))


@st.composite
def tied_problems(draw):
    """Draw few distinct values: many ties and zero rows, unused classes, repeated and missing instances."""
    n, n_features, n_classes = draw(st.integers(1, 10)), draw(st.integers(1, 6)), draw(st.integers(1, 5))
    X = draw(hnp.arrays(np.float32, (n, n_features), elements=VALUES))
    y = draw(hnp.arrays(np.int32, n, elements=st.integers(0, n_classes - 1)))
    order = draw(hnp.arrays(np.int64, st.integers(0, 25), elements=st.integers(0, n - 1)))
    return X, y, order, n_classes, np.flatnonzero(draw(hnp.arrays(np.bool_, n_features)))


def free_problem(seed: int):
    """Draw rows of many classes near their prototypes; some features are stored in the matrix."""
    X, y = near_prototypes(seed, n=150, n_features=30, n_classes=80)
    rng = np.random.default_rng(seed)
    return X, y.astype(np.int32), rng.integers(0, 150, 300), 80, rng.permutation(30)[: rng.integers(0, 30)]


problems = tied_problems() | st.builds(free_problem, st.integers(0, 2**32 - 1))


def learn(problem, plain, parted) -> tuple[np.ndarray, np.ndarray]:
    """Return weights from the whole index and from an index in two parts, each started in a tiny arena."""
    X, y, order, n_classes, features = problem
    instances, labels = as_instances(X), frozen(y, np.int32)
    base, bases = np.full(n_classes, -np.inf), np.full(n_classes, -np.inf)
    rows, left = empty_rows(X.shape[1], 2), order
    while (done := plain(rows, instances, labels, left, base, np.empty(n_classes))) < left.size:
        rows, left = enlarge(rows), left[done:]

    def update(index: HybridIndex, order: np.ndarray) -> int:
        return parted(index, instances, labels, order, bases)

    other = learn_hybrid(empty_rows(X.shape[1], 2), features, instances, order, n_classes, update)
    assert_array_equal(bases, base)
    return dense(rows, n_classes), dense(other, n_classes)


def dense(rows: Rows, n_classes: int) -> np.ndarray:
    edges, W = as_edges(rows), np.zeros((rows.start.size, n_classes), np.float32)
    W[edges.features, edges.classes] = edges.weights
    assert np.all(edges.weights != 0)
    return W


@settings(max_examples=150, deadline=None)
@given(problem=problems, step=st.sampled_from(STEPS))
def test_pa_in_two_parts_is_bit_identical(problem, step):
    def plain(rows: Rows, instances: Instances, y: np.ndarray, *more) -> int:
        return update_pa(rows, instances, Labels(frozen(np.arange(y.size + 1)), y), *more, step)

    complete, joined = learn(problem, plain, lambda *given: update_pa_hybrid(*given, step))
    assert_array_equal(joined, complete)


@settings(max_examples=150, deadline=None)
@given(problem=problems)
def test_the_perceptron_in_two_parts_is_bit_identical(problem):
    complete, joined = learn(problem, update_perceptron, update_perceptron_hybrid)
    assert_array_equal(joined, complete)
