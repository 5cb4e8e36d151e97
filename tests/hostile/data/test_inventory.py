"""Inventory of the data home: states, detection of every changed byte, safe removal."""

import hashlib
import json

import numpy as np
import pytest
from scipy.sparse import csr_array

from harness import Dataset, DatasetSpec, RawFile
from internals import DATA_MANIFEST as MANIFEST
from internals import (
    Entry,
    Manifest,
    Origin,
    RawEntry,
    available_names,
    belongings,
    bytes_of,
    current_file,
    default_form,
    download_folder,
    folder_of,
    hash_file,
    keep,
    kept_forms,
    raw_folder,
    raw_root,
    state_of,
    verify,
    work_folder,
    write_manifest,
)
from messages import assert_names

ORIGIN = Origin("toy", "toy-dist", "1.0")
FETCHED = (RawFile(name="a", urls=("https://example.org/a",)),)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def entry(name="toy", **more):
    return Entry(DatasetSpec(name=name, load="nowhere:load", parameters={}, **more), ORIGIN)


def lay_raw(name="toy", content=b"raw content", **more):
    """Write one raw file as an import does, and return its path."""
    file = RawEntry("in/a", len(content), hashlib.sha256(content).hexdigest(), "imported", "now")
    manifest = Manifest(name, (file,), **more)
    folder = raw_root() / manifest.folder_name()
    (folder / "in").mkdir(parents=True)
    (folder / "in" / "a").write_bytes(content)
    write_manifest(folder, manifest)
    current_file(name).write_text(f"{folder.name}\n")
    return folder / "in" / "a"


def lay_parsed(of=None):
    folder = folder_of(of or entry(), {})
    keep(Dataset(csr_array(np.eye(4, dtype=np.float32)), np.array([0, 1, 0, 1]), ("x", "y")), folder)
    return folder


def troubles(of=None):
    return [(finding.path, finding.trouble) for finding in verify(of or entry()) if finding.trouble]


# -- states ----------------------------------------------------------------------------------------------------------


def test_a_dataset_without_files_is_built_in_until_parsed():
    assert state_of(entry().spec) == "built in"
    lay_parsed()
    assert state_of(entry().spec) == "parsed"


def test_a_dataset_of_files_is_missing_then_present_then_parsed():
    some = (*FETCHED, RawFile(name="b"))
    assert state_of(entry(files=FETCHED).spec) == "to fetch"
    assert state_of(entry(files=some).spec) == "to import"
    assert state_of(entry(obtain="a disc").spec) == "to import"
    lay_raw()
    assert state_of(entry(files=some).spec) == "raw there"
    lay_parsed()
    assert state_of(entry(files=some).spec) == "parsed"


def test_parsed_data_without_raw_files_is_unusable():
    lay_parsed()
    assert state_of(entry(files=FETCHED).spec) == "to fetch"


def test_user_datasets_are_marked():
    assert state_of(entry(opens=(".csv",)).spec) == "your file"
    assert state_of(entry(wraps="dataset").spec) == "your choice"


def test_a_name_with_the_prefix_of_another_has_its_own_data():
    lay_parsed(entry("toy-more"))
    lay_raw("toy-more")
    (raw_folder("toy-more").parent / ".toy-more-abcd1234").mkdir()
    assert list(kept_forms("toy")) == []
    assert belongings(["toy"]) == []
    assert (
        len(belongings(["toy-more"])) == 4
    )  # the parsed form, the raw files, what makes them current, the killed import


def test_sizes_are_those_of_all_files():
    assert bytes_of("toy") == 0
    lay_raw(content=bytes(1000))
    beside = (raw_folder("toy") / MANIFEST).stat().st_size + current_file("toy").stat().st_size
    assert bytes_of("toy") == 1000 + beside


# -- verifying -------------------------------------------------------------------------------------------------------


def test_valid_data_has_no_problems():
    lay_raw()
    lay_parsed()
    assert [finding.trouble for finding in verify(entry(facts={"rows": 4}))] == ["", "", ""]


def test_a_flipped_byte_in_a_raw_file_is_found():
    path = lay_raw()
    path.write_bytes(b"rAw content")
    ((where, trouble),) = troubles()
    assert where == path
    assert "has changed: SHA-256 " in trouble


def test_missing_longer_and_unknown_raw_files_are_found():
    path = lay_raw()
    path.write_bytes(b"raw content and more")
    (path.parent / "b").write_bytes(b"")
    assert troubles() == [
        (path, "has 20 bytes, expected 11 by the manifest"),
        (path.parent / "b", "is not in the manifest"),
    ]
    path.unlink()
    assert (path, "is missing") in troubles()


def test_raw_files_without_a_manifest_or_with_a_damaged_one_are_found():
    path = lay_raw()
    (raw_folder("toy") / MANIFEST).write_text("{")
    assert "is damaged" in troubles()[0][1]
    assert_names(troubles()[0][1], "harness data clear toy --raw")
    (raw_folder("toy") / MANIFEST).unlink()
    assert troubles() == [
        (raw_folder("toy"), f"has no manifest.json. `harness data import toy {raw_folder('toy')}` writes one.")
    ]
    assert path.exists()


def test_an_edited_manifest_is_found():
    path = lay_raw()
    path.write_bytes(b"other bytes")
    file = RawEntry("in/a", 11, hash_file(path), "imported", "now")
    write_manifest(raw_folder("toy"), Manifest("toy", (file,)))
    edited = raw_folder("toy") / MANIFEST
    assert troubles() == [(edited, "has changed: its content does not match the name of its folder")]


@pytest.mark.parametrize("array", ["X_data", "X_indices", "X_indptr", "y"])
def test_a_flipped_byte_in_a_parsed_array_is_found(array):
    folder = lay_parsed()
    path = folder / ("labels" if array == "y" else "rows") / f"{array}.npy"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    ((where, trouble),) = troubles()
    assert where == folder
    assert "has changed: fingerprint" in trouble or "is damaged" in trouble


def test_unreadable_parsed_data_is_found():
    folder = lay_parsed()
    (folder / "labels" / "y.npy").write_bytes(b"")
    assert "is damaged" in troubles()[0][1]


def test_edited_counts_are_found():
    folder = lay_parsed()
    header = json.loads((folder / "header.json").read_text())
    (folder / "header.json").write_text(json.dumps(header | {"empty_rows": 2}))
    assert troubles() == [(folder, "has changed: the counts in its header are not those of its arrays")]


def test_wrong_facts_are_found_unless_accepted():
    described = entry(facts={"rows": 5, "taxonomy_depth": 2})
    folder = lay_parsed(described)
    text = "rows 5 expected, 4 found", "taxonomy_depth 2 expected, None found"
    assert troubles(described) == [(folder, f"is not as described: {text[0]}; {text[1]}")]
    lay_raw(differences=text)
    assert troubles(described) == []


def test_a_missing_dataset_has_no_parsed_data():
    assert default_form(entry()) is None
    assert list(verify(entry())) == []


# -- clearing --------------------------------------------------------------------------------------------------------


def test_the_files_of_a_dataset_are_listed_by_kind(home):
    lay_raw()
    parsed = lay_parsed()
    download_folder("toy").mkdir(parents=True)
    beside = home / "raw" / ".toy-ab_d1234"
    beside.mkdir()
    killed_parse = home / "parsed" / f".{parsed.name}-ab_d1234"
    killed_parse.mkdir()
    (home / "raw" / "photos").mkdir()
    assert belongings(["toy"], raw=False) == [killed_parse, parsed]
    raw = [beside, raw_folder("toy"), current_file("toy"), download_folder("toy")]
    assert belongings(["toy"], parsed=False) == raw
    assert available_names(["toy", "absent"]) == ["toy"]


def test_unfinished_files_belong_to_no_dataset(home):
    parsed = lay_parsed()
    with work_folder(home / "parsed", parsed.name):
        assert belongings(["toy"]) == [parsed]


def test_only_marked_data_of_a_removed_plugin_is_found(home):
    lay_raw("gone")
    lay_parsed(entry("parsed-only"))
    (home / "raw" / "photos").mkdir()
    (home / "parsed" / "thesis-0123456789abcdef").mkdir()
    assert available_names([]) == ["gone", "parsed-only"]
