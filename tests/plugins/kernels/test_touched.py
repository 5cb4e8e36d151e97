"""Touched classes: scores equal a dense product for each summation order, and only touched classes are ranked."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.sdk import as_instances
from internals import MOST_EDGES, Rows, append, empty_rows, empty_space, rank_touched, touch
from internals import choose_touched as choose


def index(seed: int, n_features: int, n_classes: int, most_edges: int) -> tuple[Rows, np.ndarray]:
    """Return rows of positive weights, many equal, in decreasing order."""
    rng = np.random.default_rng(seed)
    rows, W = empty_rows(n_features, 10_000), np.zeros((n_features, n_classes))
    for f in range(n_features):
        classes = rng.choice(n_classes, min(n_classes, int(rng.integers(0, most_edges + 1))), replace=False)
        weights = np.sort(rng.choice([0.25, 0.5, 1.0, 1e-30], classes.size))[::-1]
        for c, weight in zip(classes, weights, strict=True):
            append(rows, np.uint32(f), np.uint32(c), weight)
            W[f, c] = np.float32(weight)
    return rows, W


cases = st.tuples(st.integers(0, 2**32 - 1), st.integers(1, 8), st.sampled_from([1, 3, 20, 300]), st.integers(0, 9))


@settings(max_examples=60)
@given(case=cases)
def test_scores_equal_a_dense_product_and_each_touched_class_is_listed_once(case):
    rows, W = index(*case)
    x = np.random.default_rng(case[0]).choice([0.0, 0.5, 1.0, 1e-20], W.shape[0]).astype(np.float32)
    instances, space = as_instances(x[None]), empty_space(W.shape[1])
    touched = space.touched[: touch(rows, instances.indices, instances.data, MOST_EDGES, space)]
    np.testing.assert_allclose(space.scores, x.astype(np.float64) @ W, rtol=1e-12)
    assert np.unique(touched).size == touched.size
    assert set(np.flatnonzero(space.scores)) <= set(touched.tolist())


@settings(max_examples=60)
@given(case=cases, k=st.integers(1, 12), degree=st.sampled_from([0, 1, 3]), weighed=st.booleans())
def test_ranks_are_the_start_of_a_full_sort_of_touched_classes(case, k, degree, weighed):
    rows, W = index(*case)
    rng = np.random.default_rng(case[0])
    X = rng.choice([0.0, 0.5, 1.0], (5, W.shape[0])).astype(np.float32)
    factors = rng.choice([0.5, 1.0], W.shape[0]) if weighed else np.empty(0)
    if degree:
        for f, (start, length) in enumerate(zip(rows.start.tolist(), rows.length.tolist(), strict=True)):
            W[f, rows.classes[start + degree : start + max(degree, length)]] = 0
    scores = X.astype(np.float64) @ (W * factors[:, None] if weighed else W)
    ranked = rank_touched(rows, as_instances(X), factors, k, n_classes=W.shape[1], degree=degree)
    for s, got in zip(scores, ranked, strict=True):
        order = np.lexsort((np.arange(s.size), -s))
        order = order[s[order] > 0][:k]
        assert got.tolist() == [*order.tolist(), *[-1] * (k - order.size)]


@settings(max_examples=60)
@given(
    scores=st.lists(st.sampled_from([0.0, 0.5, 1.0, 2.0]), max_size=30),
    k=st.integers(0, 5),
    floor=st.sampled_from([0.0, 0.5]),
    seed=st.integers(0, 99),
)
def test_the_choice_does_not_depend_on_the_order_of_the_list(scores, k, floor, seed):
    s, chosen = np.array(scores), np.full(k, -7, np.int32)
    touched = np.random.default_rng(seed).permutation(s.size).astype(np.uint32)
    size = choose(s, touched, floor, chosen)
    expected = [c for c in np.lexsort((np.arange(s.size), -s)) if s[c] > floor][:k]
    assert chosen[:size].tolist() == expected
