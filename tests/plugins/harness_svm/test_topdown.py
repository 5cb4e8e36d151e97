"""Top-down trees from files: a tree whose descent would leave its arrays is rejected."""

from __future__ import annotations

import numpy as np
import pytest

from harness_svm import TopDownSVM
from harness_svm.topdown.classifier import check_branches
from messages import naming


@pytest.fixture(scope="module")
def branches(data, tree):
    X, y = data()
    return TopDownSVM(random_state=0).fit(X, y, taxonomy=tree).branches_


def moved(values, place, by=1):
    changed = values.copy()
    changed[place] += by
    return changed


def test_a_learned_tree_is_valid(branches):
    check_branches(branches, 6)


@pytest.mark.parametrize("name", ["child", "first", "edge"])
def test_ranges_that_end_beyond_their_array_are_rejected(branches, name):
    array = getattr(branches, name)
    with pytest.raises(ValueError, match=naming("branches_")):
        check_branches(branches._replace(**{name: moved(array, -1)}), 6)


@pytest.mark.parametrize("name", ["child", "first", "edge"])
def test_ranges_with_decreasing_bounds_are_rejected(branches, name):
    array = getattr(branches, name).copy()
    array[1] = array[-1]
    array[2] = array[-1] - 1
    with pytest.raises(ValueError, match=naming("branches_")):
        check_branches(branches._replace(**{name: array}), 6)


def test_an_edge_to_one_node_past_the_last_is_rejected(branches):
    children = branches.children.copy()
    children[0] = branches.own.size
    with pytest.raises(ValueError, match=naming("branches_")):
        check_branches(branches._replace(children=children), 6)


def test_a_node_that_is_its_own_child_is_rejected(branches):
    child = branches.child.copy()
    child[0] = 0
    with pytest.raises(ValueError, match=naming("branches_")):
        check_branches(branches._replace(child=child), 6)


def test_an_unknown_class_or_an_inner_node_without_children_is_rejected(branches):
    with pytest.raises(ValueError, match="branches_ leads nowhere"):
        check_branches(branches, 5)
    leaf = int(np.flatnonzero(branches.own >= 0)[-1])
    own = branches.own.copy()
    own[leaf] = -1
    with pytest.raises(ValueError, match="branches_"):
        check_branches(branches._replace(own=own), 6)


@pytest.mark.parametrize("name", ["own", "base", "first", "children", "weights"])
def test_arrays_of_the_wrong_length_are_rejected(branches, name):
    with pytest.raises(ValueError, match="branches_"):
        check_branches(branches._replace(**{name: getattr(branches, name)[:-1]}), 6)
