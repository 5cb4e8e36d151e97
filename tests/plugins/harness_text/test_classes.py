"""Functions shared by the loaders: trees from paths and parents, labels, splits by part."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import DataError
from harness_text.classes import beside, indicator, part_splits, path_to, positions, tree_of_paths
from messages import naming

names = st.text("ab", min_size=1, max_size=2)
paths = st.lists(st.lists(names, min_size=1, max_size=4).map(tuple), min_size=1, max_size=8, unique=True)


def climbed(tree, node):
    """Return the names on the path from below the root to a node."""
    return () if tree.parent[node] < 0 else (*climbed(tree, tree.parent[node]), tree.node_names[node])


@given(paths)
def test_the_path_of_a_class_is_recovered_from_the_tree(paths):
    tree = tree_of_paths("root", paths)
    for path, node in zip(paths, tree.class_node, strict=True):
        assert climbed(tree, node) == path
    assert tree.node_names[0] == "root"
    assert tree.depth == max(map(len, paths))
    assert len(tree.parent) == 1 + len({path[:i] for path in paths for i in range(1, len(path) + 1)})


def test_parents_precede_their_children():
    tree = tree_of_paths("root", [("b", "x"), ("a",), ("a", "x")])
    assert tree.node_names == ("root", "a", "b", "x", "x")
    assert tree.parent.tolist() == [-1, 0, 0, 1, 2]
    assert tree.class_node.tolist() == [4, 1, 3]


def test_a_path_is_built_from_parents_and_a_missing_parent_is_named():
    parent = {"c15": "ccat", "ccat": "root", "lost": "nowhere", "a": "b", "b": "a"}
    assert path_to("c15", parent, root="root", dataset="toy", file="f") == ("ccat", "c15")
    with pytest.raises(DataError, match=naming("nowhere", "lost", "root")):
        path_to("lost", parent, root="root", dataset="toy", file="f")
    with pytest.raises(DataError, match=naming("b", "a", "ancestor")):
        path_to("a", parent, root="root", dataset="toy", file="f")


@given(st.lists(st.sets(st.sampled_from("abcd")), max_size=6))
def test_the_indicator_has_a_one_for_each_label_that_is_a_class(rows):
    matrix = indicator(rows, ["a", "b", "c"])
    assert matrix.shape == (len(rows), 3)
    assert [{"abc"[j] for j in matrix[[i]].indices} for i in range(len(rows))] == [row - {"d"} for row in rows]


def test_labels_become_positions():
    assert positions(["b", "a", "b"], ["a", "b"]).tolist() == [1, 0, 1]


@given(st.lists(st.sampled_from(["train", "validation", "test"]), min_size=1, max_size=12))
def test_splits_train_on_an_earlier_part_and_test_on_a_later_one(parts):
    splits = part_splits(parts)
    there = [part for part in ("train", "validation", "test") if part in parts]
    assert len(splits) == {1: 0, 2: 1, 3: 4}[len(there)]
    for name, (train, test) in splits.items():
        first, second = name.split("-")
        assert {parts[row] for row in test} == {second}
        assert {parts[row] for row in train} == ({"train", "validation"} if first == "trainvalidation" else {first})
        assert len(test) == parts.count(second)
    assert set(part_splits(["validation", "test"])) == {"validation-test"}


def test_counts_are_reported_only_where_they_differ_from_the_description():
    assert beside(1_139, 1_139) == "1,139"
    assert beside(3, 12_294) == "3 (described as 12,294)"
