"""Trees of choices from files: one that would be left on the way down is refused."""

from __future__ import annotations

import numpy as np
import pytest

from harness_svm import TopDownSVM
from harness_svm.topdown import check_branches


@pytest.fixture(scope="module")
def branches(data, tree):
    X, y = data()
    return TopDownSVM(random_state=0).fit(X, y, taxonomy=tree).branches_


def moved(values, place, by=1):
    changed = values.copy()
    changed[place] += by
    return changed


def test_what_was_learned_is_sound(branches):
    check_branches(branches, 6)


@pytest.mark.parametrize("name", ["child", "first", "edge"])
def test_stretches_that_end_beyond_their_array_are_refused(branches, name):
    array = getattr(branches, name)
    with pytest.raises(ValueError, match="branches_ is no tree"):
        check_branches(branches._replace(**{name: moved(array, -1)}), 6)


@pytest.mark.parametrize("name", ["child", "first", "edge"])
def test_stretches_that_run_backwards_are_refused(branches, name):
    array = getattr(branches, name).copy()
    array[1] = array[-1]
    array[2] = array[-1] - 1
    with pytest.raises(ValueError, match="branches_ is no tree"):
        check_branches(branches._replace(**{name: array}), 6)


def test_an_edge_to_the_first_node_behind_the_last_is_refused(branches):
    children = branches.children.copy()
    children[0] = branches.own.size
    with pytest.raises(ValueError, match="branches_ is no tree"):
        check_branches(branches._replace(children=children), 6)


def test_a_node_among_its_own_children_is_refused(branches):
    child = branches.child.copy()
    child[0] = 0
    with pytest.raises(ValueError, match="branches_ is no tree"):
        check_branches(branches._replace(child=child), 6)


def test_a_class_that_there_is_not_and_an_inner_node_without_children_are_refused(branches):
    with pytest.raises(ValueError, match="branches_ leads nowhere"):
        check_branches(branches, 5)
    leaf = int(np.flatnonzero(branches.own >= 0)[-1])
    own = branches.own.copy()
    own[leaf] = -1
    with pytest.raises(ValueError, match="branches_"):
        check_branches(branches._replace(own=own), 6)


@pytest.mark.parametrize("name", ["own", "base", "first", "children", "weights"])
def test_arrays_of_another_length_are_refused(branches, name):
    with pytest.raises(ValueError, match="branches_"):
        check_branches(branches._replace(**{name: getattr(branches, name)[:-1]}), 6)
