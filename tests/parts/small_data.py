"""A small valid dataset, ways to damage it, and a comparison."""

from dataclasses import replace

import numpy as np
from scipy.sparse import csr_array, issparse

from harness import Dataset, Taxonomy

TREE = Taxonomy(np.array([-1, 0, 0, 1]), np.array([2, 3, 1]), ("all", "left", "right", "leaf"))


def dataset(**changes):
    """Return a valid dataset: four rows (one empty), five features, three classes, a tree and a split."""
    counts = np.array([[1, 0, 2, 0, 0], [0, 3, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 4, 0]], np.float32)
    made = Dataset(
        X=csr_array(counts),
        y=np.array([0, 1, 2, 1]),
        class_names=("a", "b", "c"),
        taxonomy=TREE,
        splits={"official": (np.array([0, 2, 3]), np.array([1]))},
        found="four rows",
    )
    return replace(made, **changes)


def with_value(value):
    X = dataset().X.copy()
    X.data[2] = value
    return X


def indicator(*rows):
    return csr_array(np.array(rows))


def tree(parent=(-1, 0, 0, 1), class_node=(2, 3, 1), names=()):
    return {"taxonomy": Taxonomy(np.array(parent), np.array(class_node), names)}


def assert_same(first, second):
    for matrix in ("X", "y"):
        one, other = getattr(first, matrix), getattr(second, matrix)
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        assert np.array_equal(*(m.toarray() if issparse(m) else m for m in (one, other)))
    assert first.class_names == second.class_names
    assert (first.taxonomy is None) == (second.taxonomy is None)
    if first.taxonomy is not None:
        assert np.array_equal(first.taxonomy.parent, second.taxonomy.parent)
        assert np.array_equal(first.taxonomy.class_node, second.taxonomy.class_node)
        assert first.taxonomy.node_names == second.taxonomy.node_names
        for name in ("more_parents", "weights", "costs"):
            one, other = getattr(first.taxonomy, name), getattr(second.taxonomy, name)
            assert (one is None) == (other is None)
            assert one is None or np.array_equal(one, other)
    assert first.splits.keys() == second.splits.keys()
    for name in first.splits:
        assert all(map(np.array_equal, first.splits[name], second.splits[name]))
    assert first.found == second.found
