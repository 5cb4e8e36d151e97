"""Imports that are killed at any moment, or meet what others left: what is found is whole, the old or the new."""

import os
import signal
import sys
from pathlib import Path

import pytest

from harness.data.arrays import keep, open_dataset
from harness.data.folders import remove, work_folder
from harness.data.inventory import belongings, default_form, kept_forms, names_at_hand, verify
from harness.errors import DataError
from harness.home import current_file, parsed_root, raw_folder, raw_root
from line_data import LONGER, OTHER, SOUND, everything, laid, refusal

pytestmark = pytest.mark.usefixtures("home")

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
