"""Python data in an experiment: arrays, texts and frames are stored once, by content."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import coo_matrix, csr_array

from harness.errors import DataError
from internals import describe_data, parse_dataset


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path / "data home"))  # with a space, as a folder may have
    return tmp_path / "data home"


def kept_file(described):
    """Return the file and the label of a description."""
    (text,) = described
    ref = parse_dataset(text)
    return Path(ref.source), ref.label.text, ref.params


def test_names_and_files_are_unchanged(tmp_path):
    assert describe_data("digits, topics(rows=5)") == "digits, topics(rows=5)"
    assert describe_data(["digits", "titles.csv"]) == ["digits", "titles.csv"]
    assert describe_data(Path("titles.csv")) == ["titles.csv"]
    assert parse_dataset(describe_data(Path("texts"))[0]).source == "./texts"


@pytest.mark.parametrize("name", ["my titles.csv", "titles (1).csv", "a,b.csv", "it's.csv", "größe.csv", "a=b.csv"])
def test_a_path_with_any_name_is_found_again(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).touch()
    for path in (Path(name), tmp_path / name):
        (text,) = describe_data(path)
        assert Path(parse_dataset(text).source).resolve() == tmp_path / name


def test_arrays_are_stored_once_under_a_name_made_from_their_content(home):
    X, y = np.eye(3), np.arange(3)
    first, second = describe_data((X, y)), describe_data((X.copy(), y.copy()))
    assert first == second
    path, name, params = kept_file(first)
    assert (path.parent, name, params) == (home / "given", path.stem, {})
    assert [file.name for file in (home / "given").iterdir()] == [f"{name}.npz"]
    assert describe_data((X, y[::-1])) != first
    assert describe_data((X + 1, y)) != first


@pytest.mark.parametrize("form", [csr_array, coo_matrix])
def test_a_sparse_matrix_is_stored_as_sparse(form):
    X = form(np.array([[1, 0, 2], [0, 0, 3]], np.float32))
    path, _, _ = kept_file(describe_data((X, ["a", "b"])))
    with np.load(path) as kept:
        matrix = csr_array((kept["data"], kept["indices"], kept["indptr"]), shape=kept["shape"])
        assert kept["y"].tolist() == ["a", "b"]
    assert matrix.toarray().tolist() == [[1, 0, 2], [0, 0, 3]]


@pytest.mark.parametrize(
    "labels",
    [
        ["a", "b", "a"],
        ("a", "b", "a"),
        np.array(["a", "b", "a"]),
        np.array(["a", "b", "a"], object),
        pd.Series(["a", "b", "a"]),
        pd.Series(["a", "b", "a"], dtype="category"),
        pd.Series(["a", "b", "a"], index=[5, 6, 7]),
    ],
    ids=["list", "tuple", "array", "objects", "series", "categories", "other index"],
)
def test_labels_may_be_any_sequence(labels):
    wanted = describe_data((np.eye(3), ["a", "b", "a"]))
    described = describe_data((np.eye(3), labels))
    path, _, _ = kept_file(described)
    with np.load(path, allow_pickle=False) as kept:
        assert kept["y"].tolist() == ["a", "b", "a"]
    assert described == wanted


def test_texts_are_stored_line_by_line_with_their_labels(home):
    described = describe_data((["staff nurse", "größe\n2", ""], [1, "b", ["c", "d"]]))
    path, name, params = kept_file(described)
    assert (path.parent, path.stem, params) == (home / "given", name, {"text": "text", "label": "label"})
    assert [json.loads(line) for line in path.read_text().splitlines()] == [
        {"text": "staff nurse", "label": 1},
        {"text": "größe\n2", "label": "b"},
        {"text": "", "label": ["c", "d"]},
    ]


def test_texts_may_be_any_sequence():
    texts, labels = ["a b", "c d"], [1, 2]
    wanted = describe_data((texts, labels))
    assert describe_data((tuple(texts), np.array(labels))) == wanted
    assert describe_data((np.array(texts), labels)) == wanted
    assert describe_data((pd.Series(texts, index=[3, 4]), pd.Series(labels))) == wanted
    frame = pd.DataFrame({"title": texts, "code": labels})
    assert describe_data(frame, text="title", label="code") == wanted


def test_several_datasets_are_described_one_by_one():
    described = describe_data(["digits", (np.eye(2), [0, 1]), Path("in/a.csv")])
    assert described[0] == "digits"
    assert [parse_dataset(text).source for text in described[1:]][1] == "in/a.csv"


BAD = [
    (3, {}, "int is not data: expected a name, a file, (X, y), (texts, labels) or a data frame with text= and label="),
    (None, {}, "NoneType is not data"),
    ((np.eye(2), [0, 1], 3), {}, "tuple is not data"),
    ((np.zeros(3), [1, 2, 3]), {}, "X has shape (3,): expected rows x features, or a sequence of texts"),
    ((np.zeros((2, 2, 2)), [1, 2]), {}, "X has shape (2, 2, 2)"),
    ((["a", "b"], ["x"]), {}, "2 texts and 1 labels: expected one for each"),
    ((["a", "b"], [object(), "x"]), {}, "row 0: the label is <object"),
    ((np.eye(2), [0, 1, 2]), {}, "X has 2 rows and y has 3: expected one label, or row of labels, for each"),
    ((np.eye(2), 3), {}, "X has 2 rows and y has no: expected one label, or row of labels, for each"),
    ((np.array([["a", "b"]]), [1]), {}, "X holds values of type <U1: expected numbers"),
    ((np.array([[object(), 1]], object), [1]), {}, "X holds values of type object: expected numbers"),
    (([[1.0], [1.0, 2.0]], [1, 2]), {}, "X has rows of several lengths: expected numbers"),
    ((np.eye(2), [[1], [1, 2]]), {}, "y has rows of several lengths: expected a number or a text for each row, or"),
    ((np.eye(2), [object(), object()]), {}, "y holds values of type object: expected a number or a text for each row"),
    ((np.eye(2), [None, "a"]), {}, "y holds values of type object"),
]


@pytest.mark.parametrize(("data", "more", "message"), BAD, ids=[message[:40] for _, _, message in BAD])
def test_invalid_data_are_rejected_and_nothing_is_stored(home, data, more, message):
    with pytest.raises(DataError) as caught:
        describe_data(data, **more)
    assert message in str(caught.value)
    assert not home.exists()


def test_an_unwritable_data_home_raises_an_error_that_names_it(home, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path / "file" / "below"))
    with pytest.raises(DataError, match="below"):
        describe_data((np.eye(2), [0, 1]))
