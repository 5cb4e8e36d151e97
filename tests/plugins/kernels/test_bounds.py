"""An index in two parts ranks bit-identically to the whole index and reads as little of the matrix as possible."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal

from harness.sdk import as_instances
from index_of import index_of
from internals import (
    are_many,
    as_edges,
    change,
    join,
    part,
    patch_internal,
    pick_frequent,
    rank_all_classes,
    rank_bounded,
    rank_by_index,
    score,
    search_best,
    slack_of,
    space_for,
    worth_a_matrix,
)

seeds = st.integers(0, 2**32 - 1)
VALUES = st.sampled_from([0.0, 0.0, 0.1, 0.2, 0.3, 0.7, 1.0, -0.1, -0.3, 3.0]).map(lambda x: float(np.float32(x)))
"""Sums of these depend on the order in their last bits, and many are equal but for it."""


@st.composite
def problems(draw):
    """Draw rows, weights (in some cases for more classes than a block has), a base, and matrix features."""
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
def test_ties_and_last_bit_differences_rank_as_in_the_whole_index(problem, k):
    X, W, base, features = problem
    instances = as_instances(X)
    expected = rank_by_index(index_of(W), instances, base, k)
    assert_array_equal(rank_bounded(index_of(W), features, instances, base, k), expected)


def textlike(seed: int, n_classes: int = 200) -> tuple[np.ndarray, np.ndarray]:
    """Return positive rows near one class each; the first features are known to all classes with small values."""
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
    """Return the classes of each row for which the matrix is read."""
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


@settings(max_examples=50, deadline=None)
@given(seed=seeds, k=st.integers(1, 6))
def test_a_matrix_read_in_steps_ranks_as_the_whole_index(seed, k):
    X, W = textlike(seed)
    expected = rank_by_index(index_of(W), as_instances(X), np.zeros(200), k)
    assert_array_equal(rank_bounded(index_of(W), np.arange(40), as_instances(X), np.zeros(200), k), expected)


def test_steps_exclude_classes_that_the_lengths_of_the_rows_leave_in_doubt():
    X, W = textlike(0)
    sizes = [len(classes) for classes in doubtful(X, W, np.arange(40), 1)]
    assert np.median(sizes) < 100  # of 200 classes, none of which has a part of its score outside of the matrix


@settings(max_examples=30, deadline=None)
@given(seed=seeds, k=st.integers(1, 5))
def test_every_top_ranked_class_is_among_the_candidates(seed, k):
    X, W = textlike(seed)
    best = np.argsort(-(X.astype(float) @ W.astype(float)), axis=1)[:, :k]
    for classes, first in zip(doubtful(X, W, np.arange(10), k), best, strict=True):
        assert classes >= set(first.tolist())


def test_a_negative_value_makes_every_class_a_candidate():
    X, W = textlike(0)
    X[:, 0] = -1
    assert all(len(classes) == 200 for classes in doubtful(X, W, np.arange(10), 1))


@settings(max_examples=100, deadline=None)
@given(problem=problems())
def test_an_index_in_two_parts_restores_the_same_index(problem):
    _, W, _, features = problem
    left, frequent = part(index_of(W), features, W.shape[1])
    assert not left.length[features].any()
    for before, after in zip(as_edges(index_of(W)), as_edges(join(left, frequent)), strict=True):
        assert_array_equal(after, before)


@settings(max_examples=100, deadline=None)
@given(seed=seeds, n_changes=st.integers(0, 300))
def test_no_length_bound_is_below_the_norm_of_the_positive_weights(seed, n_changes):
    rng = np.random.default_rng(seed)
    _, frequent = part(index_of(rng.normal(size=(6, 4))), np.arange(6), 4)
    for _ in range(n_changes):
        place, c = np.uint32(rng.integers(6)), np.uint32(rng.integers(4))
        back = -float(frequent.weights[place, c])
        change(frequent, place, c, back if rng.random() < 0.5 else float(rng.normal() * 10.0 ** rng.integers(-6, 3)))
    true = np.linalg.norm(np.maximum(frequent.weights.astype(np.longdouble), 0), axis=0)
    assert np.all(frequent.lengths >= true)
    assert np.all(frequent.lengths <= true + 1e-4 * (1 + n_changes))


def test_the_cost_model_selects_when_a_matrix_pays(monkeypatch):
    patch_internal(monkeypatch, "rows.CACHED_CLASSES", 100)
    X, W = textlike(0)
    rows = index_of(W)
    assert_array_equal(np.sort(worth_a_matrix(rows, as_instances(X), 200, 1)), np.arange(10))
    assert worth_a_matrix(rows, as_instances(X[:2]), 200, 1).size == 0  # it would be read twice at most
    patch_internal(monkeypatch, "rows.CACHED_CLASSES", 200)
    assert worth_a_matrix(rows, as_instances(X), 200, 1).size == 0


def test_a_matrix_that_pays_is_used_and_ranks_equally(monkeypatch):
    X, W = textlike(1)
    plain = rank_all_classes(index_of(W), as_instances(X), np.zeros(200), 3)
    patch_internal(monkeypatch, "rows.CACHED_CLASSES", 100)
    used = []
    patch_internal(monkeypatch, "rank_bounded", lambda *given: used.append(given) or rank_bounded(*given))
    assert_array_equal(rank_all_classes(index_of(W), as_instances(X), np.zeros(200), 3), plain)
    assert len(used) == 1


@pytest.mark.parametrize(
    ("classes", "many"),
    [(np.arange(4097), True), (np.arange(4096), False), (np.array([3, 4096]), True), (np.array(["a"]), False)],
)
def test_classes_count_as_many_by_number_or_by_weights(classes, many):
    assert are_many(classes) is many


@pytest.mark.parametrize("features", [[0], [1, 3], [0, 1, 2]])
def test_sums_of_equal_terms_rank_by_the_rounding_of_the_feature_order(features):
    rng = np.random.default_rng(0)
    orders = np.array([rng.permutation(5) for _ in range(60)])
    weights = 10.0 ** rng.uniform(-4, 0, 5)  # magnitudes so far apart that sums of products are rounded
    W = weights[orders].T.astype(np.float32)  # each class has the same terms in another order
    instances = as_instances(np.full((1, 5), 0.1, np.float32))
    expected = rank_by_index(index_of(W), instances, np.zeros(60), 6)
    assert_array_equal(rank_bounded(index_of(W), np.array(features), instances, np.zeros(60), 6), expected)
