"""Invalid data is rejected with the culprit; valid data in any form becomes canonical."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import coo_array, csc_array, csr_array

from harness.errors import DataError
from internals import checked, fingerprint_of
from messages import naming
from small_data import TREE, dataset, indicator, tree, with_value


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"X": with_value(np.nan)}, r"row 1, feature 1 is nan \(1 such values\): remove or replace NaN and infinite"),
        ({"X": with_value(np.inf)}, "row 1, feature 1 is inf"),
        ({"X": with_value(-np.inf)}, "row 1, feature 1 is -inf"),
        ({"X": np.arange(5.0)}, r"X has shape \(5,\), expected rows x features"),
        ({"y": np.array([0, 1, 2])}, "3 labels for 4 rows"),
        ({"y": np.array([0, 1, 2, 3])}, "the label of row 3 is 3, expected 0 to 2"),
        ({"y": np.array([0, -1, 2, 1])}, "the label of row 1 is -1, expected 0 to 2"),
        ({"y": np.array([0.0, 1.0, 2.0, 1.0])}, "labels are float64 of shape"),
        ({"y": np.array(["a", "b", "c", "b"])}, "labels are <U1 of shape"),
        ({"y": np.zeros((4, 3), int)}, r"labels are int64 of shape \(4, 3\), expected class positions, 1-D"),
        ({"y": np.array(3)}, r"of shape \(\), expected class positions"),
        ({"y": indicator([1, 0], [0, 1], [1, 1], [1, 0])}, r"label matrix has shape \(4, 2\) for 3 classes"),
        ({"y": indicator([1, 0, 0])}, "1 labels for 4 rows"),
        ({"y": np.zeros(4, int), "class_names": ("only",)}, "it has 1 class, 'only': at least two are needed"),
        ({"class_names": ()}, "it has no classes"),
    ],
)
def test_invalid_rows_and_labels_are_rejected_with_the_culprit(changes, reason):
    with pytest.raises(DataError, match=f"dataset 'mine'.*{reason}"):
        checked("mine", dataset(**changes))


def test_canonical_data_is_not_copied_and_other_data_is_converted_in_a_copy():
    sound = dataset()
    assert np.shares_memory(checked("toy", sound).X.data, sound.X.data)
    zero = dataset(X=with_value(0))
    before = zero.X.data.copy()
    assert checked("toy", zero).X.nnz == zero.X.nnz - 1
    assert zero.X.data.tolist() == before.tolist()


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (tree(parent=(-1, 0, 3, 2)), "has a cycle: node 2 never reaches the root"),
        (tree(parent=(-1, 1, 0, 0)), "has a cycle: node 1 never reaches the root"),
        (tree(parent=(-1, 0, -1, 1)), "one root (parent -1) and parents within 0..3"),
        (tree(parent=(1, 2, 3, 0)), "one root"),
        (tree(parent=(-1, 0, 0, 4)), "parents within 0..3"),
        (tree(parent=(-1, 0, 0, -2)), "one root"),
        (tree(parent=(-1.0, 0.5, 0.0, 1.0)), "whole numbers"),
        (tree(class_node=(2, 3)), "must place each of the 3 classes at one of its nodes"),
        (tree(class_node=(2, 3, 4)), "must place each"),
        (tree(class_node=(2, 3, -1)), "must place each"),
        (tree(names=("all",)), "1 names for 4 nodes"),
    ],
)
def test_an_invalid_taxonomy_is_rejected(changes, reason):
    with pytest.raises(DataError, match=naming("mine", "taxonomy", f"{reason}")):
        checked("mine", dataset(**changes))


@pytest.mark.parametrize(
    ("more", "reason"),
    [
        ({"more_parents": [[1, 3]]}, "has a cycle: node 1 is in a cycle or below one"),
        ({"more_parents": [[2, 2]]}, "has a cycle: node 2"),
        ({"more_parents": [[3, 1]]}, "must not repeat a parent"),
        ({"more_parents": [[3, 2], [3, 2]]}, "must not repeat a parent"),
        ({"more_parents": [[0, 1]]}, "its root has none"),
        ({"more_parents": [[3, 4]]}, "within 0..3"),
        ({"more_parents": [[-1, 2]]}, "within 0..3"),
        ({"more_parents": [[3.0, 2.0]]}, "whole numbers"),
        ({"more_parents": [3, 2]}, "pairs of a node and its parent"),
        ({"weights": [1, 1, 1]}, "a weight for each of its 4 nodes"),
        ({"weights": [1, 1, 1, -1]}, "none of them negative"),
        ({"weights": [1, 1, 1, np.nan]}, "none of them negative"),
        ({"costs": [1, 1, 1, 1]}, "two costs for each of its 4 nodes"),
        ({"costs": [["a", "b"]] * 4}, "two costs"),
    ],
)
def test_invalid_further_parents_weights_and_costs_are_rejected(more, reason):
    values = {name: np.array(value) for name, value in more.items()}
    with pytest.raises(DataError, match=naming("mine", "its taxonomy", reason)):
        checked("mine", dataset(taxonomy=replace(TREE, **values)))


def test_a_sound_lattice_becomes_canonical_and_no_further_parents_are_none():
    given = replace(
        TREE, more_parents=np.array([[3, 2]], np.int16), weights=np.ones(4, np.float32), costs=np.ones((4, 2), int)
    )
    taxonomy = checked("mine", dataset(taxonomy=given)).taxonomy
    assert [array.dtype for array in (taxonomy.more_parents, taxonomy.weights, taxonomy.costs)] == [
        np.int64, np.float64, np.float64
    ]  # fmt: skip
    empty = replace(TREE, more_parents=np.empty((0, 2), int))
    assert checked("mine", dataset(taxonomy=empty)).taxonomy.more_parents is None


@given(
    st.integers(1, 9).flatmap(lambda n: st.lists(st.integers(0, n - 1), min_size=n, max_size=n)),
    st.sets(st.integers(0, 8), min_size=1, max_size=2),
)
def test_a_taxonomy_passes_if_and_only_if_every_node_reaches_the_one_root(parents, made_roots):
    nodes = len(parents)
    parents = [-1 if node in made_roots else parent for node, parent in enumerate(parents)]
    roots = [node for node, parent in enumerate(parents) if parent == -1]
    reaches = []
    for start in range(nodes):
        above, steps = start, 0
        while above != -1 and steps <= nodes:
            above, steps = parents[above], steps + 1
        reaches.append(above == -1)
    sound = len(roots) == 1 and all(reaches)
    changes = tree(parent=parents, class_node=(0, nodes - 1, 0))
    if sound:
        assert checked("mine", dataset(**changes)).taxonomy.parent.tolist() == parents
    else:
        with pytest.raises(DataError, match="its taxonomy"):
            checked("mine", dataset(**changes))


@pytest.mark.parametrize(
    ("name", "parts", "reason"),
    [
        ("s", ([0, 1, 2], [2, 3]), "split 's' uses a row twice, or in both parts"),
        ("s", ([0, 0], [1]), "uses a row twice"),
        ("s", ([0, 4], [1]), "split 's' names rows outside 0..3"),
        ("s", ([0, -1], [1]), "names rows outside"),
        ("s", ([0.0, 1.0], [2.0]), "holds float64, expected positions of rows"),
        ("s", ([True, False, True, True], [False, True, False, False]), "holds bool"),
        ("a/b", ([0], [1]), "split name 'a/b' must be letters"),
        ("..", ([0], [0]), "uses a row twice"),
    ],
)
def test_an_invalid_split_is_rejected(name, parts, reason):
    with pytest.raises(DataError, match=f"dataset 'mine'.*{reason}"):
        checked("mine", dataset(splits={name: tuple(map(np.array, parts))}))


def test_an_object_that_is_no_dataset_is_rejected():
    with pytest.raises(DataError, match=naming("mine", "harness.Dataset")):
        checked("mine", (1, 2))


@pytest.mark.parametrize(
    "form",
    [csr_array, csc_array, coo_array, np.asarray, lambda X: X.tolist(), lambda X: csr_array(X.astype(np.float64))],
)
def test_rows_in_any_form_become_the_same_canonical_one(form):
    expected, found = checked("mine", dataset()), checked("mine", dataset(X=form(dataset().X.toarray())))
    assert fingerprint_of(found) == fingerprint_of(expected)
    assert (found.X.dtype, found.X.indices.dtype, found.X.indptr.dtype) == (np.float32, np.int32, np.int32)


def test_duplicates_are_summed_and_stored_zeros_dropped():
    data, rows, columns = [1.0, 2.0, 0.0, 5.0, -5.0], [0, 0, 1, 3, 3], [2, 2, 0, 1, 1]
    X = coo_array((data, (rows, columns)), shape=(4, 5))
    found = checked("mine", dataset(X=X)).X
    assert found.toarray()[0, 2] == 3
    assert found.nnz == 1


def test_the_input_is_not_modified():
    given_X = csr_array((np.array([1.0, 2.0]), np.array([3, 3]), np.array([0, 2, 2, 2, 2])), shape=(4, 5))
    checked("mine", dataset(X=given_X))
    assert given_X.data.tolist() == [1.0, 2.0]
    assert given_X.dtype == np.float64


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float64])
def test_several_labels_become_an_indicator_of_ones(dtype):
    y = csr_array(np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0], [1, 1, 1]]).astype(dtype))
    found = checked("mine", dataset(y=y)).y
    assert found.toarray().tolist() == y.toarray().astype(int).tolist()
    assert found.dtype == np.int8


def test_a_label_of_any_weight_is_one_label():
    y = csr_array(np.array([[256, 0, 0], [0, 0.5, 0], [0, 0, -1], [1, 1, 1]]))
    assert checked("mine", dataset(y=y)).y.toarray().tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]
