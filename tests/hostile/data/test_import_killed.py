"""Imports killed at any moment: the old data or the new data are found complete."""

import os
import signal
import sys
from pathlib import Path

import pytest

from harness.errors import DataError
from internals import (
    available_names,
    belongings,
    current_file,
    default_form,
    keep,
    kept_forms,
    open_dataset,
    parsed_root,
    raw_folder,
    raw_root,
    remove,
    verify,
    work_folder,
)
from line_data import LONGER, OTHER, SOUND, everything, laid, refusal
from messages import naming

pytestmark = pytest.mark.usefixtures("home")

CHANGES = ("os.mkdir", "os.remove", "os.rename", "os.rmdir")
"""Audit events that precede a change of a folder."""


def killed_before(number, kinds, change):
    """Return whether a process that makes this change is killed before its n-th operation of these kinds."""
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
    """Check that one of these contents is found complete, and return it."""
    assert available_names(["lines"]) == ["lines"]
    findings = list(verify(entry))
    assert findings[0].path == raw_folder("lines") / "lines.txt"
    assert not any(finding.trouble for finding in findings)
    found = findings[0].path.read_bytes()
    assert found in contents
    return found


RENAMES = {1: SOUND, 2: SOUND, 3: OTHER, 4: OTHER}
"""State of the data home after an import of OTHER over SOUND was killed before its n-th rename."""


@pytest.mark.parametrize("number", RENAMES)
def test_an_import_killed_between_renames_leaves_the_old_or_the_new_files(bring, entry, number):
    bring(SOUND)
    assert killed_before(number, ["os.rename"], lambda: bring(OTHER))
    assert check_whole(entry, SOUND, OTHER) == RENAMES[number]
    bring(OTHER)
    assert check_whole(entry, OTHER)
    assert laid() == {raw_folder("lines"), current_file("lines")}
    assert set(parsed_root().iterdir()) == set(kept_forms("lines"))


def test_an_import_killed_before_any_change_leaves_the_old_or_the_new_files(bring, entry):
    bring(SOUND)
    met = []
    while killed_before(len(met) + 1, CHANGES, lambda: bring(OTHER)):
        met.append(check_whole(entry, SOUND, OTHER))
        bring(SOUND)
        assert laid() == {raw_folder("lines"), current_file("lines")}
    assert met == sorted(met, key=[SOUND, OTHER].index)  # once the new files are found, they are found
    assert {SOUND, OTHER} == set(met)


def test_leftovers_of_a_killed_parse_are_removed_by_the_next_import(bring, entry):
    bring(SOUND)
    form = Path(default_form(entry).folder)
    data = open_dataset(form)
    remove(form)
    assert killed_before(1, ["os.rename"], lambda: keep(data, form))
    (left,) = set(parsed_root().iterdir())
    assert belongings(["lines"], raw=False) == [left]
    bring(SOUND)
    assert set(parsed_root().iterdir()) == {form}


def test_parsed_data_whose_removal_is_killed_is_complete_or_gone(bring, entry):
    bring(SOUND)
    form = Path(default_form(entry).folder)
    found = []
    while killed_before(len(found) + 1, CHANGES, lambda: remove(form)):
        found.append(default_form(entry) is not None)
        assert not any(finding.trouble for finding in verify(entry))
        bring(SOUND)
    assert found == sorted(found, reverse=True)  # there until it is moved aside, and then gone
    assert set(found) == {True, False}


def test_an_unwritable_data_home_raises_an_error_that_names_it(bring, home):
    home.mkdir()
    (home / "raw").symlink_to("/proc/self")  # a path where even root cannot write
    with pytest.raises(DataError, match=naming("--data-home", "HARNESS_DATA_HOME")):
        bring(SOUND)


def test_leftovers_of_a_killed_import_are_cleared(bring, home):
    bring(SOUND)
    (home / "raw" / ".lines-abcd1234").mkdir()
    (home / "raw" / "lines-0123456789abcdef").mkdir()  # moved into place, and killed before it became the current one
    for path in belongings(["lines"]):
        remove(path)
    assert laid() == set()
    assert everything(home) == {".lock": b""}
    assert not raw_folder("lines").exists()


def test_damaged_files_are_repaired_by_importing_them_again(bring, entry):
    bring(SOUND)
    (raw_folder("lines") / "lines.txt").write_bytes(OTHER)
    bring(SOUND)
    assert (raw_folder("lines") / "lines.txt").read_bytes() == SOUND
    assert [finding.trouble for finding in verify(entry)] == ["", "", ""]


def test_an_import_does_not_clear_folders_of_active_processes(bring):
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
    """Return a data home in the layout before 0.2: SOUND in a folder named after the dataset."""
    bring(SOUND)
    raw_folder("lines").rename(raw_root() / "lines")
    current_file("lines").unlink()
    (raw_root() / ".lines.lock").touch()
    return raw_root() / "lines"


def test_raw_files_of_an_earlier_layout_are_found_without_parsing_again(earlier, entry):
    assert raw_folder("lines") == earlier
    assert default_form(entry).rows == 3
    assert [finding.trouble for finding in verify(entry)] == ["", "", ""]


def test_an_import_replaces_an_earlier_layout(earlier, bring):
    (raw_root() / ".lines.before").mkdir()
    bring(OTHER)
    assert (raw_folder("lines") / "lines.txt").read_bytes() == OTHER
    assert laid() == {raw_folder("lines"), current_file("lines")}


def test_a_failed_import_leaves_an_earlier_layout_unchanged(earlier, bring, entry):
    refusal(bring, LONGER)
    assert raw_folder("lines") == earlier
    assert [finding.trouble for finding in verify(entry)] == ["", "", ""]


def test_an_earlier_layout_is_cleared_completely(earlier, home):
    (parsed_root() / "lines-0123456789abcdefabcd1234").mkdir()  # left by a killed parse
    for path in belongings(["lines"]):
        remove(path)
    assert laid() == set(parsed_root().iterdir()) == set()
