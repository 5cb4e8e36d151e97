"""Training an index in two parts makes the updates that training the whole one makes, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

from harness.sdk import ranking
from harness.sdk.kernels import rows as rows_module
from harness.sdk.kernels.arrays import frozen
from harness.sdk.kernels.edges import as_edges
from harness.sdk.kernels.instances import Instances, Labels, as_instances
from harness.sdk.kernels.rows import Rows, empty_rows, enlarge
from harness_prototype import parts as parts_module
from harness_prototype.kernels.pa_parted import update_pa_parted
from harness_prototype.kernels.passive_aggressive import PAStep, update_pa
from harness_prototype.kernels.perceptron import update_perceptron
from harness_prototype.kernels.perceptron_parted import update_perceptron_parted
from harness_prototype.pa import PA
from harness_prototype.parts import Parts, learn_in_parts
from harness_prototype.perceptron import Perceptron
from problems import as_indicator, near_prototypes

STEPS = [
    PAStep(1.0, 1.0, 0.5, np.inf),
    PAStep(1.0, 2.0, 0.0, np.inf),
    PAStep(0.25, 2.0, 0.0, 0.01),
    PAStep(0.05, 1.0, 0.5, np.inf),
]
VALUES = st.sampled_from([0.0, 0.0, 0.0, 1.0, -1.0, 0.5, 2.0, 0.1, 0.3, 7.0]).map(lambda x: float(np.float32(x)))


@st.composite
def tied_problems(draw):
    """Few values, so many ties and zero rows; some classes never occur, some instances come twice or not at all."""
    n, n_features, n_classes = draw(st.integers(1, 10)), draw(st.integers(1, 6)), draw(st.integers(1, 5))
    X = draw(hnp.arrays(np.float32, (n, n_features), elements=VALUES))
    y = draw(hnp.arrays(np.int32, n, elements=st.integers(0, n_classes - 1)))
    order = draw(hnp.arrays(np.int64, st.integers(0, 25), elements=st.integers(0, n - 1)))
    return X, y, order, n_classes, np.flatnonzero(draw(hnp.arrays(np.bool_, n_features)))


def free_problem(seed: int):
    """Rows of many classes near their prototypes; some of the features are for the matrix."""
    X, y = near_prototypes(seed, n=150, n_features=30, n_classes=80)
    rng = np.random.default_rng(seed)
    return X, y.astype(np.int32), rng.integers(0, 150, 300), 80, rng.permutation(30)[: rng.integers(0, 30)]


problems = tied_problems() | st.builds(free_problem, st.integers(0, 2**32 - 1))


def learn(problem, plain, parted) -> tuple[np.ndarray, np.ndarray]:
    """The weights after training the whole index, and after training it in two parts, each from a tiny arena."""
    X, y, order, n_classes, features = problem
    instances, labels = as_instances(X), frozen(y, np.int32)
    base, bases = np.full(n_classes, -np.inf), np.full(n_classes, -np.inf)
    rows, left = empty_rows(X.shape[1], 2), order
    while (done := plain(rows, instances, labels, left, base, np.empty(n_classes))) < left.size:
        rows, left = enlarge(rows), left[done:]

    def update(parts: Parts, order: np.ndarray) -> int:
        rows, frequent, *space = parts
        return parted(rows, frequent, instances, labels, order, bases, *space)

    other = learn_in_parts(empty_rows(X.shape[1], 2), features, instances, order, n_classes, update)
    assert_array_equal(bases, base)
    return dense(rows, n_classes), dense(other, n_classes)


def dense(rows: Rows, n_classes: int) -> np.ndarray:
    edges, W = as_edges(rows), np.zeros((rows.start.size, n_classes), np.float32)
    W[edges.features, edges.classes] = edges.weights
    assert np.all(edges.weights != 0)
    return W


@settings(max_examples=150, deadline=None)
@given(problem=problems, step=st.sampled_from(STEPS))
def test_pa_learns_the_same_bits(problem, step):
    def plain(rows: Rows, instances: Instances, y: np.ndarray, *more) -> int:
        return update_pa(rows, instances, Labels(frozen(np.arange(y.size + 1)), y), *more, step)

    whole, joined = learn(problem, plain, lambda *given: update_pa_parted(*given, step))
    assert_array_equal(joined, whole)


@settings(max_examples=150, deadline=None)
@given(problem=problems)
def test_the_perceptron_learns_the_same_bits(problem):
    whole, joined = learn(problem, update_perceptron, update_perceptron_parted)
    assert_array_equal(joined, whole)


@pytest.fixture
def many(monkeypatch):
    """Twelve classes count as many, and features are in the matrix that a tenth of them meet."""
    monkeypatch.setattr(rows_module, "CACHED_CLASSES", 10)
    monkeypatch.setattr(ranking, "CACHED_CLASSES", 10)
    used = []
    monkeypatch.setattr(parts_module, "learn_in_parts", lambda *given: used.append(given) or learn_in_parts(*given))
    return used


@pytest.mark.parametrize("learner", [PA(passes=3, random_state=0), Perceptron(passes=3, random_state=0)])
def test_a_learner_of_many_classes_is_what_it_is_without_the_matrix(learner, many, monkeypatch):
    X, y = near_prototypes()
    parted = learner.fit(X, y).rank(X, 5), as_edges(learner.rows_)
    assert len(many) == 3
    monkeypatch.setattr(parts_module, "MET_SHARE", np.inf)
    monkeypatch.setattr(ranking, "KNOWN_SHARE_OF_MANY", np.inf)
    plain = learner.fit(X, y).rank(X, 5), as_edges(learner.rows_)
    assert len(many) == 3
    assert_array_equal(parted[0], plain[0])
    assert parted[1].weights.size == plain[1].weights.size
    assert_array_equal(*(dense(ranks_rows, 12) for ranks_rows in (rows_of(parted[1]), rows_of(plain[1]))))


def rows_of(edges) -> Rows:
    from harness.sdk.kernels.edges import as_rows

    return as_rows(edges)


def test_batches_go_on_where_the_last_one_ended(many, monkeypatch):
    X, y = near_prototypes(n=400)
    batched = PA().partial_fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
    assert len(many) == 2
    monkeypatch.setattr(parts_module, "MET_SHARE", np.inf)
    plain = PA().partial_fit(X[:200], y[:200]).partial_fit(X[200:], y[200:])
    assert_array_equal(dense(batched.rows_, 12), dense(plain.rows_, 12))


def test_several_labels_are_learned_as_ever(many):
    X, y = near_prototypes()
    Y = as_indicator(y).tolil()
    Y[0], Y[1] = 0, 0
    Y[0, [1, 2]] = 1  # two labels, none, and as many in all as there are rows
    PA(passes=1).fit(X, Y.tocsr())
    assert many == []
