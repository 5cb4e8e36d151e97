"""File locations: the stamp that identifies file contents, the order of files, and flags quoted in messages."""

import os
from pathlib import Path

import pytest

from harness.errors import DataError
from harness_files.places import files_below, find_parts, option, stamp_files


def test_the_stamp_changes_with_size_time_and_path_of_each_file(write, folder):
    write("a.csv", "x")
    write("tree.csv", "y")
    stamps = [stamp_files(path="a.csv", taxonomy="tree.csv", text="t")]
    write("a.csv", "xx")
    stamps.append(stamp_files(path="a.csv", taxonomy="tree.csv"))
    os.utime("tree.csv", ns=(1, 1))
    stamps.append(stamp_files(path="a.csv", taxonomy="tree.csv"))
    write("b.csv", "xx")
    stamps.append(stamp_files(path="b.csv", taxonomy="tree.csv"))
    assert len(set(stamps)) == 4
    assert stamp_files(path="b.csv", taxonomy="tree.csv", text="other") == stamps[-1]


def test_the_stamp_of_a_folder_covers_all_its_files(write):
    write("in/a/1", "x")
    first = stamp_files(path="in")
    write("in/b/2", "x")
    second = stamp_files(path="in")
    write("in/.hidden", "x")
    assert first != second == stamp_files(path="in")


def test_files_are_listed_in_a_fixed_order(write):
    for name in ("in/b/1", "in/a/2", "in/a/10"):
        write(name, "")
    assert [file.as_posix() for file in files_below(Path("in"))] == ["in/a/10", "in/a/2", "in/b/1"]


def test_a_folder_without_train_and_test_files_is_rejected(write):
    write("in/train.csv", "x")
    with pytest.raises(DataError, match="in is a folder: expected one file with 'train' and one with 'test'"):
        find_parts("in", None)


def test_a_flag_in_a_message_uses_the_file_stem():
    assert option("text", "COLUMN", "in/my.titles.csv.gz") == "--set \"my.titles.text='COLUMN'\""
