"""Sweeps along a tree with the weights in an index, compared with the definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from harness_svm.structured.kernels.subproblem import RELUCTANCE
from harness_svm.structured.kernels.tree_sweeps_sparse import sweep_tree_rows
from internals import empty_rows
from svm_definitions import Structured, random_hierarchy, random_rows
from svm_sweeps import Sweeps

seeds = st.integers(0, 2**32 - 1)


def problem(seed: int, slack: bool = True, C: float = 1.0) -> Structured:
    return Structured(*random_rows(seed, 12, 5, 7), random_hierarchy(seed), C, slack)


@settings(max_examples=30)
@given(seed=seeds, slack=st.booleans(), C=st.sampled_from([0.1, 1.0]))
def test_each_visit_matches_the_definition(seed, slack, C):
    sweeps = Sweeps(problem(seed, slack, C), sweep_tree_rows, sparse=True, tolerance=1e-4)
    for i in np.random.default_rng(seed).permutation(np.repeat(np.arange(12), 2)):
        sweeps.assert_a_visit_is_by_the_definition(int(i), atol=1e-5)  # the weights are stored in float32


@settings(max_examples=20)
@given(seed=seeds, slack=st.booleans())
def test_a_row_with_gradient_differences_below_the_reluctance_is_skipped(seed, slack):
    task = problem(seed, slack)
    none = np.zeros((12, 7))
    wrong = np.array([task.violation(none, i) for i in range(12)])
    sweeps = Sweeps(task, sweep_tree_rows, sparse=True, tolerance=np.median(wrong) / RELUCTANCE)
    for i in range(12):
        sweeps.visit(i)
        if task.violation(none, i) <= np.median(wrong) - 1e-9 and not sweeps.kept().any():
            assert not sweeps.b()[i].any()


def test_without_space_for_new_duals_the_kernel_stops_before_changing_the_row():
    sweeps = Sweeps(problem(0), sweep_tree_rows, sparse=True)
    sweeps.assert_a_row_without_room_is_left_as_it_was(empty_rows(12, 10, np.float64), duals=True)


def test_without_space_for_new_weights_the_kernel_stops_before_changing_the_row():
    sweeps = Sweeps(problem(0), sweep_tree_rows, sparse=True)
    sweeps.assert_a_row_without_room_is_left_as_it_was(empty_rows(5, 2), duals=False)
