"""Raw files on their way in: checked by what is inside, put in place in one step, and never at the cost of others."""

import io
import os
import signal
import sys
import tarfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from harness.contract import RawFile
from harness.data.arrays import keep, open_dataset
from harness.data.downloading import Patience, Watcher, hash_file
from harness.data.folders import remove, work_folder
from harness.data.importing import Incoming, fetch_dataset, gather, take_in
from harness.data.inventory import belongings, default_form, kept_forms, names_at_hand, verify
from harness.errors import DataError, MissingData
from harness.executors import LOADERS
from harness.executors.base import Workplace
from harness.executors.local import LocalExecutor
from harness.home import MANIFEST, current_file, download_folder, parsed_root, raw_folder, raw_root, read_manifest
from harness.host import discover


def plugins_at_hand():
    """What a process needs to import the plugins that this one has."""
    return Workplace(path=tuple(path for path in sys.path if "plugins" in path))


LOADER = """
import re
import numpy as np
from scipy.sparse import csr_array
from harness import Dataset, DatasetSpec, hookimpl
from harness.errors import DataError, MissingData
from harness.sdk.reading.raw import RawFiles

RAW = RawFiles(dataset="lines", needed="lines.txt from nobody", wanted=re.compile(r"(?:^|/)lines\\.txt$"))

def load(*, source=None):
    ((_, content),) = RAW.read(source)
    rows = [line.split() for line in content.decode().splitlines()]
    if not all(len(row) == 2 for row in rows):
        raise DataError("every line must be a label and a number")
    names, y = np.unique([row[0] for row in rows], return_inverse=True)
    X = csr_array(np.array([[float(row[1])] for row in rows]))
    return Dataset(X, y, tuple(names), found=f"{len(rows)} lines")

def stamp(*, source=None):
    return RAW.stamp(source)

def load_made():
    raise AssertionError("nobody asked")

@hookimpl
def harness_datasets():
    facts = {"rows": 3, "classes": 2}
    where = {"load": "intake_lines:load", "stamp": "intake_lines:stamp"}
    lines = DatasetSpec(name="lines", **where, facts=facts, obtain="lines.txt")
    return [lines, DatasetSpec(name="made", load="intake_lines:load_made")]
"""
SOUND = b"a 1\nb 2\na 3\n"
OTHER = b"b 5\nb 6\na 7\n"
LONGER = b"a 1\nb 2\na 3\nb 4\n"


@pytest.fixture(scope="module")
def catalog(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugins")
    (folder / "intake_lines.py").write_text(LOADER)
    yield discover([folder])
    sys.path.remove(str(folder))
    sys.modules.pop("intake_lines")


@pytest.fixture(scope="module")
def executor(catalog):
    with LocalExecutor(plugins_at_hand(), common=LOADERS) as executor:
        yield executor


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def entry(catalog):
    return catalog.dataset("lines")


@pytest.fixture
def bring(entry, executor, tmp_path):
    """Takes in one file with this content."""

    def bring(content, name="lines.txt", **more):
        path = tmp_path / name
        path.write_bytes(content)
        return take_in(entry, gather([path]), executor, **more)

    return bring


def laid():
    """What lies where raw files are kept."""
    return set(raw_root().iterdir())


def everything(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refusal(bring, *args, **more):
    with pytest.raises(DataError) as caught:
        bring(*args, **more)
    text = str(caught.value)
    assert text.endswith("Nothing was taken in; the data home is as it was.")
    assert ".lines-" not in text  # the folder beside is nobody's business
    return text


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


CHANGES = ("os.mkdir", "os.remove", "os.rename", "os.rmdir")
"""The events by which Python tells that it is about to change a folder."""


def killed_before(number, kinds, change):
    """Whether a process that makes this change ends by SIGKILL when it is about to do the n-th thing of these kinds."""
    child = os.fork()
    if child == 0:
        left = iter(range(number - 1))

        def watch(event, _):
            if event in kinds and next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(watch)
        change()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


def check_whole(entry, *contents):
    """What is found is one of these, whole; gives which."""
    assert names_at_hand(["lines"]) == ["lines"]
    findings = list(verify(entry))
    assert findings[0].path == raw_folder("lines") / "lines.txt"
    assert not any(finding.trouble for finding in findings)
    found = findings[0].path.read_bytes()
    assert found in contents
    return found


RENAMES = {1: SOUND, 2: SOUND, 3: OTHER, 4: OTHER}
"""What is found when an import of OTHER over SOUND is killed before its n-th rename."""


@pytest.mark.parametrize("number", RENAMES)
def test_an_import_killed_between_its_renames_leaves_the_old_files_or_the_new(bring, entry, number):
    bring(SOUND)
    assert killed_before(number, ["os.rename"], lambda: bring(OTHER))
    assert check_whole(entry, SOUND, OTHER) == RENAMES[number]
    bring(OTHER)
    assert check_whole(entry, OTHER)
    assert laid() == {raw_folder("lines"), current_file("lines")}
    assert set(parsed_root().iterdir()) == set(kept_forms("lines"))


def test_an_import_killed_before_any_change_leaves_the_old_files_or_the_new(bring, entry):
    bring(SOUND)
    met = []
    while killed_before(len(met) + 1, CHANGES, lambda: bring(OTHER)):
        met.append(check_whole(entry, SOUND, OTHER))
        bring(SOUND)
        assert laid() == {raw_folder("lines"), current_file("lines")}
    assert met == sorted(met, key=[SOUND, OTHER].index)  # once the new files are found, they are found
    assert {SOUND, OTHER} == set(met)


def test_what_a_killed_parse_left_is_seen_and_removed_by_the_next_import(bring, entry):
    bring(SOUND)
    form = Path(default_form(entry).folder)
    data = open_dataset(form)
    remove(form)
    assert killed_before(1, ["os.rename"], lambda: keep(data, form))
    (left,) = set(parsed_root().iterdir())
    assert belongings(["lines"], raw=False) == [left]
    bring(SOUND)
    assert set(parsed_root().iterdir()) == {form}


def test_a_form_whose_removal_is_killed_is_whole_or_gone(bring, entry):
    bring(SOUND)
    form = Path(default_form(entry).folder)
    found = []
    while killed_before(len(found) + 1, CHANGES, lambda: remove(form)):
        found.append(default_form(entry) is not None)
        assert not any(finding.trouble for finding in verify(entry))
        bring(SOUND)
    assert found == sorted(found, reverse=True)  # there until it is moved aside, and then gone
    assert set(found) == {True, False}


def test_a_data_home_that_cannot_be_written_is_named(bring, home):
    home.mkdir()
    (home / "raw").symlink_to("/proc/self")  # where not even root may put anything
    with pytest.raises(DataError, match=r"cannot write the data home .*: --data-home or HARNESS_DATA_HOME names"):
        bring(SOUND)


def test_what_a_killed_import_left_is_cleared_with_the_rest(bring, home):
    bring(SOUND)
    (home / "raw" / ".lines-abcd1234").mkdir()
    (home / "raw" / "lines-0123456789abcdef").mkdir()  # moved into place, and killed before it became the current one
    for path in belongings(["lines"]):
        remove(path)
    assert laid() == set()
    assert everything(home) == {".lock": b""}
    assert not raw_folder("lines").exists()


def test_files_that_somebody_damaged_are_put_right_by_importing_them_again(bring, entry):
    bring(SOUND)
    (raw_folder("lines") / "lines.txt").write_bytes(OTHER)
    bring(SOUND)
    assert (raw_folder("lines") / "lines.txt").read_bytes() == SOUND
    assert [finding.trouble for finding in verify(entry)] == ["", "", ""]


def test_no_import_clears_away_what_others_are_at_work_on(bring):
    with work_folder(raw_root(), "lines") as raw, work_folder(parsed_root(), "lines-0123456789abcdef") as parsed:
        moved = raw_root() / "lines-0123456789abcdef"  # by the other one, who is about to make it the current one
        moved.mkdir()
        bring(SOUND)
        bring(OTHER)
        assert raw.exists()
        assert parsed.exists()
        assert moved.exists()
        assert raw not in belongings(["lines"])
    bring(OTHER)
    assert laid() == {raw_folder("lines"), current_file("lines")}


# -- data homes of earlier releases ----------------------------------------------------------------------------------


@pytest.fixture
def earlier(bring, home):
    """A data home as releases before 0.2 left it: SOUND in a folder of the data set's name."""
    bring(SOUND)
    raw_folder("lines").rename(raw_root() / "lines")
    current_file("lines").unlink()
    (raw_root() / ".lines.lock").touch()
    return raw_root() / "lines"


def test_raw_files_of_an_earlier_layout_are_found_and_not_parsed_anew(earlier, entry):
    assert raw_folder("lines") == earlier
    assert default_form(entry).rows == 3
    assert [finding.trouble for finding in verify(entry)] == ["", "", ""]


def test_an_import_takes_the_place_of_an_earlier_layout(earlier, bring):
    (raw_root() / ".lines.before").mkdir()
    bring(OTHER)
    assert (raw_folder("lines") / "lines.txt").read_bytes() == OTHER
    assert laid() == {raw_folder("lines"), current_file("lines")}


def test_a_failed_import_leaves_an_earlier_layout_as_it_was(earlier, bring, entry):
    refusal(bring, LONGER)
    assert raw_folder("lines") == earlier
    assert [finding.trouble for finding in verify(entry)] == ["", "", ""]


def test_an_earlier_layout_is_cleared_with_all_that_belongs_to_it(earlier, home):
    (parsed_root() / "lines-0123456789abcdefabcd1234").mkdir()  # what a killed parse left there
    for path in belongings(["lines"]):
        remove(path)
    assert laid() == set(parsed_root().iterdir()) == set()


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


# -- fetching --------------------------------------------------------------------------------------------------------


@pytest.fixture
def fetched(entry, executor, web):
    """Fetches the data set from /lines.txt, with what hash it must have."""

    def fetched(sha256=None, *paths):
        file = RawFile(name="lines.txt", urls=tuple(map(web.url, paths or ["/lines.txt"])), sha256=sha256)
        own = replace(entry, spec=replace(entry.spec, files=(file,)))
        return fetch_dataset(own, executor, patience=Patience(attempts=1, silence_seconds=5), watcher=Watcher())

    return fetched


def test_what_is_fetched_is_checked_and_put_in_place_like_an_import(fetched, web, behaviours, home, entry):
    web["/lines.txt"] = behaviours.ranged(SOUND)
    intake = fetched()
    assert intake.manifest.files[0].origin == web.url("/lines.txt")
    assert (raw_folder("lines") / "lines.txt").read_bytes() == SOUND
    assert not download_folder("lines").exists()
    assert default_form(entry).rows == 3


def test_a_failed_download_says_what_to_get_where_from_and_how_to_bring_it(fetched, web, behaviours):
    web["/lines.txt"] = behaviours.breaking_off(SOUND, times=1)
    with pytest.raises(DataError) as caught:
        fetched("0" * 64)
    text = str(caught.value)
    assert text.startswith("data set 'lines': lines.txt could not be downloaded:\n")
    assert f"lines.txt from {web.url('/lines.txt')}" in text
    assert "`harness data import lines FILE...` takes files that you have" in text
    assert f"What has arrived is kept in {download_folder('lines')}; the same command goes on from there" in text
    assert (download_folder("lines") / "lines.txt.part").read_bytes() == SOUND[:6]


def test_fetched_data_that_is_not_as_described_is_kept_aside_and_fetched_anew(fetched, web, behaviours):
    web["/lines.txt"] = behaviours.ranged(b"<html>please log in</html>")
    with pytest.raises(DataError, match=r"every line must be(?s:.*)kept in .* as lines\.txt\.refused"):
        fetched()
    assert not raw_folder("lines").exists()
    web["/lines.txt"] = behaviours.ranged(SOUND)
    assert fetched().header.rows == 3


def test_what_cannot_be_downloaded_by_a_program_says_how_to_get_it(entry, executor):
    with pytest.raises(MissingData, match=r"'lines': it cannot be downloaded by a program: it is made from lines\.txt"):
        fetch_dataset(entry, executor)


def test_two_fetches_at_once_do_not_mix(fetched, web, behaviours):
    started, go_on = threading.Event(), threading.Event()

    def waiting(request):
        started.set()
        go_on.wait(20)
        behaviours.ranged(SOUND)(request)

    web["/lines.txt"] = waiting
    first = threading.Thread(target=fetched)
    first.start()
    assert started.wait(20)
    with pytest.raises(DataError, match="is being fetched by another process: wait for it"):
        fetched()
    go_on.set()
    first.join()
    assert (raw_folder("lines") / "lines.txt").read_bytes() == SOUND
