"""Folders of the data home: made aside, told from leftovers, removed whole, and nothing removed that is not its own."""

import os
import subprocess
import sys

import pytest

from harness.data.folders import is_anybody_at_work, remove, work_folder
from harness.errors import DataError
from harness.home import owner_of


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def folder(home):
    """A folder of the data home with a file in it."""
    folder = home / "raw" / "toy"
    folder.mkdir(parents=True)
    (folder / "file").write_bytes(b"x")
    return folder


# -- making ----------------------------------------------------------------------------------------------------------


def test_a_work_folder_lies_hidden_beside_and_is_gone_afterwards(home):
    with work_folder(home / "raw", "toy") as work:
        assert work.parent == home / "raw"
        assert work.name.startswith(".toy-")
        assert owner_of(work) == "toy"
        (work / "made").mkdir()
        os.rename(work / "made", home / "raw" / "made")
    assert list((home / "raw").iterdir()) == [home / "raw" / "made"]


def test_a_work_folder_is_gone_also_when_the_work_failed(home):
    with pytest.raises(KeyError), work_folder(home / "raw", "toy") as work:
        raise KeyError
    assert not work.exists()


def test_what_the_work_raises_is_not_taken_for_a_data_home_that_cannot_be_written(home):
    with pytest.raises(FileNotFoundError), work_folder(home / "raw", "toy"):
        raise FileNotFoundError


def test_where_nothing_can_be_made_the_data_home_is_named(home):
    home.mkdir()
    (home / "raw").touch()
    with (
        pytest.raises(DataError, match=r"cannot write the data home .*/home"),
        work_folder(home / "raw", "toy"),
    ):
        pass


def test_whoever_makes_something_is_at_work(home):
    with work_folder(home / "raw", "toy"):
        with work_folder(home / "parsed", "toy"):
            assert is_anybody_at_work()
        assert is_anybody_at_work()
    assert not is_anybody_at_work()


def test_the_work_of_a_killed_process_is_over_and_its_folder_stays(home):
    code = "import sys; from pathlib import Path; from harness.data.folders import work_folder\n"
    code += "with work_folder(Path(sys.argv[1]), 'toy'): print('at work', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", code, str(home / "raw")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"at work\n"
        assert is_anybody_at_work()
        other.kill()
        other.wait()
        assert not is_anybody_at_work()
    (left,) = (home / "raw").iterdir()
    assert owner_of(left) == "toy"


def test_without_a_data_home_there_is_no_telling_who_is_at_work(home):
    assert is_anybody_at_work()
    assert not home.exists()


# -- removing --------------------------------------------------------------------------------------------------------


def test_only_what_was_named_is_removed(folder, home):
    (home / "raw" / "other").mkdir()
    (home / "raw" / ".toy-abcd1234").mkdir()
    remove(folder)
    remove(home / "raw" / ".toy-abcd1234")
    assert list((home / "raw").iterdir()) == [home / "raw" / "other"]


def test_what_is_gone_already_is_no_trouble(home):
    (home / "raw").mkdir(parents=True)
    remove(home / "raw" / "toy")


def test_nothing_outside_the_data_home_is_removed(home, tmp_path):
    outside = tmp_path / "outside"
    (outside / "toy").mkdir(parents=True)
    (outside / "toy" / "precious").write_bytes(b"x")
    with pytest.raises(DataError, match="is not inside the data home"):
        remove(outside / "toy")
    home.mkdir()
    (home / "raw").symlink_to(outside)
    with pytest.raises(DataError, match="is not inside the data home"):
        remove(home / "raw" / "toy")
    assert (outside / "toy" / "precious").exists()


def test_a_link_is_removed_and_what_it_points_to_is_not(folder, home, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_bytes(b"x")
    (home / "raw" / "linked").symlink_to(outside)
    (folder / "link").symlink_to(outside)
    for path in (home / "raw" / "linked", folder):
        remove(path)
        assert not os.path.lexists(path)
    assert (outside / "precious").exists()
