"""Subsamples are nested, keep at least one row per class, and keep taxonomy and splits consistent."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from harness import Dataset, Taxonomy
from harness.errors import DataError
from harness_files.subsample import load_subsample as load
from internals import checked

CLASSES, ROWS = 9, 60


def full(several=False):
    """Return a dataset in which row i has only feature i, and class c is below node 1 + c % 3."""
    y = np.arange(ROWS) % CLASSES
    if several:
        y = csr_array(np.eye(CLASSES, dtype=np.int8)[y] | np.eye(CLASSES, dtype=np.int8)[(y * 2) % CLASSES])
    parent = np.array([-1, 0, 0, 0, *(1 + np.arange(CLASSES) % 3)])
    tree = Taxonomy(parent, np.arange(CLASSES) + 4, tuple(f"n{i}" for i in range(len(parent))))
    splits = {"given": (np.arange(0, 40), np.arange(40, ROWS)), "odd": (np.arange(59), np.array([59]))}
    return Dataset(csr_array(np.eye(ROWS, dtype=np.float32)), y, tuple("abcdefghi"), tree, splits, found="all")


def rows_of(data):
    return data.X.indices.tolist()


sizes = st.integers(2, CLASSES)


@given(sizes, sizes, st.integers(0, 20), st.booleans())
def test_a_sample_of_fewer_classes_is_nested_and_keeps_all_their_rows(few, many, seed, several):
    few, many = sorted((few, many))
    small, large = (load(dataset=full(several), classes=size, seed=seed) for size in (few, many))
    assert (len(small.class_names), len(large.class_names)) == (few, many)
    assert set(small.class_names) <= set(large.class_names)
    assert set(rows_of(small)) <= set(rows_of(large))
    everything = full(several)
    kept = [everything.class_names.index(name) for name in small.class_names]
    labels = everything.y.toarray()[:, kept] if several else np.eye(CLASSES, dtype=int)[everything.y][:, kept]
    assert rows_of(small) == np.flatnonzero(labels.any(axis=1)).tolist()
    found = small.y.toarray() if several else np.eye(few, dtype=int)[small.y]
    assert np.array_equal(found, labels[rows_of(small)])


@given(st.integers(CLASSES, ROWS), st.integers(CLASSES, ROWS), st.integers(0, 20), st.booleans())
def test_a_sample_of_fewer_rows_is_nested_and_keeps_every_class(few, many, seed, several):
    few, many = sorted((few, many))
    small, large = (load(dataset=full(several), examples=size, seed=seed) for size in (few, many))
    assert (small.X.shape[0], large.X.shape[0]) == (few, many)
    assert set(rows_of(small)) <= set(rows_of(large))
    counts = np.asarray(small.y.sum(axis=0)).ravel() if several else np.bincount(small.y, minlength=CLASSES)
    assert (counts > 0).all()


@given(sizes, st.integers(0, 20))
def test_the_taxonomy_is_pruned_to_the_paths_of_the_sampled_classes(size, seed):
    data = checked("sub", load(dataset=full(), classes=size, seed=seed))
    tree = data.taxonomy
    names = [tree.node_names[node] for node in tree.class_node]
    assert names == [f"n{'abcdefghi'.index(name) + 4}" for name in data.class_names]
    above = {tree.node_names[tree.parent[node]] for node in tree.class_node}
    assert above == {f"n{1 + 'abcdefghi'.index(name) % 3}" for name in data.class_names}
    assert set(tree.node_names) == {"n0", *above, *names}
    assert tree.depth == 2


@given(sizes, st.integers(0, 20))
def test_all_nodes_above_the_sampled_classes_stay_with_their_weights_and_costs(size, seed):
    whole = full()
    nodes = len(whole.taxonomy.parent)
    costs = np.arange(2.0 * nodes).reshape(-1, 2)
    more = np.array([[4, 2], [5, 3], [9, 1]])
    lattice = replace(whole.taxonomy, more_parents=more, weights=np.arange(float(nodes)), costs=costs)
    drawn = checked("sub", load(dataset=replace(whole, taxonomy=lattice), classes=size, seed=seed)).taxonomy

    def edges(taxonomy):
        below, above = taxonomy.edges()
        names = np.array(taxonomy.node_names)
        return set(zip(names[below], names[above], strict=True))

    assert edges(drawn) == {(below, above) for below, above in edges(lattice) if below in drawn.node_names}
    known = [int(name[1:]) for name in drawn.node_names]
    assert drawn.weights.tolist() == known
    assert drawn.costs.tolist() == costs[known].tolist()


def test_splits_keep_the_sampled_rows_and_empty_splits_are_removed():
    data = checked("sub", load(dataset=full(), classes=4, seed=1))
    rows = np.array(rows_of(data))
    train, test = data.splits["given"]
    assert (rows[train] < 40).all()
    assert (rows[test] >= 40).all()
    assert len(train) + len(test) == len(rows)
    assert ("odd" in data.splits) == (59 in rows)


PINNED = ("ach", [0, 2, 7, 16, 34, 52])


def test_a_seed_always_draws_the_same_sample():
    data = load(dataset=full(), classes=3, examples=6, seed=7)
    assert ("".join(data.class_names), rows_of(data)) == PINNED


def test_the_description_names_the_sample_and_its_source():
    assert load(dataset=full(), classes=3, examples=6).found == "6 of 60 rows, 3 of 9 classes; inside: all"


@pytest.mark.parametrize(
    ("options", "trouble"),
    [
        ({"classes": 10}, "classes=10: expected a whole number from 2 to 9"),
        ({"classes": 1}, "classes=1: expected a whole number from 2"),
        ({"classes": 2.5}, "classes=2.5: expected a whole number"),
        ({"examples": 8}, "examples=8: expected a whole number from 9, one of each class, to 60"),
        ({"examples": 61}, "examples=61: expected a whole number"),
    ],
)
def test_a_sample_size_out_of_range_raises_an_error(options, trouble):
    with pytest.raises(DataError) as caught:
        load(dataset=full(), **options)
    assert trouble in str(caught.value)


def test_group_and_time_columns_keep_the_values_of_the_sampled_rows():
    codes = np.arange(6)
    full = Dataset(None, codes % 2, ("a", "b"), texts=list("uvwxyz"), groups={"who": codes}, times={"when": codes})
    part = load(dataset=full, examples=3, seed=1)
    drawn = ["uvwxyz".index(text) for text in part.texts]
    assert part.groups["who"].tolist() == part.times["when"].tolist() == drawn
