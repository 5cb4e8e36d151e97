"""ODP: Vowpal Wabbit's and LIBSVM's formats, with and without a taxonomy, and rejected input."""

import gzip

import pytest

from harness.errors import DataError
from harness_text import odp
from messages import naming

TRAIN = b"12 | 5:1.5 3:2\n3 1.0 tag|f 5 9:0.5\n12 |\n"
TEST = b"100 | 9:1\n"


def load(lay, files, folder="laid"):
    return odp.load_odp(source=str(lay(files, folder)))


def test_vowpal_wabbit_lines_are_read(lay):
    data = load(lay, {"odp_train.vw.gz": gzip.compress(TRAIN), "odp_test.vw": TEST})
    assert data.X.toarray().tolist() == [[2, 1.5, 0], [0, 1, 0.5], [0, 0, 0], [0, 0, 1]]  # 3, 5, 9
    assert data.class_names == ("3", "12", "100")
    assert data.y.tolist() == [1, 0, 1, 2]
    assert [part.tolist() for part in data.splits["train-test"]] == [[0, 1, 2], [3]]
    assert data.found == "3 + 1 pages (train + test), 3 categories, 3 features"
    assert data.taxonomy is None


def test_libsvm_lines_give_the_same_data(lay):
    one = load(lay, {"odp_train.vw": TRAIN}, "vw")
    other = load(lay, {"odp_train.txt": b"12 5:1.5 3:2\n3 5:1 9:0.5\n12\n"}, "txt")
    assert (one.X != other.X).nnz == 0
    assert one.y.tolist() == other.y.tolist()


def test_a_taxonomy_may_be_given_in_a_second_file(lay):
    files = {"odp_train.vw": TRAIN, "cat_hier.txt": b"1 2 12\n1 3\n1 2 77\n"}
    tree = load(lay, files).taxonomy
    assert tree.node_names == ("directory", "1", "2", "3", "12")
    with pytest.raises(DataError, match=naming("12", "cat_hier.txt")):
        load(lay, files | {"cat_hier.txt": b"1 3\n"})


def test_unusable_files_raise_an_error_with_file_and_line(lay):
    with pytest.raises(DataError, match=naming("odp_train.vw", "2", "id:value")):
        load(lay, {"odp_train.vw": b"1 | 3:1\n2 | word:1\n"})
    with pytest.raises(DataError, match=naming("odp_train", "2", "0")):
        load(lay, {"odp_train.vw": b"1 | 3:1\n| 3:1\n"})
    with pytest.raises(DataError, match=naming("train", "twice")):
        load(lay, {"odp_train.vw": TRAIN, "odp_train.txt": b"1 3:1\n"}, "twice")
    with pytest.raises(DataError, match=naming("tree", "page")):
        load(lay, {"cat_hier.txt": b"1 3\n"}, "none")
