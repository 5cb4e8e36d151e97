"""The data home: unsound data is refused with the culprit, sound data comes back whole, fingerprints tell changes."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import coo_array, csc_array, csr_array, issparse

from harness import Dataset, DatasetSpec, Taxonomy
from harness.data import (
    checked,
    data_home,
    fingerprint_of,
    folder_of,
    keep,
    open_dataset,
    parse_job,
    read_header,
)
from harness.errors import DataError
from harness.host import Entry, Origin

TREE = Taxonomy(np.array([-1, 0, 0, 1]), np.array([2, 3, 1]), ("all", "left", "right", "leaf"))


def dataset(**changes):
    """A small sound data set: four rows, five features, three classes, a tree and a split; one row is empty."""
    counts = np.array([[1, 0, 2, 0, 0], [0, 3, 0, 0, 0], [0, 0, 0, 0, 0], [0, 0, 0, 4, 0]], np.float32)
    whole = Dataset(
        X=csr_array(counts),
        y=np.array([0, 1, 2, 1]),
        class_names=("a", "b", "c"),
        taxonomy=TREE,
        splits={"official": (np.array([0, 2, 3]), np.array([1]))},
        found="four rows",
    )
    return replace(whole, **changes)


def with_value(value):
    X = dataset().X.copy()
    X.data[2] = value
    return X


def indicator(*rows):
    return csr_array(np.array(rows))


# -- checking --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"X": with_value(np.nan)}, r"row 1, feature 1 is nan \(1 such values\): remove or replace NaN and infinite"),
        ({"X": with_value(np.inf)}, "row 1, feature 1 is inf"),
        ({"X": with_value(-np.inf)}, "row 1, feature 1 is -inf"),
        ({"X": np.arange(5.0)}, r"X has shape \(5,\), expected rows x features"),
        ({"y": np.array([0, 1, 2])}, "3 labels for 4 rows"),
        ({"y": np.array([0, 1, 2, 3])}, "the label of row 3 is 3, expected 0 to 2"),
        ({"y": np.array([0, -1, 2, 1])}, "the label of row 1 is -1, expected 0 to 2"),
        ({"y": np.array([0.0, 1.0, 2.0, 1.0])}, "labels are float64 of shape"),
        ({"y": np.array(["a", "b", "c", "b"])}, "labels are <U1 of shape"),
        ({"y": np.zeros((4, 3), int)}, r"labels are int64 of shape \(4, 3\), expected class positions, 1-D"),
        ({"y": np.array(3)}, r"of shape \(\), expected class positions"),
        ({"y": indicator([1, 0], [0, 1], [1, 1], [1, 0])}, r"label matrix has shape \(4, 2\) for 3 classes"),
        ({"y": indicator([1, 0, 0])}, "1 labels for 4 rows"),
        ({"y": np.zeros(4, int), "class_names": ("only",)}, "it has 1 class, 'only': at least two are needed"),
        ({"class_names": ()}, "it has no classes"),
    ],
)
def test_unsound_rows_and_labels_are_refused_with_the_culprit(changes, reason):
    with pytest.raises(DataError, match=f"data set 'mine'.*{reason}"):
        checked("mine", dataset(**changes))


def test_data_in_canonical_form_is_not_copied_and_any_other_is_put_right_in_a_copy():
    sound = dataset()
    assert np.shares_memory(checked("toy", sound).X.data, sound.X.data)
    zero = dataset(X=with_value(0))
    before = zero.X.data.copy()
    assert checked("toy", zero).X.nnz == zero.X.nnz - 1
    assert zero.X.data.tolist() == before.tolist()


def tree(parent=(-1, 0, 0, 1), class_node=(2, 3, 1), names=()):
    return {"taxonomy": Taxonomy(np.array(parent), np.array(class_node), names)}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        (tree(parent=(-1, 0, 3, 2)), "has a cycle: node 2 never reaches the root"),
        (tree(parent=(-1, 1, 0, 0)), "has a cycle: node 1 never reaches the root"),
        (tree(parent=(-1, 0, -1, 1)), r"one root \(parent -1\) and parents within 0..3"),
        (tree(parent=(1, 2, 3, 0)), "one root"),
        (tree(parent=(-1, 0, 0, 4)), "parents within 0..3"),
        (tree(parent=(-1, 0, 0, -2)), "one root"),
        (tree(parent=(-1.0, 0.5, 0.0, 1.0)), "whole numbers"),
        (tree(class_node=(2, 3)), "must place each of the 3 classes at one of its nodes"),
        (tree(class_node=(2, 3, 4)), "must place each"),
        (tree(class_node=(2, 3, -1)), "must place each"),
        (tree(names=("all",)), "1 names for 4 nodes"),
    ],
)
def test_an_unsound_taxonomy_is_refused(changes, reason):
    with pytest.raises(DataError, match=f"data set 'mine': its taxonomy.*{reason}"):
        checked("mine", dataset(**changes))


@given(
    st.integers(1, 9).flatmap(lambda n: st.lists(st.integers(0, n - 1), min_size=n, max_size=n)),
    st.sets(st.integers(0, 8), min_size=1, max_size=2),
)
def test_a_taxonomy_passes_if_and_only_if_every_node_reaches_the_one_root(parents, made_roots):
    nodes = len(parents)
    parents = [-1 if node in made_roots else parent for node, parent in enumerate(parents)]
    roots = [node for node, parent in enumerate(parents) if parent == -1]
    reaches = []
    for start in range(nodes):
        above, steps = start, 0
        while above != -1 and steps <= nodes:
            above, steps = parents[above], steps + 1
        reaches.append(above == -1)
    sound = len(roots) == 1 and all(reaches)
    changes = tree(parent=parents, class_node=(0, nodes - 1, 0))
    if sound:
        assert checked("mine", dataset(**changes)).taxonomy.parent.tolist() == parents
    else:
        with pytest.raises(DataError, match="its taxonomy"):
            checked("mine", dataset(**changes))


@pytest.mark.parametrize(
    ("name", "parts", "reason"),
    [
        ("s", ([0, 1, 2], [2, 3]), "split 's' uses a row twice, or in both parts"),
        ("s", ([0, 0], [1]), "uses a row twice"),
        ("s", ([0, 4], [1]), "split 's' names rows outside 0..3"),
        ("s", ([0, -1], [1]), "names rows outside"),
        ("s", ([0.0, 1.0], [2.0]), "holds float64, expected positions of rows"),
        ("s", ([True, False, True, True], [False, True, False, False]), "holds bool"),
        ("a/b", ([0], [1]), "split name 'a/b' must be letters"),
        ("..", ([0], [0]), "uses a row twice"),
    ],
)
def test_an_unsound_split_is_refused(name, parts, reason):
    with pytest.raises(DataError, match=f"data set 'mine'.*{reason}"):
        checked("mine", dataset(splits={name: tuple(map(np.array, parts))}))


def test_what_is_no_dataset_is_refused():
    with pytest.raises(DataError, match=r"data set 'mine': its loader gave tuple, expected harness\.Dataset"):
        checked("mine", (1, 2))


@pytest.mark.parametrize(
    "form",
    [csr_array, csc_array, coo_array, np.asarray, lambda X: X.tolist(), lambda X: csr_array(X.astype(np.float64))],
)
def test_rows_in_any_form_become_the_same_canonical_one(form):
    expected, found = checked("mine", dataset()), checked("mine", dataset(X=form(dataset().X.toarray())))
    assert fingerprint_of(found) == fingerprint_of(expected)
    assert (found.X.dtype, found.X.indices.dtype, found.X.indptr.dtype) == (np.float32, np.int32, np.int32)


def test_duplicates_are_summed_and_stored_zeros_dropped():
    data, rows, columns = [1.0, 2.0, 0.0, 5.0, -5.0], [0, 0, 1, 3, 3], [2, 2, 0, 1, 1]
    X = coo_array((data, (rows, columns)), shape=(4, 5))
    found = checked("mine", dataset(X=X)).X
    assert found.toarray()[0, 2] == 3
    assert found.nnz == 1


def test_the_input_is_left_alone():
    given_X = csr_array((np.array([1.0, 2.0]), np.array([3, 3]), np.array([0, 2, 2, 2, 2])), shape=(4, 5))
    checked("mine", dataset(X=given_X))
    assert given_X.data.tolist() == [1.0, 2.0]
    assert given_X.dtype == np.float64


@pytest.mark.parametrize("dtype", [bool, np.int8, np.int64, np.float64])
def test_several_labels_become_an_indicator_of_ones(dtype):
    y = csr_array(np.array([[1, 0, 1], [0, 1, 0], [0, 0, 0], [1, 1, 1]]).astype(dtype))
    found = checked("mine", dataset(y=y)).y
    assert found.toarray().tolist() == y.toarray().astype(int).tolist()
    assert found.dtype == np.int8


def test_a_label_of_any_weight_is_one_label():
    y = csr_array(np.array([[256, 0, 0], [0, 0.5, 0], [0, 0, -1], [1, 1, 1]]))
    assert checked("mine", dataset(y=y)).y.toarray().tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]


# -- keeping and opening ---------------------------------------------------------------------------------------------


def assert_same(first, second):
    for matrix in ("X", "y"):
        one, other = getattr(first, matrix), getattr(second, matrix)
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        assert np.array_equal(*(m.toarray() if issparse(m) else m for m in (one, other)))
    assert first.class_names == second.class_names
    assert (first.taxonomy is None) == (second.taxonomy is None)
    if first.taxonomy is not None:
        assert np.array_equal(first.taxonomy.parent, second.taxonomy.parent)
        assert np.array_equal(first.taxonomy.class_node, second.taxonomy.class_node)
        assert first.taxonomy.node_names == second.taxonomy.node_names
    assert first.splits.keys() == second.splits.keys()
    for name in first.splits:
        assert all(map(np.array_equal, first.splits[name], second.splits[name]))
    assert first.found == second.found


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
    cut = draw(st.integers(0, rows))
    splits = {"cut": (np.arange(cut), np.arange(cut, rows))} if draw(st.booleans()) else {}
    return Dataset(csr_array(X), y, names, taxonomy, splits, draw(st.text()))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(datasets())
def test_what_is_kept_is_opened_again(tmp_path, data):
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


def test_the_header_tells_what_planning_needs(tmp_path):
    keep(checked("mine", dataset()), tmp_path / "kept")
    header = read_header(tmp_path / "kept")
    assert (header.rows, header.features, header.classes, header.nonzeros) == (4, 5, 3, 4)
    assert (header.empty_rows, header.negative, header.multilabel, header.largest_class) == (1, False, False, 2)
    assert (header.taxonomy_depth, header.splits) == (2, {"official": (3, 1)})
    assert (header.found, header.folder) == ("four rows", str(tmp_path / "kept"))


def test_opened_arrays_cannot_be_written(tmp_path):
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


def test_a_data_set_that_is_not_kept_has_no_header(tmp_path):
    assert read_header(tmp_path / "nothing") is None


@pytest.mark.parametrize("content", ["", "{", "[]", "null", "{}", '{"splits": 3}', '{"splits": {}}', "\x00"])
def test_a_damaged_header_is_named_with_the_way_out(tmp_path, content):
    keep(checked("mine", dataset()), tmp_path / "kept")
    (tmp_path / "kept" / "header.json").write_text(content)
    with pytest.raises(DataError, match=r"kept is damaged .*: remove it, and the data set is parsed again"):
        read_header(tmp_path / "kept")


def test_a_header_with_a_field_of_another_release_is_damaged(tmp_path):
    keep(checked("mine", dataset()), tmp_path / "kept")
    path = tmp_path / "kept" / "header.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"brand_new": 1}))
    with pytest.raises(DataError, match="is damaged"):
        read_header(tmp_path / "kept")


def test_keeping_twice_is_harmless_and_leaves_nothing_beside(tmp_path):
    for _ in range(2):
        keep(checked("mine", dataset()), tmp_path / "home" / "kept")
    assert [path.name for path in (tmp_path / "home").iterdir()] == ["kept"]
    assert_same(open_dataset(tmp_path / "home" / "kept"), checked("mine", dataset()))


def test_something_else_in_the_way_is_named(tmp_path):
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "something").touch()
    with pytest.raises(DataError, match="kept is in the way"):
        keep(checked("mine", dataset()), tmp_path / "kept")
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


def test_a_data_home_that_cannot_be_written_is_named_with_the_way_out(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"cannot write the data home .*file/home .*: set HARNESS_DATA_HOME"):
        keep(checked("mine", dataset()), tmp_path / "file" / "home" / "kept")


# -- places ----------------------------------------------------------------------------------------------------------


def test_the_data_home_is_where_the_environment_says(monkeypatch, tmp_path):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path))
    assert data_home() == tmp_path
    monkeypatch.delenv("HARNESS_DATA_HOME")
    assert data_home() != tmp_path
    assert data_home().is_absolute()


def entry(version="1.0", **changes):
    spec = DatasetSpec(name="mine", load="somewhere:load")
    return Entry(replace(spec, **changes), Origin("mine", "dist", version))


def test_all_that_decides_the_content_decides_the_folder(monkeypatch, tmp_path):
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


# -- the job that parses ---------------------------------------------------------------------------------------------


def load_sound():
    return dataset()


def load_unsound():
    return dataset(X=with_value(np.nan))


def load_refusing(rows=0):
    raise ValueError(f"rows={rows} is too few")


def load_failing():
    raise KeyError("gone")


@pytest.fixture
def parse(tmp_path):
    """Runs the job on a loader of this file; gives the answer and the folder."""

    def run(load, **params):
        folder = tmp_path / "kept"
        payload = {"name": "mine", "load": f"{__name__}:{load}", "params": params, "folder": str(folder)}
        phases = []
        answer, blob = parse_job(payload, phases.append)
        assert blob is None
        assert phases[0] == "loading"
        return answer, folder

    return run


def test_parsing_keeps_what_is_sound(parse):
    answer, folder = parse("load_sound")
    assert answer == {}
    assert_same(open_dataset(folder), checked("mine", dataset()))


@pytest.mark.parametrize(
    ("load", "reason"),
    [
        ("load_unsound", "data set 'mine': row 1, feature 1 is nan"),
        ("load_refusing", "data set 'mine': rows=3 is too few"),
        ("load_failing", "data set 'mine': KeyError: 'gone'"),
        ("load_missing", "data set 'mine': AttributeError: module"),
    ],
)
def test_parsing_answers_with_the_reason_and_keeps_nothing(parse, load, reason):
    answer, folder = parse(load, **({"rows": 3} if load == "load_refusing" else {}))
    assert answer["error"].startswith(reason)
    assert not folder.exists()
