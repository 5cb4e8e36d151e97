"""Datasets in LIBSVM format (aloi, letter, imagenet): rows, classes, splits, and errors."""

import bz2
import gzip
import io
import re
import tarfile

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from compressed import zstd_compress
from harness.errors import DataError
from harness_vectors import aloi, imagenet, letter
from harness_vectors.libsvm import joined, numbered, read_part
from harness_vectors.plugin import harness_datasets
from internals import RawFiles
from messages import naming

RAW = RawFiles(dataset="x", needed="a file", wanted=re.compile("a"))
ALOI = b"7 1:3 128:0.5\n0 2:4\n10 1:1 2:2\n7 5:1\n"
UCI_ROW = "T,2,8,3,5,1,8,13,0,6,6,10,8,0,8,0,8\n"


# -- what they share -------------------------------------------------------------------------------------------------


@given(st.lists(st.integers(-5, 200), min_size=1, max_size=30))
def test_classes_are_in_numeric_order(labels):
    names, y = numbered(np.array([str(label) for label in labels]))
    assert [int(name) for name in names] == sorted(set(labels))
    assert [int(names[position]) for position in y] == labels


def test_non_numeric_class_names_come_last():
    assert numbered(np.array(["n02", "10", "n01", "9"]))[0] == ("9", "10", "n01", "n02")


def test_parts_of_different_width_are_stacked():
    parts = [read_part(RAW, "a", io.BytesIO(b"1 2:5\n")), read_part(RAW, "b", io.BytesIO(b"2 4:1\n1\n"))]
    X, classes = joined(RAW, parts)
    assert X.toarray().tolist() == [[0, 5, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0]]
    assert classes.tolist() == ["1", "2", "1"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"1 1:2\n1,2 1:3\n", "a, row 2: expected one class, found 1,2"),
        (b"1 1:2\n 1:3\n", "a, row 2: expected one class, found none"),
        (b"1 0:2 1:3\n", "a has a feature 0; expected features numbered from 1"),
        (b"\n", "a holds no rows"),
        (b"1 1:2\n2 x:3\n", "a, line 2: expected id:value"),
    ],
)
def test_malformed_rows_raise_an_error_that_names_them(text, message):
    with pytest.raises(DataError, match=f"^dataset 'x': {message}"):
        read_part(RAW, "a", io.BytesIO(text))


# -- aloi ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["aloi", "aloi.bz2", "aloi.scale", "aloi.scale.bz2"])
def test_aloi_has_the_features_of_the_file(lay, name):
    source = lay({name: bz2.compress(ALOI) if name.endswith("bz2") else ALOI})
    for place in (source, f"{source}/{name}"):
        data = aloi.load_aloi(source=place)
        assert data.X.shape == (4, 128)
        assert data.X[[0]].indices.tolist() == [0, 127]
        assert data.X[[0]].data.tolist() == [3, 0.5]
        assert data.class_names == ("0", "7", "10")
        assert data.y.tolist() == [1, 0, 2, 1]
        assert data.splits == {}
        assert data.found == f"4 pictures of 3 objects, 128 features, from {name.removesuffix('.bz2')}"


def test_aloi_with_other_features_or_two_files_is_rejected(lay):
    with pytest.raises(DataError, match=naming("aloi", "129", "128")):
        aloi.load_aloi(source=lay({"aloi": b"1 129:1\n2 1:1\n"}, "wide"))
    with pytest.raises(DataError, match=naming("aloi.scale")):
        aloi.load_aloi(source=lay({"aloi": ALOI, "aloi.scale": ALOI}, "twice"))
    with pytest.raises(DataError, match=naming("aloi.bz2")):
        aloi.load_aloi(source=lay({"aloi.txt": ALOI}, "none"))


# -- letter ----------------------------------------------------------------------------------------------------------


def test_letter_from_libsvm_has_its_split_and_class_numbers(lay):
    files = {"letter.scale": b"26 1:-0.5 16:1\n2 3:0.25\n", "letter.scale.t": b"2 1:0.125\n"}
    data = letter.load_letter(source=lay(files))
    assert data.X.shape == (3, 16)
    assert data.X.toarray()[:, [0, 2, 15]].tolist() == [[-0.5, 0, 1], [0, 0.25, 0], [0.125, 0, 0]]
    assert data.class_names == ("2", "26")
    assert data.y.tolist() == [1, 0, 0]
    train, test = data.splits["libsvm"]
    assert (train.tolist(), test.tolist()) == ([0, 1], [2])
    assert data.found == "2 + 1 letters of 2 classes, 16 features (libsvm)"


def test_letter_from_uci_has_its_letters_and_the_donors_split(lay):
    rows = UCI_ROW * 15_999 + UCI_ROW.replace("T", "A") + UCI_ROW.replace("T", "B") * 2
    data = letter.load_letter(source=lay({"letter-recognition.data": rows.encode()}))
    assert data.X.shape == (16_002, 16)
    assert data.X[[0]].toarray().ravel().tolist() == [2, 8, 3, 5, 1, 8, 13, 0, 6, 6, 10, 8, 0, 8, 0, 8]
    assert data.class_names == ("A", "B", "T")
    assert data.y[[0, 15_999, 16_000]].tolist() == [2, 0, 1]
    assert [len(part) for part in data.splits["uci"]] == [16_000, 2]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"letter.scale": b"1 1:1\n"}, r"found letter\.scale; expected letter\.scale and letter\.scale\.t from"),
        ({"letter.scale": b"1 17:1\n", "letter.scale.t": b"2 1:1\n"}, "found a feature 17; expected none above 16"),
        ({"letter-recognition.data": b"T,1,2\n"}, "line 1: expected a letter and 16 numbers, found 'T,1,2'"),
        ({"letter-recognition.data": UCI_ROW.replace("13", "x").encode()}, "line 1: expected a letter and 16 numbers"),
        ({"letter-recognition.data": UCI_ROW.encode()}, "holds 1 rows; the first 16,000 only train"),
    ],
)
def test_malformed_letter_files_raise_an_error_that_names_them(lay, files, message):
    with pytest.raises(DataError, match=f"^dataset 'letter': .*{message}"):
        letter.load_letter(source=lay(files))


# -- imagenet --------------------------------------------------------------------------------------------------------


def test_imagenet_reads_any_number_of_plain_or_compressed_files(lay, tmp_path):
    files = {
        "train-01.gz": gzip.compress(b"n02 3:1.5\n"),
        "train-00": b"n01 1:0.5 2:2\nn02 2:1\n",
        "test/test.libsvm.zst": zstd_compress(b"n01 1:4\n"),
        "notes.txt": b"how they were made",
    }
    source = lay(files)
    archive = tmp_path / "all.tar"
    with tarfile.open(archive, "w") as tar:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    for place in (source, str(archive)):
        data = imagenet.load_imagenet(source=place)
        assert data.X.toarray().tolist() == [[0.5, 2, 0], [0, 1, 0], [0, 0, 1.5], [4, 0, 0]]
        assert [data.class_names[label] for label in data.y] == ["n01", "n02", "n02", "n01"]
        assert [part.tolist() for part in data.splits["files"]] == [[0, 1, 2], [3]]
        assert data.found == "3 + 1 rows in 3 files, 2 classes, 3 features"


def test_imagenet_has_no_split_without_test_files_and_needs_training_files(lay):
    assert imagenet.load_imagenet(source=lay({"train.txt": b"1 1:1\n2 1:2\n"}, "train")).splits == {}
    with pytest.raises(DataError, match=naming("train", "test")):
        imagenet.load_imagenet(source=lay({"test.txt": b"1 1:1\n"}, "test"))


# -- what is registered ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("spec", harness_datasets(), ids=lambda spec: spec.name)
def test_every_dataset_has_a_source_and_a_licence(spec):
    assert spec.licence
    assert spec.citation
    assert spec.representation == "tf"
    assert all(url.startswith("https://") for file in spec.files for url in file.urls)
    assert bool(spec.stamp) == bool(spec.obtain)


@pytest.mark.parametrize(
    ("module", "name"), [(aloi, "aloi"), (letter, "letter.scale"), (imagenet, "train.txt")], ids=str
)
def test_the_stamp_changes_with_the_file(lay, module, name):
    source = lay({name: b"1 1:1\n"})
    before = module.RAW.stamp(source=source)
    lay({name: b"1 1:1\n2 1:1\n"})
    assert module.RAW.stamp(source=source) != before
