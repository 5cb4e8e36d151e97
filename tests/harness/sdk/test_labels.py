"""Labels as positions: from names in any order, from indicator matrices, and with classes that come later."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from harness.sdk.labels import as_labels, extend, has_several, name_labels


@pytest.mark.parametrize(
    ("y", "several"),
    [
        (np.array([0, 1, 2]), False),
        (np.array(["a", "b"]), False),
        (None, False),
        (csr_array(np.eye(2)), True),
        (np.eye(3, dtype=int), True),
    ],
)
def test_an_indicator_matrix_is_told_from_one_label_a_row(y, several):
    assert has_several(y) is several


@given(st.lists(st.sampled_from(["b", "a", "long name", ""]), min_size=1))
def test_one_label_a_row_becomes_its_position(names):
    y = np.array(names)
    starts, labels, classes = name_labels(y)
    found = as_labels(starts, labels, classes)
    assert classes.tolist() == sorted(set(names))
    assert_array_equal(classes[found.indices], y)
    assert_array_equal(np.diff(found.indptr), 1)


@given(st.permutations(range(5)), st.lists(st.integers(0, 4), min_size=1))
def test_positions_are_right_whatever_the_order_of_the_classes(order, labels):
    classes, y = np.array(order), np.array(labels)
    found = as_labels(np.arange(y.size + 1), y, classes)
    assert_array_equal(classes[found.indices], y)
    assert found.indices.dtype == np.int32
    assert not found.indices.flags.writeable


def test_the_classes_of_an_indicator_matrix_are_its_columns_and_a_row_may_have_any_number():
    y = csr_array((np.array([1, 0, 1, 1]), np.array([2, 1, 0, 0]), np.array([0, 2, 2, 4])), shape=(3, 4))
    starts, labels, classes = name_labels(y)
    assert (starts.tolist(), labels.tolist(), classes.tolist()) == ([0, 1, 1, 2], [2, 0], [0, 1, 2, 3])
    assert y.nnz == 4  # the original stays as it is, with its zeros and repeats


def test_new_classes_come_behind_and_no_class_changes_its_position():
    assert extend(np.array([5, 1]), np.array([0, 1, 9])).tolist() == [5, 1, 0, 9]
    known = np.array([5, 1])
    assert extend(known, np.array([1])) is known


def test_classes_of_another_kind_are_refused():
    with pytest.raises(ValueError, match=r"new classes \['a'\] are of another kind than \[5, 1\]"):
        extend(np.array([5, 1]), np.array(["a"]))
