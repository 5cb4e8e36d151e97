"""Damaged and forged model folders: no code runs, no prediction changes silently, ModelError names the culprit."""

import hashlib
import json
import os
import shutil
import sys

import numpy as np
import pytest

import harness
from harness.errors import ModelError
from internals import calibrator_from_plain, class_named, read_model, seal_of, write_arrays
from messages import naming
from small_titles import titles

TEXTS, _ = titles(40, seed=3)


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "m"
    harness.fit("pa", titles(), representation="words+chars", out=folder)
    return folder


@pytest.fixture
def folder(original, tmp_path):
    return shutil.copytree(original, tmp_path / "copy")


def manifest_of(folder):
    return json.loads((folder / "manifest.json").read_text())


def forge(folder, plain):
    """Write a manifest with a valid checksum, as an attacker would."""
    (folder / "manifest.json").write_text(json.dumps(plain | {"sha256": seal_of(plain)}))


def forge_file(folder, name, content):
    """Write a file, and its size and checksum into the manifest."""
    (folder / name).write_bytes(content)
    plain = manifest_of(folder)
    plain["files"][name] = {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    forge(folder, plain)


def refused(folder, *parts):
    with pytest.raises(ModelError, match=naming(*parts)):
        harness.load_model(folder)


# -- code ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def payload(tmp_path, monkeypatch):
    """A module that can be imported and leaves a trace."""
    (tmp_path / "payload.py").write_text(
        "import pathlib\nfrom sklearn.base import BaseEstimator\n"
        "pathlib.Path(__file__).with_name('trace').touch()\n"
        "class Learner(BaseEstimator):\n    load = classmethod(lambda cls, path: cls())\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    yield tmp_path / "trace"
    sys.modules.pop("payload", None)


@pytest.mark.parametrize("name", ["pa", "payload:Learner"])
def test_a_module_of_no_plugin_is_not_imported(folder, payload, name):
    plain = manifest_of(folder)
    forge(folder, plain | {"learner": plain["learner"] | {"name": name, "load": "payload:Learner"}})
    refused(folder, "payload:Learner", "--trust")
    assert not payload.exists()


def test_a_trusted_class_is_imported(folder, payload):
    plain = manifest_of(folder)
    forge(folder, plain | {"learner": plain["learner"] | {"name": "payload:Learner", "load": "payload:Learner"}})
    with pytest.raises(ModelError, match="class names"):  # the payload has no classes: it was loaded
        harness.load_model(folder, trusted=["payload.Learner"])
    assert payload.exists()


@pytest.mark.parametrize(
    "load", ["os:system", "pickle:Unpickler", ".foo:bar", "", ":", "harness_prototype:", "a b:c", "\0:x", "\ud800:x"]
)
def test_the_name_of_a_class_is_checked(folder, load):
    plain = manifest_of(folder)
    forge(folder, plain | {"learner": plain["learner"] | {"load": load}})
    refused(folder, "model")


def test_a_representation_of_no_plugin_is_not_imported(folder, payload):
    plan = {"kind": "saved", "class": "payload:Learner", "file": "1.1.npz"}
    forge_file(folder, "representation/representation.json", json.dumps(plan).encode())
    refused(folder, "payload:Learner")
    assert not payload.exists()


def test_only_estimators_are_classes_of_models():
    with pytest.raises(ValueError, match="not an estimator"):
        class_named("json:JSONDecoder")


# -- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["learner.npz", "manifest.json"])
def test_pipes_and_links_are_not_read(folder, name):
    for make in (os.mkfifo, lambda path: os.symlink("/dev/zero", path)):
        (folder / name).unlink()
        make(folder / name)
        refused(folder, name)


def test_a_linked_folder_is_not_read(folder, tmp_path):
    shutil.move(folder / "representation", tmp_path / "elsewhere")
    (folder / "representation").symlink_to(tmp_path / "elsewhere")
    refused(folder, "representation", "link")


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "", "a\0b", "\ud800", "x" * 300])
def test_the_names_of_files_stay_inside_the_folder(folder, name):
    plain = manifest_of(folder)
    forge(folder, plain | {"files": plain["files"] | {name: {"bytes": 1, "sha256": ""}}})
    refused(folder, "model")


def test_a_file_that_is_not_listed_is_not_read(folder):
    plain = manifest_of(folder)
    del plain["files"]["representation/1.1.npz"]
    forge(folder, plain)
    refused(folder, "1.1.npz")


@pytest.mark.parametrize(
    "plan",
    [
        {"kind": "chain", "members": []},
        {"kind": "union", "members": [{"kind": "chain", "members": []}]},
        {"kind": "chain", "members": None},
        {"kind": "saved"},
        [],
        "text",
    ],
)
def test_a_representation_that_makes_no_sense_is_refused(folder, plan):
    forge_file(folder, "representation/representation.json", json.dumps(plan).encode())
    refused(folder, "representation")


def test_no_file_of_a_representation_is_used_twice(folder):
    plan = json.loads((folder / "representation/representation.json").read_text())
    forge_file(
        folder, "representation/representation.json", json.dumps({"kind": "chain", "members": [plan, plan]}).encode()
    )
    refused(folder, "representation", "twice")


@pytest.mark.parametrize("name", ["manifest.json", "classes.json", "representation/representation.json"])
def test_json_that_is_nested_too_deeply_is_refused(folder, name):
    deep = b"[" * 200_000
    if name == "manifest.json":
        (folder / name).write_bytes(deep)
    else:
        forge_file(folder, name, deep)
    refused(folder, "model")


@pytest.mark.parametrize("names", [["\ud800", "b"], [1, 2], "ab", None, []])
def test_class_names_that_make_no_sense_are_refused(folder, names):
    forge_file(folder, "classes.json", json.dumps({"names": names, "taxonomy": None}).encode())
    refused(folder, "model")


@pytest.mark.parametrize(
    "parent", [[1, 0], [-1, 2, 1], [-1, 5], [[-1]], [10**30], []], ids=["cycle", "ring", "far", "2-d", "huge", "none"]
)
def test_a_taxonomy_that_makes_no_sense_is_refused(original, folder, parent):
    names = json.loads((original / "classes.json").read_text())["names"]
    tree = {"parent": parent, "class_node": [0] * len(names), "node_names": []}
    forge_file(folder, "classes.json", json.dumps({"names": names, "taxonomy": tree}).encode())
    refused(folder, "classes.json")


@pytest.mark.parametrize("more", [{"more_parents": [[1, 1]]}, {"more_parents": 3}, {"weights": [1]}, {"costs": [[1]]}])
def test_further_parents_weights_and_costs_that_make_no_sense_are_refused(original, folder, more):
    names = json.loads((original / "classes.json").read_text())["names"]
    tree = {"parent": [-1, 0], "class_node": [1] * len(names), "node_names": [], **more}
    forge_file(folder, "classes.json", json.dumps({"names": names, "taxonomy": tree}).encode())
    refused(folder, "classes.json")


def test_an_array_that_claims_more_than_the_file_has_is_refused(tmp_path):
    path = tmp_path / "a.npz"
    with path.open("wb") as file:
        write_arrays(file, {"x": np.zeros(3)})
    content = path.read_bytes()
    assert content.count(b"(3,), }       ") == 1
    path.write_bytes(content.replace(b"(3,), }       ", b"(39999999,), }"))
    for mapped in (False, True):
        with pytest.raises(ValueError, match="damaged"):
            read_model(path, mapped=mapped)


@pytest.fixture(scope="module")
def with_rows(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "kept"
    harness.fit("pa", titles(), representation="words", keep_rows=True, out=folder)
    return folder


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("bounds", [0, -1]),
        ("starts", [0, 10**9]),
        ("indices", 10**6),
        ("labels", 99),
        ("labels", -1),
        ("label_starts", [5, 0]),
        ("data", 1),
        ("features", 0),
    ],
)
def test_kept_rows_that_do_not_fit_together_are_refused(with_rows, tmp_path, name, values):
    folder = shutil.copytree(with_rows, tmp_path / "copy")
    with np.load(folder / "rows.npz") as archive:
        arrays = dict(archive)
    if isinstance(values, list):
        arrays[name] = np.array(values)
    elif name == "data":
        arrays[name] = arrays[name].astype(np.int64)
    else:
        arrays[name] = np.full_like(arrays[name], values)
    with (tmp_path / "rows.npz").open("wb") as file:
        write_arrays(file, arrays)
    forge_file(folder, "rows.npz", (tmp_path / "rows.npz").read_bytes())
    refused(folder, "rows.npz")


def test_kept_rows_are_covered_by_a_checksum(with_rows, tmp_path):
    folder = shutil.copytree(with_rows, tmp_path / "copy")
    content = bytearray((folder / "rows.npz").read_bytes())
    content[len(content) // 2] ^= 1
    (folder / "rows.npz").write_bytes(content)
    refused(folder, "rows.npz", "checksum")


# -- the manifest ----------------------------------------------------------------------------------------------------


def test_no_changed_bit_of_the_manifest_changes_a_prediction(original, folder):
    before = harness.load_model(original).answer(TEXTS, 2)
    path = folder / "manifest.json"
    content = path.read_bytes()
    random = np.random.default_rng(0)
    n_refused = 0
    for place, bit in zip(random.integers(0, len(content), 150), random.integers(0, 8, 150), strict=True):
        changed = bytearray(content)
        changed[place] ^= 1 << bit
        path.write_bytes(changed)
        try:
            after = harness.load_model(folder).answer(TEXTS, 2)
        except ModelError:
            n_refused += 1
            continue
        assert np.array_equal(before.names, after.names)
        assert np.array_equal(before.confidence, after.confidence)
    assert n_refused > 100  # the others changed white space


@pytest.mark.parametrize(
    "change",
    [
        {"takes_text": "yes"},
        {"calibrator": None},
        {"calibrator": []},
        {"calibrator": "constant"},
        {"data": {}},
        {"files": {"learner.npz": None}},
        {"expected": 3},
        {"learner": {"name": 3}},
    ],
)
def test_values_of_wrong_types_are_refused(folder, change):
    forge(folder, manifest_of(folder) | change)
    refused(folder, "model")


@pytest.mark.parametrize(
    "plain",
    [
        {"kind": "constant", "share": 5.88},
        {"kind": "constant", "share": "0.5"},
        {"kind": "isotonic", "gaps": [0.0, 1.0], "shares": [0.2, 1.2]},
        {"kind": "isotonic", "gaps": [1.0, 0.0], "shares": [0.2, 0.9]},
        {"kind": "isotonic", "gaps": [0.0, 1.0], "shares": [0.9, 0.2]},
        {"kind": "isotonic", "gaps": [0.0, float("nan")], "shares": [0.2, 0.9]},
        {"kind": "isotonic", "gaps": [], "shares": []},
        {"kind": "isotonic", "gaps": [0.0], "shares": [0.2, 0.9]},
        {"kind": "logistic", "scales": [1.0, 0.0], "weights": [1.0, 1.0], "intercept": 0.0},
        {"kind": "logistic", "scales": [1.0, 1.0], "weights": [1.0, float("inf")], "intercept": 0.0},
        {"kind": "logistic", "scales": [1.0], "weights": [1.0, 1.0], "intercept": 0.0},
        {"kind": []},
        None,
    ],
)
def test_a_calibrator_that_makes_no_sense_is_refused(plain):
    with pytest.raises(ValueError, match="no calibration"):
        calibrator_from_plain(plain)
