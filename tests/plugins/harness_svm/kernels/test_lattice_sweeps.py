"""Sweeps and ranking in a lattice, whose nodes may have several parents, compared with the definition."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from harness_svm.structured.kernels.lattice_sweeps import rank_by_lattice, sum_up_lattice, sweep_lattice
from harness_svm.structured.kernels.lattice_sweeps_sparse import sweep_lattice_rows
from harness_svm.structured.solver import class_paths, pair_costs
from index_of import index_of
from internals import empty_rows
from svm_definitions import LatticeHierarchy, Structured, instances_of, random_hierarchy, random_lattice, random_rows
from svm_sweeps import Sweeps

seeds = st.integers(0, 2**32 - 1)


def problem(seed: int, slack: bool = True, C: float = 1.0, n: int = 12) -> Structured:
    return Structured(*random_rows(seed, n, 5, 7), random_lattice(seed), C, slack)


def test_the_drawn_lattices_have_nodes_with_several_parents_that_change_the_costs():
    lattices = [random_lattice(seed) for seed in range(20)]
    assert sum(bool(lattice.more) for lattice in lattices) > 15
    trees = [random_hierarchy(seed) for seed in range(20)]
    assert any(not np.allclose(one.costs(), other.costs()) for one, other in zip(lattices, trees, strict=True))


@given(seed=seeds)
def test_nodes_and_costs_match_the_definition(seed):
    hierarchy = random_lattice(seed)
    lattice = hierarchy.lattice()
    assert_array_equal(class_paths(lattice).toarray() > 0, hierarchy.on_path())
    one, other = np.divmod(np.arange(49), 7)
    assert_allclose(pair_costs(lattice, one, other), hierarchy.costs().ravel(), atol=1e-12)


@settings(max_examples=40)
@given(seed=seeds, slack=st.booleans(), C=st.sampled_from([0.1, 1.0, 10.0]))
def test_each_visit_matches_the_definition(seed, slack, C):
    sweeps = Sweeps(problem(seed, slack, C), sweep_lattice, sparse=False)
    for i in np.random.default_rng(seed).permutation(np.repeat(np.arange(12), 2)):
        sweeps.assert_a_visit_is_by_the_definition(int(i))


@settings(max_examples=30)
@given(seed=seeds, slack=st.booleans(), C=st.sampled_from([0.1, 1.0, 10.0]))
def test_each_visit_with_the_weights_in_an_index_matches_the_definition(seed, slack, C):
    sweeps = Sweeps(problem(seed, slack, C), sweep_lattice_rows, sparse=True)
    for i in np.random.default_rng(seed).permutation(np.repeat(np.arange(12), 2)):
        sweeps.assert_a_visit_is_by_the_definition(int(i), atol=1e-4)


@pytest.mark.parametrize(("kernel", "sparse"), [(sweep_lattice, False), (sweep_lattice_rows, True)])
def test_without_space_for_new_duals_the_kernel_stops_before_changing_the_row(kernel, sparse):
    sweeps = Sweeps(problem(0), kernel, sparse=sparse)
    sweeps.assert_a_row_without_room_is_left_as_it_was(empty_rows(12, 10, np.float64), duals=True)


def test_without_space_for_new_edges_the_kernel_stops_before_changing_the_row():
    sweeps = Sweeps(problem(0), sweep_lattice_rows, sparse=True)
    sweeps.assert_a_row_without_room_is_left_as_it_was(empty_rows(5, 3), duals=False)


@settings(max_examples=20)
@given(seed=seeds, slack=st.booleans())
def test_the_stored_vectors_are_the_sum_of_the_duals(seed, slack):
    sweeps = Sweeps(problem(seed, slack), sweep_lattice, sparse=False)
    sweeps.visit(*range(12))
    instances, _, labels = sweeps.given
    u = np.zeros((5, 7))
    sum_up_lattice(instances, labels, sweeps.meant[0], slack, sweeps.duals, *sweeps.space, u)
    assert_allclose(u, sweeps.problem.u(sweeps.b()), atol=1e-9)
    sweeps.assert_at_rest()


@settings(max_examples=40)
@given(seed=seeds, k=st.integers(1, 9))
def test_ranks_follow_the_scores_of_the_definition(seed, k):
    hierarchy = random_lattice(seed)
    rng = np.random.default_rng(seed)
    u = (rng.normal(size=(5, 7)) * (rng.random((5, 7)) < 0.7)).astype(np.float32)
    base = np.where(rng.random(7) < 0.3, -np.inf, rng.normal(size=7))
    X, _ = random_rows(seed, 9, 5, 7)
    w = np.sqrt(hierarchy.weight)[:, None] * (hierarchy.on_path().T @ u.astype(float).T)  # node by node
    scores = X @ (hierarchy.attributes() @ w).T + base
    ranked = rank_by_lattice(index_of(u), hierarchy.lattice(), instances_of(X), base, k)
    for row, s, x in zip(ranked, scores, X, strict=True):
        kept = row[row >= 0]
        n_ranked = min(k, int(np.isfinite(base).sum())) if x.any() else 0
        assert kept.size == n_ranked
        assert_allclose(s[kept], np.sort(s)[::-1][:n_ranked], atol=1e-5)


@pytest.mark.parametrize("slack", [True, False])
def test_a_tree_as_a_lattice_has_the_same_optimum(slack):
    tree = random_hierarchy(5)
    lattice = LatticeHierarchy(tree.parent, tree.leaf, tree.weight, tree.missed, tree.false)
    rows = random_rows(5, 12, 5, 7)
    sweeps = Sweeps(Structured(*rows, lattice, 1.0, slack), sweep_lattice, sparse=False)
    for _ in range(200):
        sweeps.visit(*range(12))
    plain = Structured(*rows, tree, 1.0, slack)
    assert max(plain.violation(sweeps.b(), i) for i in range(12)) < 1e-4
