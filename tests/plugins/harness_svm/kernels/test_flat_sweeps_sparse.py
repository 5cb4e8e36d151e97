"""Sweeps of Crammer and Singer's machine with the weights in an index, compared with the definition."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from harness_svm.structured.kernels.flat_sweeps import sweep_flat
from harness_svm.structured.kernels.flat_sweeps_sparse import sweep_flat_rows
from internals import empty_rows
from svm_definitions import Structured, flat_hierarchy, random_rows
from svm_sweeps import Sweeps

seeds = st.integers(0, 2**32 - 1)


def problem(seed: int, C: float = 1.0) -> Structured:
    return Structured(*random_rows(seed, 12, 5, 7), flat_hierarchy(7), C, False)


@settings(max_examples=30)
@given(seed=seeds, C=st.sampled_from([0.1, 1.0]))
def test_each_visit_matches_the_definition(seed, C):
    sweeps = Sweeps(problem(seed, C), sweep_flat_rows, sparse=True, tolerance=1e-4)
    for i in np.random.default_rng(seed).permutation(np.repeat(np.arange(12), 2)):
        sweeps.assert_a_visit_is_by_the_definition(int(i), atol=1e-5)  # the weights are stored in float32


@settings(max_examples=20)
@given(seed=seeds)
def test_the_index_gives_the_weights_of_the_matrix_if_no_class_is_excluded(seed):
    matrix = Sweeps(problem(seed), sweep_flat, sparse=False, tolerance=1e-6)
    index = Sweeps(problem(seed), sweep_flat_rows, sparse=True, tolerance=1e-6)
    for i in range(12):
        matrix.visit(i)
        index.visit(i)
    assert_allclose(index.b(), matrix.b(), atol=1e-4)
    assert_allclose(index.kept(), matrix.kept(), atol=1e-4)


def test_new_duals_must_improve_the_objective_enough():
    X, y = np.ones((1, 2)), np.array([0])
    task = Structured(X, y, flat_hierarchy(5), 10.0, False)
    eager, reluctant = (Sweeps(task, sweep_flat_rows, sparse=True, tolerance=t) for t in (1e-9, 3.9))
    assert eager.visit(0) == reluctant.visit(0) == 1
    assert np.count_nonzero(eager.b()) == 4  # all other classes are equally good
    assert np.count_nonzero(reluctant.b()) == 1  # with a larger reluctance one new dual is enough


def test_without_space_for_new_duals_the_kernel_stops_before_changing_the_row():
    sweeps = Sweeps(problem(0), sweep_flat_rows, sparse=True)
    sweeps.assert_a_row_without_room_is_left_as_it_was(empty_rows(12, 10, np.float64), duals=True)


def test_without_space_for_new_weights_the_kernel_stops_before_changing_the_row():
    sweeps = Sweeps(problem(0), sweep_flat_rows, sparse=True)
    sweeps.assert_a_row_without_room_is_left_as_it_was(empty_rows(5, 2), duals=False)
