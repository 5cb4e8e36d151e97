"""Labels as positions: from names in any order, from indicator matrices, and with later classes."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from internals import as_labels, extend, has_several, name_labels
from messages import naming


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
def test_an_indicator_matrix_is_distinguished_from_single_labels(y, several):
    assert has_several(y) is several


@given(st.lists(st.sampled_from(["b", "a", "long name", ""]), min_size=1))
def test_a_single_label_becomes_its_position(names):
    y = np.array(names)
    starts, labels, classes = name_labels(y)
    found = as_labels(starts, labels, classes)
    assert classes.tolist() == sorted(set(names))
    assert_array_equal(classes[found.indices], y)
    assert_array_equal(np.diff(found.indptr), 1)


@given(st.permutations(range(5)), st.lists(st.integers(0, 4), min_size=1))
def test_positions_are_correct_for_any_order_of_classes(order, labels):
    classes, y = np.array(order), np.array(labels)
    found = as_labels(np.arange(y.size + 1), y, classes)
    assert_array_equal(classes[found.indices], y)
    assert found.indices.dtype == np.int32
    assert not found.indices.flags.writeable


def test_the_classes_of_an_indicator_matrix_are_its_columns():
    y = csr_array((np.array([1, 0, 1, 1]), np.array([2, 1, 0, 0]), np.array([0, 2, 2, 4])), shape=(3, 4))
    starts, labels, classes = name_labels(y)
    assert (starts.tolist(), labels.tolist(), classes.tolist()) == ([0, 1, 1, 2], [2, 0], [0, 1, 2, 3])
    assert y.nnz == 4  # the input is unchanged, with its zeros and duplicates


def test_new_classes_follow_the_known_ones_whose_positions_stay():
    assert extend(np.array([5, 1]), np.array([0, 1, 9])).tolist() == [5, 1, 0, 9]
    known = np.array([5, 1])
    assert extend(known, np.array([1])) is known


def test_classes_of_another_type_are_rejected():
    with pytest.raises(ValueError, match=naming("a", "5", "1", "classes")):
        extend(np.array([5, 1]), np.array(["a"]))
