"""ODP: Vowpal Wabbit's and LIBSVM's form, with and without a class tree, and what is refused."""

import gzip

import pytest

from harness.errors import DataError
from harness_text import odp

TRAIN = b"12 | 5:1.5 3:2\n3 1.0 tag|f 5 9:0.5\n12 |\n"
TEST = b"100 | 9:1\n"


def load(lay, files, folder="laid"):
    return odp.load_odp(source=str(lay(files, folder)))


def test_vowpal_wabbits_lines_are_read(lay):
    data = load(lay, {"odp_train.vw.gz": gzip.compress(TRAIN), "odp_test.vw": TEST})
    assert data.X.toarray().tolist() == [[2, 1.5, 0], [0, 1, 0.5], [0, 0, 0], [0, 0, 1]]  # 3, 5, 9
    assert data.class_names == ("3", "12", "100")
    assert data.y.tolist() == [1, 0, 1, 2]
    assert [part.tolist() for part in data.splits["train-test"]] == [[0, 1, 2], [3]]
    assert data.found == "3 + 1 pages (train + test), 3 categories, 3 features"
    assert data.taxonomy is None


def test_libsvms_lines_give_the_same(lay):
    one = load(lay, {"odp_train.vw": TRAIN}, "vw")
    other = load(lay, {"odp_train.txt": b"12 5:1.5 3:2\n3 5:1 9:0.5\n12\n"}, "txt")
    assert (one.X != other.X).nnz == 0
    assert one.y.tolist() == other.y.tolist()


def test_a_tree_may_come_beside(lay):
    files = {"odp_train.vw": TRAIN, "cat_hier.txt": b"1 2 12\n1 3\n1 2 77\n"}
    tree = load(lay, files).taxonomy
    assert tree.node_names == ("directory", "1", "2", "3", "12")
    with pytest.raises(DataError, match=r"the category 12 is not in cat_hier.txt \(1 such\)"):
        load(lay, files | {"cat_hier.txt": b"1 3\n"})


def test_what_cannot_be_used_is_refused_with_the_place(lay):
    with pytest.raises(DataError, match=r"odp_train\.vw, line 2: expected id:value"):
        load(lay, {"odp_train.vw": b"1 | 3:1\n2 | word:1\n"})
    with pytest.raises(DataError, match="odp_train, row 2 has 0 labels, expected one"):
        load(lay, {"odp_train.vw": b"1 | 3:1\n| 3:1\n"})
    with pytest.raises(DataError, match="the train part is there twice"):
        load(lay, {"odp_train.vw": TRAIN, "odp_train.txt": b"1 3:1\n"}, "twice")
    with pytest.raises(DataError, match="there is a tree, but no page"):
        load(lay, {"cat_hier.txt": b"1 3\n"}, "none")
