"""An index in two parts ranks as the whole one does, to the last bit, and reads no more of the matrix than it must."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

from harness.sdk import ranking
from harness.sdk.kernels import rows as rows_module
from harness.sdk.kernels.bounded_ranking import rank_bounded
from harness.sdk.kernels.bounds import pick_frequent, search_best, slack_of, space_for
from harness.sdk.kernels.edges import as_edges
from harness.sdk.kernels.frequent import change, join, part
from harness.sdk.kernels.instances import as_instances
from harness.sdk.kernels.ranking import rank_by_index
from harness.sdk.kernels.scoring import score
from index_of import index_of

seeds = st.integers(0, 2**32 - 1)
VALUES = st.sampled_from([0.0, 0.0, 0.1, 0.2, 0.3, 0.7, 1.0, -0.1, -0.3, 3.0]).map(lambda x: float(np.float32(x)))
"""Sums of these depend on the order in their last bits, and many are equal but for it."""


@st.composite
def problems(draw):
    """Rows, weights of more classes than a block has in some cases, a base, and the features for the matrix."""
    n_features, n_classes = draw(st.integers(1, 7)), draw(st.sampled_from([1, 2, 5, 70]))
    X = draw(hnp.arrays(np.float32, (4, n_features), elements=VALUES))
    W = draw(hnp.arrays(np.float32, (n_features, n_classes), elements=VALUES))
    base = draw(hnp.arrays(np.float64, n_classes, elements=st.sampled_from([0.0, 0.0, 0.3, -np.inf])))
    chosen = draw(hnp.arrays(np.bool_, n_features))
    if draw(st.booleans()):
        X = np.abs(X)
    return X, W, base, np.flatnonzero(chosen)


@settings(max_examples=300, deadline=None)
@given(problem=problems(), k=st.integers(1, 6))
def test_ties_and_sums_that_differ_in_their_last_bit_rank_as_in_the_whole_index(problem, k):
    X, W, base, features = problem
    instances = as_instances(X)
    expected = rank_by_index(index_of(W), instances, base, k)
    assert_array_equal(rank_bounded(index_of(W), features, instances, base, k), expected)


def textlike(seed: int, n_classes: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Rows with values above 0, near one class each; the first features know all classes, and have small values."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(40, n_classes))
    W[:10] *= 0.05
    W[10:] *= rng.random((30, n_classes)) < 0.1
    X = np.abs(rng.normal(size=(20, 40))) * (rng.random((20, 40)) < 0.5)
    X[:, :10] *= 0.2
    return X.astype(np.float32), W.astype(np.float32)


@settings(max_examples=50, deadline=None)
@given(seed=seeds, k=st.integers(1, 6))
def test_many_classes_rank_as_in_the_whole_index(seed, k):
    X, W = textlike(seed)
    expected = rank_by_index(index_of(W), as_instances(X), np.zeros(200), k)
    assert_array_equal(rank_bounded(index_of(W), np.arange(10), as_instances(X), np.zeros(200), k), expected)


def doubtful(X: np.ndarray, W: np.ndarray, features: np.ndarray, k: int) -> list[set[int]]:
    """The classes of each row for which the matrix is read."""
    instances, base = as_instances(X), np.zeros(W.shape[1])
    left, frequent = part(index_of(W), features, W.shape[1])
    found = []
    for i in range(X.shape[0]):
        span = slice(instances.indptr[i], instances.indptr[i + 1])
        values, search = instances.data[span], space_for(instances, W.shape[1], k)
        score(left, instances, i, base, search.scores)
        n, reach = pick_frequent(frequent, instances.indices[span], values, search)
        m = search_best(frequent, search, n, reach, slack_of(values, np.abs(W).max(), 0.0))
        found.append(set(search.doubtful[: int(m)].tolist()))
    return found


def test_the_matrix_is_read_for_few_classes_where_it_adds_little():
    X, W = textlike(0)
    sizes = [len(classes) for classes in doubtful(X, W, np.arange(10), 1)]
    assert np.median(sizes) <= 10
    assert max(sizes) < 100


@settings(max_examples=30, deadline=None)
@given(seed=seeds, k=st.integers(1, 5))
def test_every_class_among_the_best_is_in_doubt(seed, k):
    X, W = textlike(seed)
    best = np.argsort(-(X.astype(float) @ W.astype(float)), axis=1)[:, :k]
    for classes, first in zip(doubtful(X, W, np.arange(10), k), best, strict=True):
        assert classes >= set(first.tolist())


def test_a_value_below_zero_leaves_every_class_in_doubt():
    X, W = textlike(0)
    X[:, 0] = -1
    assert all(len(classes) == 200 for classes in doubtful(X, W, np.arange(10), 1))


@settings(max_examples=100, deadline=None)
@given(problem=problems())
def test_an_index_in_two_parts_is_the_same_index_again(problem):
    _, W, _, features = problem
    left, frequent = part(index_of(W), features, W.shape[1])
    assert not left.length[features].any()
    for before, after in zip(as_edges(index_of(W)), as_edges(join(left, frequent)), strict=True):
        assert_array_equal(after, before)


@settings(max_examples=100, deadline=None)
@given(seed=seeds, n_changes=st.integers(0, 300))
def test_no_length_is_below_that_of_the_weights_above_zero(seed, n_changes):
    rng = np.random.default_rng(seed)
    _, frequent = part(index_of(rng.normal(size=(6, 4))), np.arange(6), 4)
    for _ in range(n_changes):
        place, c = np.uint32(rng.integers(6)), np.uint32(rng.integers(4))
        back = -float(frequent.weights[place, c])
        change(frequent, place, c, back if rng.random() < 0.5 else float(rng.normal() * 10.0 ** rng.integers(-6, 3)))
    true = np.linalg.norm(np.maximum(frequent.weights.astype(np.longdouble), 0), axis=0)
    assert np.all(frequent.lengths >= true)
    assert np.all(frequent.lengths <= true + 1e-4 * (1 + n_changes))


def test_it_is_known_when_a_matrix_pays(monkeypatch):
    monkeypatch.setattr(rows_module, "CACHED_CLASSES", 100)
    X, W = textlike(0)
    rows = index_of(W)
    assert_array_equal(np.sort(ranking.worth_a_matrix(rows, as_instances(X), 200, 1)), np.arange(10))
    assert ranking.worth_a_matrix(rows, as_instances(X[:2]), 200, 1).size == 0  # it would be read twice at most
    monkeypatch.setattr(rows_module, "CACHED_CLASSES", 200)
    assert ranking.worth_a_matrix(rows, as_instances(X), 200, 1).size == 0


def test_a_matrix_that_pays_is_used_and_ranks_alike(monkeypatch):
    X, W = textlike(1)
    plain = ranking.rank_all_classes(index_of(W), as_instances(X), np.zeros(200), 3)
    monkeypatch.setattr(rows_module, "CACHED_CLASSES", 100)
    used = []
    monkeypatch.setattr(
        "harness.sdk.kernels.bounded_ranking.rank_bounded", lambda *given: used.append(given) or rank_bounded(*given)
    )
    assert_array_equal(ranking.rank_all_classes(index_of(W), as_instances(X), np.zeros(200), 3), plain)
    assert len(used) == 1


@pytest.mark.parametrize(
    ("classes", "many"),
    [(np.arange(4097), True), (np.arange(4096), False), (np.array([3, 4096]), True), (np.array(["a"]), False)],
)
def test_classes_are_many_by_their_number_or_by_their_numbers(classes, many):
    assert ranking.are_many(classes) is many


@pytest.mark.parametrize("features", [[0], [1, 3], [0, 1, 2]])
def test_sums_of_equal_terms_rank_by_the_rounding_of_the_order_of_the_features(features):
    rng = np.random.default_rng(0)
    orders = np.array([rng.permutation(5) for _ in range(60)])
    weights = 10.0 ** rng.uniform(-4, 0, 5)  # so far apart that sums of their products are rounded
    W = weights[orders].T.astype(np.float32)  # each class has the same ones, in another order
    instances = as_instances(np.full((1, 5), 0.1, np.float32))
    expected = rank_by_index(index_of(W), instances, np.zeros(60), 6)
    assert_array_equal(rank_bounded(index_of(W), np.array(features), instances, np.zeros(60), 6), expected)
