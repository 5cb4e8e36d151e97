"""Raw files on their way in: checked by what is inside, put in place in one step, and never at the cost of others."""

import io
import sys
import tarfile
import threading
from pathlib import Path

import pytest

from harness.data.arrays import open_dataset
from harness.data.downloading import hash_file
from harness.data.folders import remove
from harness.data.importing import Incoming, fetch_dataset, gather, take_in
from harness.data.inventory import default_form, kept_forms, verify
from harness.errors import DataError
from harness.executors import LOADERS
from harness.executors.local import LocalExecutor
from harness.home import MANIFEST, current_file, raw_folder, read_manifest
from line_data import LONGER, OTHER, SOUND, everything, laid, plugins_at_hand, refusal

pytestmark = pytest.mark.usefixtures("home")


# -- importing -------------------------------------------------------------------------------------------------------


def test_what_is_as_described_is_put_in_place_with_its_manifest_and_parsed(bring, entry, home):
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


def test_the_users_file_stays_and_is_not_shared(bring, tmp_path):
    bring(SOUND)
    (tmp_path / "lines.txt").write_bytes(b"edited later")
    assert (raw_folder("lines") / "lines.txt").read_bytes() == SOUND


def test_an_archive_is_taken_in_as_it_is(bring, entry, tmp_path):
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w:xz") as archive:
        info = tarfile.TarInfo("inside/lines.txt")
        info.size = len(SOUND)
        archive.addfile(info, io.BytesIO(SOUND))
    assert bring(target.getvalue(), "lines.tar.xz").header.rows == 3
    assert [path.name for path in raw_folder("lines").iterdir() if path.name != MANIFEST] == ["lines.tar.xz"]


def test_counts_that_are_not_as_described_are_refused_with_both_numbers(bring, home):
    text = refusal(bring, LONGER)
    assert "rows 3 expected, 4 found: --accept-differences takes them all the same" in text
    assert "classes" not in text
    assert not raw_folder("lines").exists()
    assert not (home / "parsed").exists()


def test_accepted_differences_are_marked_and_no_trouble_later(bring, entry):
    intake = bring(LONGER, accept_differences=True)
    assert intake.manifest.differences == ("rows 3 expected, 4 found",)
    assert [finding.trouble for finding in verify(entry)] == ["", "", ""]


@pytest.mark.parametrize(
    ("content", "name", "reason"),
    [
        (LONGER, "lines.txt", "rows 3 expected, 4 found"),
        (b"one\n", "lines.txt", "every line must be a label and a number"),
        (SOUND, "other.txt", "what was given holds none of the files"),
        (b"\x1f\x8b\x08torn", "lines.txt", "lines.txt cannot be read"),
    ],
)
def test_a_failed_import_leaves_the_earlier_state_untouched(bring, entry, home, content, name, reason):
    bring(SOUND)
    before = everything(home)
    assert reason in refusal(bring, content, name)
    assert everything(home) == before
    assert default_form(entry).rows == 3


def test_a_later_import_takes_the_place_of_the_earlier_one(bring, entry):
    first, second = bring(SOUND), bring(OTHER)
    assert (raw_folder("lines") / "lines.txt").read_bytes() == OTHER
    assert default_form(entry).fingerprint == second.header.fingerprint != first.header.fingerprint


def test_what_lies_in_a_data_home_can_be_imported_from_there(bring, entry, executor):
    bring(SOUND)
    again = take_in(entry, gather([raw_folder("lines")]), executor)
    assert [file.file for file in again.manifest.files] == ["lines.txt"]
    assert [finding.trouble for finding in verify(entry)] == ["", "", ""]


def test_the_same_content_again_is_the_same_parsed_form(bring):
    assert bring(SOUND).header == bring(SOUND).header


def test_of_two_imports_at_once_one_stays_whole(bring, entry, executor, catalog, tmp_path):
    contents = {"one": SOUND, "two": OTHER}
    troubles = []

    def take(name):
        (tmp_path / name).mkdir()
        (tmp_path / name / "lines.txt").write_bytes(contents[name])
        try:
            with LocalExecutor(plugins_at_hand(), common=LOADERS) as own:
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
    assert opened.class_names[opened.y[0]] == first  # what is kept as theirs was read from the files that stayed
    take_in(entry, gather([raw_folder("lines")]), executor)
    assert laid() == {raw_folder("lines"), current_file("lines")}


def test_an_import_that_another_one_overtakes_leaves_no_form_under_the_others_name(bring, entry, monkeypatch):
    plugin = sys.modules["intake_lines"]
    stamp = plugin.stamp
    overtaking = iter([OTHER])

    def stamp_late(*, source=None):
        for content in overtaking:  # after SOUND became current, and before its form is named
            remove(Path(bring(content).header.folder))  # as it is before the other import has come so far
        return stamp(source=source)

    monkeypatch.setattr(plugin, "stamp", stamp_late)
    assert bring(SOUND).header.found == "3 lines"
    assert (raw_folder("lines") / "lines.txt").read_bytes() == OTHER
    assert default_form(entry) is None
    assert laid() == {raw_folder("lines"), current_file("lines")}


def test_a_data_set_without_files_takes_none(catalog, executor, tmp_path):
    with pytest.raises(DataError, match="data set 'made' is made from no files of its own"):
        take_in(catalog.dataset("made"), [Incoming(tmp_path, "x")], executor)
    with pytest.raises(DataError, match="data set 'made' is made from no files of its own: there is nothing to fetch"):
        fetch_dataset(catalog.dataset("made"), executor)


# -- gathering -------------------------------------------------------------------------------------------------------


def test_folders_are_gathered_with_their_paths_and_without_hidden_files(tmp_path):
    for name in ("top/a.txt", "top/in/b.txt", "top/.hidden", "top/.git/c", "single.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    found = gather([tmp_path / "top", tmp_path / "single.txt"])
    assert [file.name for file in found] == ["a.txt", "in/b.txt", "single.txt"]


def test_what_cannot_be_gathered_is_named(tmp_path):
    with pytest.raises(DataError, match="none is neither a file nor a folder"):
        gather([tmp_path / "none"])
    with pytest.raises(DataError, match="holds no files"):
        gather([tmp_path])
    for name in ("one/x.txt", "two/x.txt"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_bytes(b"x")
    with pytest.raises(DataError, match=r"two of the files are called 'x\.txt'"):
        gather([tmp_path / "one" / "x.txt", tmp_path / "two" / "x.txt"])
    (tmp_path / "one" / "link").symlink_to("/etc/passwd")
    with pytest.raises(DataError, match="one/link is a link or device"):
        gather([tmp_path / "one"])
