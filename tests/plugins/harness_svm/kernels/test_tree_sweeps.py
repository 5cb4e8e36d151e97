"""Sweeps with the weights in a matrix, and ranking by a tree, compared with the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from harness_svm.structured.kernels.subproblem import IDLE
from harness_svm.structured.kernels.tree_sweeps import rank_by_tree, sweep_matrix
from index_of import index_of
from internals import empty_rows
from svm_definitions import Structured, instances_of, random_hierarchy, random_rows
from svm_sweeps import Sweeps

seeds = st.integers(0, 2**32 - 1)


def problem(seed: int, slack: bool = True, C: float = 1.0, n: int = 12) -> Structured:
    return Structured(*random_rows(seed, n, 5, 7), random_hierarchy(seed), C, slack)


@settings(max_examples=30)
@given(seed=seeds, slack=st.booleans(), C=st.sampled_from([0.1, 1.0, 10.0]))
def test_each_visit_matches_the_definition(seed, slack, C):
    sweeps = Sweeps(problem(seed, slack, C), sweep_matrix, sparse=False)
    for i in np.random.default_rng(seed).permutation(np.repeat(np.arange(12), 2)):
        sweeps.assert_a_visit_is_by_the_definition(int(i))


@settings(max_examples=20)
@given(seed=seeds, slack=st.booleans())
def test_a_row_near_its_optimum_is_skipped(seed, slack):
    sweeps = Sweeps(problem(seed, slack), sweep_matrix, sparse=False, tolerance=1e9)
    assert sweeps.visit(*range(12)) == 12
    assert not sweeps.b().any()
    assert not sweeps.kept().any()
    assert sweeps.violations.max() > 0


@pytest.mark.parametrize(("share", "moves"), [(0.9, True), (1.1, False)])
def test_a_row_is_skipped_up_to_a_share_of_the_tolerance(share, moves):
    task = problem(0)
    dearest = task.cost[0].max()  # the violation of the first row while all weights are 0
    sweeps = Sweeps(task, sweep_matrix, sparse=False, tolerance=share * dearest / IDLE)
    assert sweeps.visit(0) == 1
    assert sweeps.violations[0] == pytest.approx(dearest)
    assert sweeps.b().any() == moves


def test_one_call_with_many_rows_equals_one_call_per_row():
    at_once, singly = (Sweeps(problem(3), sweep_matrix, sparse=False) for _ in range(2))
    order = [4, 1, 1, 7, 0]
    assert at_once.visit(*order) == 5
    for i in order:
        singly.visit(i)
    assert_array_equal(at_once.b(), singly.b())
    assert_array_equal(at_once.kept(), singly.kept())


def test_without_space_for_new_duals_the_kernel_stops_before_changing_the_row():
    sweeps = Sweeps(problem(0), sweep_matrix, sparse=False)
    sweeps.assert_a_row_without_room_is_left_as_it_was(empty_rows(12, 10, np.float64), duals=True)


@settings(max_examples=40)
@given(seed=seeds, k=st.integers(1, 9))
def test_ranks_follow_the_scores_of_the_definition(seed, k):
    hierarchy = random_hierarchy(seed)
    rng = np.random.default_rng(seed)
    u = (rng.normal(size=(5, 7)) * (rng.random((5, 7)) < 0.7)).astype(np.float32)
    base = np.where(rng.random(7) < 0.3, -np.inf, rng.normal(size=7))
    X, _ = random_rows(seed, 9, 5, 7)
    w = np.sqrt(hierarchy.weight)[:, None] * (hierarchy.on_path().T @ u.astype(float).T)  # node by node
    scores = X @ (hierarchy.attributes() @ w).T + base
    ranked = rank_by_tree(index_of(u), hierarchy.kernel_tree(), instances_of(X), base, k)
    for row, s, x in zip(ranked, scores, X, strict=True):
        kept = row[row >= 0]
        assert kept.size == (min(k, np.isfinite(base).sum()) if x.any() else 0)
        assert np.all(row[kept.size :] == -1)
        assert_allclose(s[kept], -np.sort(-s)[: kept.size], atol=1e-5)


def test_ties_are_ranked_by_position():
    hierarchy = random_hierarchy(1)
    ranked = rank_by_tree(
        index_of(np.zeros((5, 7))), hierarchy.kernel_tree(), instances_of(np.ones((1, 5))), np.zeros(7), 7
    )
    assert ranked.tolist() == [[0, 1, 2, 3, 4, 5, 6]]
