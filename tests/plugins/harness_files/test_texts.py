"""Folders of texts: each folder is a class, as in scikit-learn's `load_files`; nested folders are a taxonomy."""

import gzip

import pytest
from sklearn.datasets import load_files

from harness.errors import DataError
from harness_files.texts import load_texts as load
from messages import naming
from word_counts import counts_of


def test_classes_match_scikit_learns_load_files(write):
    for name, text in {"sport/1.txt": "ball goal", "sport/2": "ball", "food/1.txt": "bread"}.items():
        write(f"mine/{name}", text)
    theirs = load_files("mine", encoding="utf-8")
    write("mine/sport/.hidden", "no")
    data = load(path="mine")
    assert list(data.class_names) == theirs.target_names
    assert counts_of(data).toarray().tolist() == [[0, 1, 0], [1, 0, 1], [1, 0, 0]]
    assert data.y.tolist() == [0, 1, 1]
    assert data.taxonomy is None
    assert data.found == "3 texts, 2 classes"


def test_nested_folders_are_a_taxonomy_and_files_may_be_compressed(write):
    write("mine/sport/ball/1", "x")
    write("mine/sport/ice/1.gz", gzip.compress(b"y"))
    write("mine/food/1", "z")
    data = load(path="mine/")
    assert data.class_names == ("food", "sport/ball", "sport/ice")
    assert data.taxonomy.depth == 2
    assert counts_of(data).shape == (3, 3)


def test_train_and_test_folders_give_a_split(write):
    for name in ("news-train/a/1", "news-train/b/1", "news-test/a/1"):
        write(f"mine/{name}", name)
    data = load(path="mine")
    assert data.class_names == ("a", "b")
    assert [part.tolist() for part in data.splits["test"]] == [[1, 2], [0]]


@pytest.mark.parametrize(
    ("files", "trouble"),
    [
        ({"mine/loose": "x", "mine/a/1": "y"}, "mine: a file lies outside of any class"),
        ({"mine/.hidden": "x"}, "mine holds no texts"),
        ({"mine/train/1": "x", "mine/test/a/1": "x"}, "a text lies in train or test itself"),
        (
            {"mine/a/1": b"caf\xe9"},
            "mine/a/1, line 1: byte 4 (0xe9) is not utf-8. Set the encoding of the file",
        ),
    ],
)
def test_an_unsupported_folder_layout_raises_an_error_that_names_it(write, files, trouble):
    for name, text in files.items():
        write(name, text)
    with pytest.raises(DataError) as caught:
        load(path="mine")
    assert trouble in str(caught.value)


def test_a_file_in_place_of_a_folder_is_rejected(write):
    with pytest.raises(DataError, match=naming("file", "folder")):
        load(path=write("one", "x"))
