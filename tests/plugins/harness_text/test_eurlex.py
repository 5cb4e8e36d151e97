"""EUR-Lex: two files in the repository's format, all declared labels, and rejected input."""

import lzma

import pytest

from harness.errors import DataError
from harness_text import eurlex
from messages import assert_names, naming

TRAIN = b"3 4 5\n0,3 0:0.5 2:1.5\n1 1:2\n 3:1\n"
TEST = b"1 4 5\n3 0:1\n"


def load(lay, train=TRAIN, test=TEST):
    return eurlex.load_eurlex4k(source=str(lay({"eurlex_train.txt.xz": lzma.compress(train), "eurlex_test.txt": test})))


def test_rows_labels_and_split_match_the_files(lay):
    data = load(lay)
    assert data.X.toarray().tolist() == [[0.5, 0, 1.5, 0], [0, 2, 0, 0], [0, 0, 0, 1], [1, 0, 0, 0]]
    assert data.y.toarray().tolist() == [[1, 0, 0, 1, 0], [0, 1, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 1, 0]]
    assert data.class_names == ("0", "1", "2", "3", "4")  # labels 2 and 4 are declared, but no row has them
    assert [part.tolist() for part in data.splits["train-test"]] == [[0, 1, 2], [3]]
    assert_names(data.found, "4", "5", "1.0")


def test_unusable_files_raise_an_error(lay):
    with pytest.raises(DataError, match=naming("eurlex_train.txt", "2", "id:value")):
        load(lay, train=b"1 4 5\n0 x:1\n")
    with pytest.raises(DataError, match="promises 2 rows, found 1"):
        load(lay, test=b"2 4 5\n0 1:1\n")
    with pytest.raises(DataError, match=naming("features", "labels")):
        load(lay, test=b"1 9 5\n3 0:1\n")
    with pytest.raises(DataError, match=naming("train", "test")):
        eurlex.load_eurlex4k(source=str(lay({"eurlex_test.txt": TEST}, "half")))
