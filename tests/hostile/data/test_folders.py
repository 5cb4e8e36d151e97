"""Folders of the data home: created aside, distinguished from leftovers, removed completely, never outside it."""

import os
import subprocess
import sys

import pytest

from harness.errors import DataError
from internals import expand_imports, is_home_in_use, owner_of, remove, work_folder
from messages import naming


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


@pytest.fixture
def folder(home):
    """Return a folder of the data home with a file in it."""
    folder = home / "raw" / "toy"
    folder.mkdir(parents=True)
    (folder / "file").write_bytes(b"x")
    return folder


# -- making ----------------------------------------------------------------------------------------------------------


def test_a_work_folder_is_hidden_and_removed_afterwards(home):
    with work_folder(home / "raw", "toy") as work:
        assert work.parent == home / "raw"
        assert work.name.startswith(".toy-")
        assert owner_of(work) == "toy"
        (work / "made").mkdir()
        os.rename(work / "made", home / "raw" / "made")
    assert list((home / "raw").iterdir()) == [home / "raw" / "made"]


def test_a_work_folder_is_removed_after_a_failure(home):
    with pytest.raises(KeyError), work_folder(home / "raw", "toy") as work:
        raise KeyError
    assert not work.exists()


def test_errors_of_the_work_are_not_attributed_to_the_data_home(home):
    with pytest.raises(FileNotFoundError), work_folder(home / "raw", "toy"):
        raise FileNotFoundError


def test_an_unwritable_data_home_is_named(home):
    home.mkdir()
    (home / "raw").touch()
    with (
        pytest.raises(DataError, match=naming("/home")),
        work_folder(home / "raw", "toy"),
    ):
        pass


def test_a_process_with_a_work_folder_counts_as_active(home):
    with work_folder(home / "raw", "toy"):
        with work_folder(home / "parsed", "toy"):
            assert is_home_in_use()
        assert is_home_in_use()
    assert not is_home_in_use()


def test_the_folder_of_a_killed_process_is_left_and_inactive(home):
    code = "import sys; from pathlib import Path; \nfrom internals import work_folder\n"
    code += "with work_folder(Path(sys.argv[1]), 'toy'): print('at work', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", expand_imports(code), str(home / "raw")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"at work\n"
        assert is_home_in_use()
        other.kill()
        other.wait()
        assert not is_home_in_use()
    (left,) = (home / "raw").iterdir()
    assert owner_of(left) == "toy"


def test_without_a_data_home_no_process_is_active(home):
    assert is_home_in_use()
    assert not home.exists()


# -- removing --------------------------------------------------------------------------------------------------------


def test_only_the_named_folder_is_removed(folder, home):
    (home / "raw" / "other").mkdir()
    (home / "raw" / ".toy-abcd1234").mkdir()
    remove(folder)
    remove(home / "raw" / ".toy-abcd1234")
    assert list((home / "raw").iterdir()) == [home / "raw" / "other"]


def test_removing_a_missing_folder_is_no_error(home):
    (home / "raw").mkdir(parents=True)
    remove(home / "raw" / "toy")


def test_nothing_outside_the_data_home_is_removed(home, tmp_path):
    outside = tmp_path / "outside"
    (outside / "toy").mkdir(parents=True)
    (outside / "toy" / "precious").write_bytes(b"x")
    with pytest.raises(DataError, match=naming("data home")):
        remove(outside / "toy")
    home.mkdir()
    (home / "raw").symlink_to(outside)
    with pytest.raises(DataError, match=naming("data home")):
        remove(home / "raw" / "toy")
    assert (outside / "toy" / "precious").exists()


def test_a_link_is_removed_and_its_target_is_kept(folder, home, tmp_path):
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_bytes(b"x")
    (home / "raw" / "linked").symlink_to(outside)
    (folder / "link").symlink_to(outside)
    for path in (home / "raw" / "linked", folder):
        remove(path)
        assert not os.path.lexists(path)
    assert (outside / "precious").exists()
