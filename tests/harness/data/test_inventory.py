"""What lies in the data home: states told right, every changed byte found, nothing removed that is not its own."""

import hashlib
import json

import numpy as np
import pytest
from scipy.sparse import csr_array

from harness import Dataset, DatasetSpec, RawFile
from harness.catalog import Entry, Origin
from harness.data.arrays import folder_of, keep
from harness.data.downloading import hash_file
from harness.data.folders import work_folder
from harness.data.inventory import belongings, bytes_of, default_form, kept_forms, names_at_hand, state_of, verify
from harness.home import (
    MANIFEST,
    Manifest,
    RawEntry,
    current_file,
    download_folder,
    raw_folder,
    raw_root,
    write_manifest,
)

ORIGIN = Origin("toy", "toy-dist", "1.0")
FETCHED = (RawFile(name="a", urls=("https://example.org/a",)),)


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def entry(name="toy", **more):
    return Entry(DatasetSpec(name=name, load="nowhere:load", parameters={}, **more), ORIGIN)


def lay_raw(name="toy", content=b"raw content", **more):
    """One raw file, as an import lays it; gives its path."""
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


def test_a_data_set_without_files_is_built_in_until_it_is_parsed():
    assert state_of(entry().spec) == "built in"
    lay_parsed()
    assert state_of(entry().spec) == "parsed"


def test_a_data_set_of_files_is_to_be_fetched_or_imported_then_there_then_parsed():
    some = (*FETCHED, RawFile(name="b"))
    assert state_of(entry(files=FETCHED).spec) == "to fetch"
    assert state_of(entry(files=some).spec) == "to import"
    assert state_of(entry(obtain="a disc").spec) == "to import"
    lay_raw()
    assert state_of(entry(files=some).spec) == "raw there"
    lay_parsed()
    assert state_of(entry(files=some).spec) == "parsed"


def test_a_parsed_form_without_its_raw_files_is_of_no_use():
    lay_parsed()
    assert state_of(entry(files=FETCHED).spec) == "to fetch"


def test_data_sets_of_the_users_own_are_said_to_be():
    assert state_of(entry(opens=(".csv",)).spec) == "your file"
    assert state_of(entry(wraps="dataset").spec) == "your choice"


def test_a_name_that_begins_like_another_keeps_its_own():
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


def test_sound_data_is_sound():
    lay_raw()
    lay_parsed()
    assert [finding.trouble for finding in verify(entry(facts={"rows": 4}))] == ["", "", ""]


def test_a_flipped_byte_in_a_raw_file_is_found():
    path = lay_raw()
    path.write_bytes(b"rAw content")
    ((where, trouble),) = troubles()
    assert where == path
    assert "has changed: SHA-256 " in trouble


def test_a_missing_a_longer_and_an_unknown_raw_file_are_found():
    path = lay_raw()
    path.write_bytes(b"raw content and more")
    (path.parent / "b").write_bytes(b"")
    assert troubles() == [
        (path, "has 20 bytes, the manifest says 11"),
        (path.parent / "b", "is not in the manifest: nobody vouches for it"),
    ]
    path.unlink()
    assert (path, "is missing") in troubles()


def test_raw_files_without_a_manifest_or_with_a_damaged_one_are_found():
    path = lay_raw()
    (raw_folder("toy") / MANIFEST).write_text("{")
    assert "is damaged" in troubles()[0][1]
    assert "`harness data clear toy --raw`" in troubles()[0][1]
    (raw_folder("toy") / MANIFEST).unlink()
    assert troubles() == [
        (raw_folder("toy"), f"has no manifest.json: `harness data import toy {raw_folder('toy')}` makes one")
    ]
    assert path.exists()


def test_a_manifest_that_somebody_edited_is_found():
    path = lay_raw()
    path.write_bytes(b"other bytes")
    file = RawEntry("in/a", 11, hash_file(path), "imported", "now")
    write_manifest(raw_folder("toy"), Manifest("toy", (file,)))
    edited = raw_folder("toy") / MANIFEST
    assert troubles() == [(edited, "has changed: it is not the one that its folder is named by")]


@pytest.mark.parametrize("array", ["X_data", "X_indices", "X_indptr", "y"])
def test_a_flipped_byte_in_a_parsed_array_is_found(array):
    folder = lay_parsed()
    path = folder / f"{array}.npy"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    ((where, trouble),) = troubles()
    assert where == folder
    assert "has changed: fingerprint" in trouble or "is damaged" in trouble


def test_a_parsed_form_that_cannot_be_opened_is_found():
    folder = lay_parsed()
    (folder / "y.npy").write_bytes(b"")
    assert "is damaged" in troubles()[0][1]


def test_counts_that_somebody_edited_are_found():
    folder = lay_parsed()
    header = json.loads((folder / "header.json").read_text())
    (folder / "header.json").write_text(json.dumps(header | {"empty_rows": 2}))
    assert troubles() == [(folder, "has changed: the counts in its header are not those of its arrays")]


def test_facts_that_do_not_hold_are_found_unless_they_were_accepted():
    described = entry(facts={"rows": 5, "taxonomy_depth": 2})
    folder = lay_parsed(described)
    text = "rows 5 expected, 4 found", "taxonomy_depth 2 expected, None found"
    assert troubles(described) == [(folder, f"is not as described: {text[0]}; {text[1]}")]
    lay_raw(differences=text)
    assert troubles(described) == []


def test_what_is_not_there_has_no_form():
    assert default_form(entry()) is None
    assert list(verify(entry())) == []


# -- clearing --------------------------------------------------------------------------------------------------------


def test_what_belongs_to_a_data_set_is_listed_by_kind(home):
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
    assert names_at_hand(["toy", "absent"]) == ["toy"]


def test_what_is_being_made_belongs_to_nobody_yet(home):
    parsed = lay_parsed()
    with work_folder(home / "parsed", parsed.name):
        assert belongings(["toy"]) == [parsed]


def test_what_a_plugin_that_is_gone_has_left_is_found_by_its_mark_and_nothing_else_is(home):
    lay_raw("gone")
    lay_parsed(entry("parsed-only"))
    (home / "raw" / "photos").mkdir()
    (home / "parsed" / "thesis-0123456789abcdef").mkdir()
    assert names_at_hand([]) == ["gone", "parsed-only"]
