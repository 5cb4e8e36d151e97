"""Label trees compared with an exhaustive search in plain Python; clusters, several labels, files."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from harness import HarnessError
from harness.sdk import Labels
from harness_svm import LabelTree
from harness_svm.hierarchy import cluster
from harness_svm.topdown.kernels.beam import VACANT, feature_slots
from messages import naming

SHARED = settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
SMALL = {"trees": 1, "fanout": 2, "leaf_classes": 3, "prune": 0.0, "random_state": 0}


def paths(branches, x):
    """Return by node the sum of -max(0, 1 - score)^2 from the root; an only child scores 0."""
    path = np.zeros(branches.own.size)
    for z in np.flatnonzero(branches.own < 0):  # parents precede their children
        children = np.arange(branches.child[z], branches.child[z + 1])
        scores = branches.base[children].copy()
        for place in range(branches.first[z], branches.first[z + 1]):
            for e in range(branches.edge[place], branches.edge[place + 1]):
                scores[branches.children[e] - children[0]] += x[branches.features[place]] * branches.weights[e]
        short = np.maximum(0, 1 - scores) if children.size > 1 else 0.0
        path[children] = path[z] - short**2
    return path


def follow(branches, path, beam):
    """Return the leaves reached when the best inner nodes of each level are expanded."""
    ways, met = [0], []
    while ways:
        children = [c for z in ways for c in range(branches.child[z], branches.child[z + 1])]
        met += [c for c in children if branches.own[c] >= 0]
        ways = sorted((c for c in children if branches.own[c] < 0), key=lambda c: -path[c])[:beam]
    return met


@SHARED
@given(seed=st.integers(0, 2**32 - 1), beam=st.sampled_from([1, 2, 8]), fanout=st.sampled_from([2, 4]))
def test_ranks_equal_a_beam_search_by_the_definition(data, seed, beam, fanout):
    X, y = data(seed, n=150, n_classes=12)
    fitted = LabelTree(beam=beam, **SMALL | {"fanout": fanout}).fit(X, y)
    ranked = fitted.rank(X, 2)
    for x, found in zip(X.toarray().astype(np.float64), ranked, strict=True):
        path = paths(fitted.branches_, x)
        met = follow(fitted.branches_, path, max(beam, 2))
        best = sorted((path[c] for c in met), reverse=True)[:2]
        leaf_of = {int(fitted.branches_.own[c]): c for c in met}
        assert [path[leaf_of[int(c)]] for c in found] == pytest.approx(best, abs=1e-5)


@SHARED
@given(seed=st.integers(0, 2**32 - 1))
def test_a_beam_as_wide_as_the_tree_ranks_all_classes_by_path_score(data, seed):
    X, y = data(seed, n=150, n_classes=12)
    fitted = LabelTree(beam=12, **SMALL).fit(X, y)
    ranked = fitted.rank(X, 12)
    assert_array_equal(np.sort(ranked, axis=1), np.tile(np.arange(12), (len(y), 1)))
    leaves = np.flatnonzero(fitted.branches_.own >= 0)
    for x, found in zip(X.toarray().astype(np.float64)[:20], ranked, strict=False):
        by_class = dict(zip(fitted.branches_.own[leaves].tolist(), paths(fitted.branches_, x)[leaves], strict=True))
        assert np.all(np.diff([by_class[c] for c in found.tolist()]) <= 1e-5)


@SHARED
@given(seed=st.integers(0, 2**32 - 1), n_classes=st.integers(2, 40), fanout=st.sampled_from([2, 4, 8]))
def test_clusters_contain_each_class_once_and_have_similar_size(seed, n_classes, fanout):
    random = np.random.default_rng(seed)
    X = csr_array(random.random((n_classes, 6)).astype(np.float32))
    labels = Labels(np.arange(n_classes + 1), np.arange(n_classes, dtype=np.int32))
    hierarchy = cluster(X, labels, n_classes, 0, fanout, 3)
    assert np.unique(hierarchy.leaf).size == n_classes
    children = np.bincount(hierarchy.parent[1:])
    assert children.max() <= max(fanout, 3)
    below = np.zeros(hierarchy.parent.size, int)
    below[hierarchy.leaf] = 1
    for z in range(hierarchy.parent.size - 1, 0, -1):
        below[hierarchy.parent[z]] += below[z]
    inner = np.setdiff1d(np.arange(1, hierarchy.parent.size), hierarchy.leaf)
    for z in np.unique(hierarchy.parent[inner]):
        sizes = below[inner[hierarchy.parent[inner] == z]]
        assert sizes.max() - sizes.min() <= 1


def test_the_taxonomy_of_the_data_is_used_on_request(data, tree):
    X, y = data()
    fitted = LabelTree(tree="taxonomy", random_state=0).fit(X, y, taxonomy=tree)
    assert fitted.branches_.child[1] - fitted.branches_.child[0] == 3  # the root of the taxonomy has three children
    assert fitted.score(X, y) > 0.8
    with pytest.raises(HarnessError, match=naming("tree=", "cluster")):
        LabelTree(tree="taxonomy").fit(X, y)


def test_a_row_with_several_labels_ranks_them_first(data):
    X, y = data(n=300)
    Y = np.zeros((len(y), 6), np.int8)
    Y[np.arange(len(y)), y] = Y[np.arange(len(y)), (y + 2) % 6] = 1
    ranked = LabelTree(**SMALL).fit(X, csr_array(Y)).rank(X, 2)
    filled = np.diff(X.indptr) > 0
    assert np.take_along_axis(Y, ranked.astype(np.intp), axis=1)[filled].mean() > 0.8


def test_a_saved_tree_is_restored_and_its_table_is_rebuilt(data, tmp_path):
    X, y = data()
    fitted = LabelTree(**SMALL).fit(X, y)
    expected, slots = fitted.rank(X, 4), fitted.slots_
    fitted.slots_ = np.full_like(slots, 7)  # not to be believed
    fitted.save(tmp_path / "model")
    again = LabelTree.load(tmp_path / "model")
    assert_array_equal(again.slots_, slots)
    assert_array_equal(again.rank(X, 4), expected)


def test_each_feature_of_a_node_has_a_slot_and_half_of_the_slots_are_free(data):
    X, y = data()
    branches = LabelTree(**SMALL).fit(X, y).branches_
    slots = feature_slots(branches)
    taken = slots[slots != VACANT]
    assert_array_equal(np.sort(taken), np.arange(branches.features.size))
    assert 2 * taken.size <= slots.size


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("fanout", 3, "a power of two"),
        ("tree", "random", "one of cluster, taxonomy"),
        ("leaf_classes", 1, "at least 2"),
    ],
)
def test_a_bad_parameter_raises_an_error(name, value, allowed, data):
    with pytest.raises(ValueError, match=rf"^{name}={value!r}: must be .*{allowed}"):
        LabelTree(**{name: value}).fit(*data())
