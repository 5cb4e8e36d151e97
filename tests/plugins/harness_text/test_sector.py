"""LIBSVM's sector: two files, features from 1, classes by number, and rejected input."""

import bz2

import pytest

from harness.errors import DataError
from harness_text import sector
from messages import naming

TRAIN, TEST = b"2 1:0.5 4:1\n10 2:1\n", b"1 3:2\n"


def load(lay, files, folder="laid"):
    return sector.load_sector(source=str(lay(files, folder)))


@pytest.mark.parametrize("names", [("sector.bz2", "sector.t.bz2"), ("sector.scale.bz2", "sector.t.scale.bz2")])
def test_rows_classes_and_split_match_the_files(lay, names):
    data = load(lay, dict(zip(names, map(bz2.compress, (TRAIN, TEST)), strict=True)))
    assert data.X.toarray().tolist() == [[0.5, 0, 0, 1], [0, 1, 0, 0], [0, 0, 2, 0]]
    assert data.class_names == ("1", "2", "10")
    assert data.y.tolist() == [1, 2, 0]
    assert [part.tolist() for part in data.splits["train-test"]] == [[0, 1], [2]]
    assert data.found == "2 (described as 6,412) + 1 (described as 3,207) pages (train + test), 3 classes, 4 terms"


def test_a_single_file_has_no_split(lay):
    data = load(lay, {"sector": TRAIN})
    assert data.X.shape == (2, 4)
    assert not data.splits


def test_unusable_files_raise_an_error(lay):
    with pytest.raises(DataError, match=naming("train")):
        load(lay, {"sector": TRAIN, "sector.scale": TRAIN})
    with pytest.raises(DataError, match=naming("2", "row", "labels")):
        load(lay, {"sector": b"1 2:1\n1,2 2:1\n"}, "several")
    with pytest.raises(DataError, match=naming("1", "id:value")):
        load(lay, {"sector": b"1 2:x\n"}, "damaged")
