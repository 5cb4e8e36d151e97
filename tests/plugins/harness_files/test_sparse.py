"""svmlight and XMC files: one or several labels, a separate test file, ids of any size."""

import gzip

import numpy as np
import pytest
from scipy.sparse import issparse

from harness.errors import DataError
from harness_files.sparse import load_svmlight, load_xmc
from messages import assert_names, naming


def test_one_label_per_row_gives_class_positions(write):
    data = load_svmlight(path=write("a.svm", "10 3:0.5 1:2\n9 4:1\n10 1:1\n"))
    assert data.class_names == ("9", "10")
    assert data.y.tolist() == [1, 0, 1]
    assert data.X.toarray().tolist() == [[2, 0.5, 0], [0, 0, 1], [1, 0, 0]]
    assert data.found == "3 rows of a.svm, one label a row, 2 classes, 3 features"


def test_several_labels_give_an_indicator_matrix_and_a_row_may_have_none(write):
    data = load_svmlight(path=write("a.svm.gz", gzip.compress(b"1,2 1:2\n2 4:1\n 3:1\n")))
    assert issparse(data.y)
    assert data.y.toarray().tolist() == [[1, 1], [0, 1], [0, 0]]


def test_large_feature_ids_become_compact_columns(write):
    assert load_svmlight(path=write("a.svm", "1 4000000000:2 5:1\n2 2147483648:1\n")).X.shape == (2, 3)


def test_a_separate_test_file_shares_columns_and_classes(write):
    data = load_svmlight(path=write("a.svm", "1 1:1\n2 2:1\n"), test=write("b.svm", "3 9:1\n1 2:5\n"))
    assert data.class_names == ("1", "2", "3")
    assert data.X.toarray().tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 5, 0]]
    assert [part.tolist() for part in data.splits["test"]] == [[0, 1], [2, 3]]
    assert_names(data.found, "--split", "2")


def test_an_xmc_folder_gives_training_and_test_rows(write):
    write("eurlex/eurlex_train.txt", "2 9 4\n0,3 1:0.5\n2 8:1\n")
    write("eurlex/eurlex_test.txt", "1 9 4\n1 0:1\n")
    data = load_xmc(path="eurlex")
    assert data.class_names == ("0", "1", "2", "3")
    assert data.y.toarray().tolist() == [[1, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0]]
    assert [len(part) for part in data.splits["test"]] == [2, 1]


def test_a_taxonomy_file_gives_the_parents_of_labels(write):
    data = load_svmlight(path=write("a.svm", "4 1:1\n5 2:1\n"), taxonomy=write("tree.txt", "1 2 4\n1 2 5\n1 3\n"))
    assert [data.taxonomy.node_names[node] for node in data.taxonomy.class_node] == ["4", "5"]
    assert data.taxonomy.depth == 2


def test_rows_without_a_label_are_dropped_on_request(write):
    path = write("a.svm", "1 1:1\n 2:1\n2 3:1\n")
    with pytest.raises(DataError, match=naming("a.svm", "2", "--set", "a.missing=", "drop")):
        load_svmlight(path=path)
    data = load_svmlight(path=path, missing="drop")
    assert np.array_equal(data.X.toarray(), np.eye(2))
    assert_names(data.found, "2", "a.svm", "1")


@pytest.mark.parametrize(
    ("load", "text", "trouble"),
    [
        (load_svmlight, "", "a.txt holds no rows"),
        (load_svmlight, "1 1:1\n2 x:1\n", "a.txt, line 2: expected id:value"),
        (load_xmc, "9 9\n", "a.txt, line 1: expected three counts"),
    ],
)
def test_a_malformed_file_raises_an_error_that_names_it(write, load, text, trouble):
    with pytest.raises(DataError) as caught:
        load(path=write("a.txt", text))
    assert trouble in str(caught.value)
