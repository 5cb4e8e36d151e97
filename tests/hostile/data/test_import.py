"""Import of raw files: verified by content, installed in one step, without damage to existing data."""

import io
import sys
import tarfile
import threading
from pathlib import Path

import pytest

from harness.errors import DataError
from internals import DATA_MANIFEST as MANIFEST
from internals import (
    LOADERS,
    Incoming,
    LocalExecutor,
    current_file,
    default_form,
    fetch_dataset,
    gather,
    hash_file,
    kept_forms,
    open_dataset,
    raw_folder,
    read_manifest,
    remove,
    take_in,
    verify,
)
from line_data import LONGER, OTHER, SOUND, everything, laid, refusal, workplace_with_plugins
from messages import assert_names, naming

pytestmark = pytest.mark.usefixtures("home")


# -- importing -------------------------------------------------------------------------------------------------------


def test_valid_files_are_installed_with_a_manifest_and_parsed(bring, entry, home):
    intake = bring(SOUND)
    folder = raw_folder("lines")
    assert (folder / "lines.txt").read_bytes() == SOUND
    assert read_manifest(folder) == intake.manifest
    (file,) = intake.manifest.files
    assert (file.file, file.bytes, file.origin) == ("lines.txt", 12, "imported")
    assert file.sha256 == hash_file(folder / "lines.txt")
    assert intake.header.found == "3 lines"
    assert default_form(entry) == intake.header  # no run parses it again
    assert sorted(path.name for path in home.iterdir()) == [".lock", "parsed", "raw"]
    assert folder.name == intake.manifest.folder_name()
    assert laid() == {folder, current_file("lines")}


def test_the_users_file_is_copied_and_not_moved(bring, tmp_path):
    bring(SOUND)
    (tmp_path / "lines.txt").write_bytes(b"edited later")
    assert (raw_folder("lines") / "lines.txt").read_bytes() == SOUND


def test_an_archive_is_imported_without_unpacking(bring, entry, tmp_path):
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:xz") as archive:
        info = tarfile.TarInfo("inside/lines.txt")
        info.size = len(SOUND)
        archive.addfile(info, io.BytesIO(SOUND))
    assert bring(target.getvalue(), "lines.tar.xz").header.rows == 3
    assert [path.name for path in raw_folder("lines").iterdir() if path.name != MANIFEST] == ["lines.tar.xz"]


def test_counts_that_differ_from_the_description_are_rejected_with_both_numbers(bring, home):
    text = refusal(bring, LONGER)
    assert_names(text, "3", "4", "--accept-differences")
    assert "classes" not in text
    assert not raw_folder("lines").exists()
    assert not (home / "parsed").exists()


def test_accepted_differences_are_recorded_and_not_reported_later(bring, entry):
    intake = bring(LONGER, accept_differences=True)
    assert intake.manifest.differences == ("rows 3 expected, 4 found",)
    assert [finding.trouble for finding in verify(entry)] == ["", "", ""]


@pytest.mark.parametrize(
    ("content", "name", "reason"),
    [
        (LONGER, "lines.txt", "rows 3 expected, 4 found"),
        (b"one\n", "lines.txt", "every line must be a label and a number"),
        (SOUND, "other.txt", "what was given holds none of the files"),
        (b"\x1f\x8b\x08torn", "lines.txt", "lines.txt: cannot be read"),
    ],
)
def test_a_failed_import_leaves_the_previous_data(bring, entry, home, content, name, reason):
    bring(SOUND)
    before = everything(home)
    assert reason in refusal(bring, content, name)
    assert everything(home) == before
    assert default_form(entry).rows == 3


def test_a_later_import_replaces_the_previous_data(bring, entry):
    first, second = bring(SOUND), bring(OTHER)
    assert (raw_folder("lines") / "lines.txt").read_bytes() == OTHER
    assert default_form(entry).fingerprint == second.header.fingerprint != first.header.fingerprint


def test_files_inside_the_data_home_can_be_imported(bring, entry, executor):
    bring(SOUND)
    again = take_in(entry, gather([raw_folder("lines")]), executor)
    assert [file.file for file in again.manifest.files] == ["lines.txt"]
    assert [finding.trouble for finding in verify(entry)] == ["", "", ""]


def test_the_same_content_gives_the_same_parsed_data(bring):
    assert bring(SOUND).header == bring(SOUND).header


def test_of_two_concurrent_imports_one_remains_complete(bring, entry, executor, catalog, tmp_path):
    contents = {"one": SOUND, "two": OTHER}
    troubles = []

    def take(name):
        (tmp_path / name).mkdir()
        (tmp_path / name / "lines.txt").write_bytes(contents[name])
        try:
            with LocalExecutor(workplace_with_plugins(), common=LOADERS) as own:
                take_in(entry, gather([tmp_path / name]), own)
        except Exception as error:
            troubles.append(error)

    threads = [threading.Thread(target=take, args=[name]) for name in contents]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not troubles
    assert (raw_folder("lines") / "lines.txt").read_bytes() in contents.values()
    assert {finding.trouble for finding in verify(entry)} == {""}
    assert 1 <= len(list(kept_forms("lines"))) <= 2  # of an import that another one overtook none is needed
    first = {SOUND: "a", OTHER: "b"}[(raw_folder("lines") / "lines.txt").read_bytes()]
    opened = open_dataset(Path(default_form(entry).folder))
    assert opened.class_names[opened.y[0]] == first  # the parsed data was read from the files that remained
    take_in(entry, gather([raw_folder("lines")]), executor)
    assert laid() == {raw_folder("lines"), current_file("lines")}


def test_an_overtaken_import_leaves_no_parsed_data_under_the_others_name(bring, entry, monkeypatch):
    plugin = sys.modules["intake_lines"]
    stamp = plugin.stamp
    overtaking = iter([OTHER])

    def stamp_late(*, source=None):
        for content in overtaking:  # after SOUND became current, and before its form is named
            remove(Path(bring(content).header.folder))  # the state before the other import has come that far
        return stamp(source=source)

    monkeypatch.setattr(plugin, "stamp", stamp_late)
    assert bring(SOUND).header.found == "3 lines"
    assert (raw_folder("lines") / "lines.txt").read_bytes() == OTHER
    assert default_form(entry) is None
    assert laid() == {raw_folder("lines"), current_file("lines")}


def test_a_dataset_without_files_cannot_be_imported(catalog, executor, tmp_path):
    with pytest.raises(DataError, match=naming("made")):
        take_in(catalog.dataset("made"), [Incoming(tmp_path, "x")], executor)
    with pytest.raises(DataError, match=naming("made")):
        fetch_dataset(catalog.dataset("made"), executor)


# -- gathering -------------------------------------------------------------------------------------------------------


def test_folders_are_collected_with_their_paths_and_without_hidden_files(tmp_path):
    for name in ("top/a.txt", "top/in/b.txt", "top/.hidden", "top/.git/c", "single.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    found = gather([tmp_path / "top", tmp_path / "single.txt"])
    assert [file.name for file in found] == ["a.txt", "in/b.txt", "single.txt"]


def test_unreadable_files_raise_an_error_that_names_them(tmp_path):
    with pytest.raises(DataError, match=naming("none")):
        gather([tmp_path / "none"])
    with pytest.raises(DataError, match="holds no files"):
        gather([tmp_path])
    for name in ("one/x.txt", "two/x.txt"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(DataError, match=naming("x.txt")):
        gather([tmp_path / "one" / "x.txt", tmp_path / "two" / "x.txt"])
    (tmp_path / "one" / "link").symlink_to("/etc/passwd")
    with pytest.raises(DataError, match=naming("one/link")):
        gather([tmp_path / "one"])
