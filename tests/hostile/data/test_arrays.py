"""Parsed datasets: stored and reopened, fingerprints detect changes, damage is named."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_array, issparse

from harness import Dataset, DatasetSpec, Taxonomy
from harness.errors import DataError
from internals import Entry, Origin, checked, data_home, fingerprint_of, folder_of, keep, open_dataset, read_header
from messages import naming
from small_data import TREE, assert_same, dataset, indicator, tree, with_value


@st.composite
def datasets(draw):
    rows, features, classes = draw(st.integers(0, 6)), draw(st.integers(1, 5)), draw(st.integers(2, 4))
    X = draw(arrays(np.float32, (rows, features), elements=st.sampled_from([0, 0, 1, 2.5, -1])))
    if draw(st.booleans()):
        y = csr_array(draw(arrays(np.int8, (rows, classes), elements=st.integers(0, 1))))
    else:
        y = draw(arrays(np.int64, rows, elements=st.integers(0, classes - 1)))
    names = tuple(draw(st.lists(st.text(), min_size=classes, max_size=classes)))
    taxonomy = Taxonomy(np.array([-1] + [0] * classes), 1 + np.arange(classes)) if draw(st.booleans()) else None
    if taxonomy is not None and draw(st.booleans()):
        numbers = np.arange(2.0 * classes + 2)
        costs = numbers.reshape(-1, 2)
        taxonomy = replace(taxonomy, more_parents=np.array([[1, 2]]), weights=numbers[: classes + 1], costs=costs)
    cut = draw(st.integers(0, rows))
    splits = {"cut": (np.arange(cut), np.arange(cut, rows))} if draw(st.booleans()) else {}
    return Dataset(csr_array(X), y, names, taxonomy, splits, draw(st.text()))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(datasets())
def test_a_stored_dataset_is_reopened(tmp_path, data):
    sound = checked("mine", data)
    folder = tmp_path / fingerprint_of(sound) / str(abs(hash(data.found)))
    if not folder.exists():
        keep(sound, folder)
    assert_same(open_dataset(folder), sound)
    header = read_header(folder)
    assert header.fingerprint == fingerprint_of(sound)
    assert (header.rows, header.features, header.classes) == (*sound.X.shape, len(sound.class_names))
    assert header.multilabel == issparse(sound.y)
    assert header.negative == (sound.X.toarray() < 0).any()
    assert header.empty_rows == (~sound.X.toarray().any(axis=1)).sum()


def test_the_header_has_the_facts_for_planning(tmp_path):
    keep(checked("mine", dataset()), tmp_path / "kept")
    header = read_header(tmp_path / "kept")
    assert (header.rows, header.features, header.classes, header.nonzeros) == (4, 5, 3, 4)
    assert (header.empty_rows, header.negative, header.multilabel, header.largest_class) == (1, False, False, 2)
    assert (header.taxonomy_depth, header.splits) == (2, {"official": (3, 1)})
    assert (header.found, header.folder) == ("four rows", str(tmp_path / "kept"))


def test_opened_arrays_are_read_only(tmp_path):
    keep(checked("mine", dataset()), tmp_path / "kept")
    opened = open_dataset(tmp_path / "kept")
    with pytest.raises(ValueError, match="read-only"):
        opened.X.data[0] = 9


CHANGES = {
    "a value": {"X": with_value(9.0)},
    "one more feature": {"X": csr_array(np.hstack([dataset().X.toarray(), np.zeros((4, 1))]))},
    "a label": {"y": np.array([0, 1, 2, 2])},
    "a class name": {"class_names": ("a", "b", "d")},
    "one more class": {"class_names": ("a", "b", "c", "d"), "taxonomy": None},
    "several labels": {"y": indicator([1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 1, 0])},
    "no tree": {"taxonomy": None},
    "another parent": tree(parent=(-1, 0, 0, 2), names=TREE.node_names),
    "another parent of a node": {"taxonomy": replace(TREE, more_parents=np.array([[3, 2]]))},
    "weights": {"taxonomy": replace(TREE, weights=np.ones(4))},
    "costs": {"taxonomy": replace(TREE, costs=np.ones((4, 2)))},
    "another node": tree(class_node=(2, 3, 3), names=TREE.node_names),
    "no node names": tree(),
    "no split": {"splits": {}},
    "another split": {"splits": {"official": (np.array([0, 2]), np.array([1]))}},
    "another order of a split": {"splits": {"official": (np.array([2, 0, 3]), np.array([1]))}},
    "another split's name": {"splits": {"other": dataset().splits["official"]}},
    "the order of the rows": {"X": dataset().X[[1, 0, 2, 3]]},
}


def test_every_change_of_content_changes_the_fingerprint():
    prints = {what: fingerprint_of(checked("mine", dataset(**changes))) for what, changes in CHANGES.items()}
    prints["nothing"] = fingerprint_of(checked("mine", dataset()))
    assert len(set(prints.values())) == len(prints)


@pytest.mark.parametrize(
    "changes",
    [
        {"found": "said otherwise"},
        {"y": np.array([0, 1, 2, 1], np.int8)},
        {"class_names": np.array(["a", "b", "c"])},
        {"X": dataset().X.astype(np.float64)},
        {"taxonomy": Taxonomy(TREE.parent.astype(np.int16), TREE.class_node.astype(np.int32), list(TREE.node_names))},
        {"splits": {"official": ([0, 2, 3], [1])}},
    ],
)
def test_the_same_content_in_another_form_has_the_same_fingerprint(changes):
    expected = fingerprint_of(checked("mine", dataset()))
    assert fingerprint_of(checked("mine", dataset(**changes))) == expected


def test_a_dataset_that_is_not_stored_has_no_header(tmp_path):
    assert read_header(tmp_path / "nothing") is None


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "{}", '{"splits": 3}', '{"splits": {}}', "\x00"])
def test_a_damaged_header_raises_an_error_with_the_next_step(tmp_path, content):
    keep(checked("mine", dataset()), tmp_path / "kept")
    (tmp_path / "kept" / "header.json").write_text(content)
    with pytest.raises(DataError, match=naming("kept", "damaged")):
        read_header(tmp_path / "kept")


def test_a_header_with_a_field_of_another_release_is_damaged(tmp_path):
    keep(checked("mine", dataset()), tmp_path / "kept")
    path = tmp_path / "kept" / "header.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"brand_new": 1}))
    with pytest.raises(DataError, match="is damaged"):
        read_header(tmp_path / "kept")


def test_storing_twice_is_harmless_and_leaves_no_other_files(tmp_path):
    for _ in range(2):
        keep(checked("mine", dataset()), tmp_path / "home" / "kept")
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["kept"]
    assert_same(open_dataset(tmp_path / "home" / "kept"), checked("mine", dataset()))


def test_another_file_at_the_target_path_raises_an_error_that_names_it(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "something").touch()
    with pytest.raises(DataError, match=naming("kept")):
        keep(checked("mine", dataset()), tmp_path / "kept")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_an_unwritable_data_home_raises_an_error_with_the_next_step(tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path / "file" / "home"))
    with pytest.raises(DataError, match=naming("file/home", "--data-home", "HARNESS_DATA_HOME")):
        keep(checked("mine", dataset()), tmp_path / "file" / "home" / "kept")


def test_the_environment_variable_sets_the_data_home(monkeypatch, tmp_path):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path))
    assert data_home() == tmp_path
    monkeypatch.delenv("HARNESS_DATA_HOME")
    assert data_home() != tmp_path
    assert data_home().is_absolute()


def entry(version="1.0", **changes):
    spec = DatasetSpec(name="mine", load="somewhere:load")
    return Entry(replace(spec, **changes), Origin("mine", "dist", version))


def test_everything_that_determines_the_content_determines_the_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path))
    folders = [
        folder_of(entry(), {"rows": 1}),
        folder_of(entry(), {"rows": 2}),
        folder_of(entry(version="1.1"), {"rows": 1}),
        folder_of(entry(), {"rows": 1, "seed": 0}),
        folder_of(Entry(replace(entry().spec, version=2), entry().origin), {"rows": 1}),
        folder_of(entry(stamp="platform:python_version"), {"rows": 1}),
    ]
    assert len(set(folders)) == len(folders)
    assert folder_of(entry(), {"a": 1, "b": 2}) == folder_of(entry(summary="else"), {"b": 2, "a": 1})
    assert all(folder.parent == tmp_path / "parsed" and folder.name.startswith("mine-") for folder in folders)


def test_group_and_time_columns_are_stored_under_any_name(tmp_path):
    groups, times = {"../Job Title": [0, 0, 1]}, {"when": [2, 0, 1], "then": [0, 0, 0]}
    texts = ["x", "y", "z"]
    data = checked("t", Dataset(None, np.array([0, 1, 0]), ("a", "b"), texts=texts, groups=groups, times=times))
    keep(data, tmp_path / "kept")
    header, opened = read_header(tmp_path / "kept"), open_dataset(tmp_path / "kept")
    assert (header.groups, header.times) == (("../Job Title",), ("when", "then"))
    assert {name: codes.tolist() for name, codes in opened.groups.items()} == groups
    assert {name: codes.tolist() for name, codes in opened.times.items()} == times
    without = checked("t", Dataset(None, np.array([0, 1, 0]), ("a", "b"), texts=texts))
    assert fingerprint_of(opened) == header.fingerprint != fingerprint_of(without)


@pytest.mark.parametrize("codes", [[0, 1], [0.5, 1.0, 2.0], [[0], [1], [2]]])
def test_a_column_without_an_integer_per_row_is_rejected(codes):
    data = Dataset(None, np.array([0, 1, 0]), ("a", "b"), texts=["x", "y", "z"], groups={"who": codes})
    with pytest.raises(DataError, match=naming("who", "3")):
        checked("t", data)
