"""File formats detected by content; no two formats claim the same file."""

import gzip
import io

import numpy as np
import pytest

from internals import discover, find_file_format


def npz():
    sink = io.BytesIO()
    np.savez(sink, X=np.eye(2), y=[0, 1])
    return sink.getvalue()


FILES = {
    "a.csv": ("x,y,z\n1,2,3\n", "table"),
    "a.jsonl.gz": (gzip.compress(b"{}"), "table"),
    "a.svm": ("nonsense", "svmlight"),
    "a.npz": ("nonsense", "arrays"),
    "tabs.txt": ("text\tlabel\nx\ta\n", "table"),
    "objects.txt": ('{"text": "x", "label": "a"}\n', "table"),
    "pairs.txt": ("# comment\n\n1 3:0.5 7:1\n2 1:1\n", "svmlight"),
    "query.dat": ("1 qid:2 3:0.5\n", "svmlight"),
    "several.txt": ("1,2 3:0.5\n", "svmlight"),
    "no_label.txt": ("3:0.5 4:1\n", "svmlight"),
    "counts.txt": ("2 9 4\n0,3 1:0.5\n2 8:1\n", "xmc"),
    "packed.data": (gzip.compress(b"1 3:0.5\n"), "svmlight"),
    "arrays": (npz(), "arrays"),
}


@pytest.fixture(scope="module")
def catalog():
    return discover()


@pytest.mark.parametrize("name", FILES)
def test_the_format_of_a_file_is_detected(write, catalog, name):
    content, expected = FILES[name]
    assert find_file_format(write(f"in/{name}", content), catalog).spec.name == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"a/1.txt": "x", "b/1.txt": "y"}, "texts"),
        ({"train/a/1": "x", "test/a/1": "y"}, "texts"),
        ({"train.csv": "text,label\nx,a\n", "test.csv": "text,label\nx,a\n", "README": "notes"}, "table"),
        ({"train.txt": "1 2 1\n0 1:1\n", "test.txt": "1 2 1\n0 1:1\n"}, "xmc"),
        ({"train.svm": "1 2:1\n", "test.svm": "1 2:1\n"}, "svmlight"),
    ],
)
def test_the_format_of_a_folder_is_detected_from_its_files(write, catalog, files, expected):
    for name, content in files.items():
        write(f"mine/{name}", content)
    assert find_file_format("mine", catalog).spec.name == expected
