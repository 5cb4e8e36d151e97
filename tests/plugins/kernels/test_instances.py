"""Kernels get fixed dtypes and each feature once per row for any input matrix, which stays unchanged."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import coo_array, csr_array, csr_matrix

from harness.sdk import as_instances

DENSE = np.array([[0, 1.5, 0], [0, 0, 0], [2, 0, -3]], np.float32)


@pytest.mark.parametrize("kind", [np.asarray, csr_array, csr_matrix, coo_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_matrix_type_gives_the_same_instances(kind, dtype):
    instances = as_instances(kind(DENSE.astype(dtype)))
    assert [array.dtype for array in instances] == [np.int64, np.int32, np.float32]
    assert instances.n_instances == 3
    assert instances.indptr.tolist() == [0, 1, 1, 3]
    assert instances.indices.tolist() == [1, 0, 2]
    assert instances.data.tolist() == [1.5, 2, -3]


def test_a_matrix_of_the_right_dtype_is_not_copied():
    X = csr_array(DENSE)
    instances = as_instances(X)
    assert np.shares_memory(instances.data, X.data)
    assert np.shares_memory(instances.indices, X.indices)


def test_instances_are_read_only_and_the_matrix_stays_writable():
    X = csr_array(DENSE)
    assert not any(array.flags.writeable for array in as_instances(X))
    assert X.data.flags.writeable


def test_repeated_features_are_summed_in_a_copy():
    X = csr_array((np.array([1.0, 2.0, 4.0], np.float32), np.array([2, 0, 2]), np.array([0, 3])), shape=(1, 3))
    instances = as_instances(X)
    assert instances.indices.tolist() == [0, 2]
    assert instances.data.tolist() == [2, 5]
    assert X.nnz == 3
