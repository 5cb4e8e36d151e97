"""Paths of the user's files, their names in messages, and stamps of their content."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from harness.errors import DataError
from harness.sdk.reading.lines import SetOption
from harness.sdk.reading.raw import without_suffix

FILES = ("path", "test", "taxonomy", "labels")
"""The parameters of all formats that name a file."""
PARTS = ("train", "test")

Splits = Mapping[str, tuple[Any, Any]]
"""Positions of training and test rows, by the split's name."""


def stamp_files(**params: object) -> str:
    """Return paths, sizes and times of the files: a stamp of the raw content that needs no reading."""
    facts = []
    for name in FILES:
        given = params.get(name)
        if isinstance(given, str):
            for file in _files_at(find_file(given)):
                facts.append((name, str(file.resolve()), file.stat().st_size, file.stat().st_mtime_ns))
    return hashlib.sha256(repr(facts).encode()).hexdigest()


def _files_at(place: Path) -> list[Path]:
    return files_below(place) if place.is_dir() else [place]


def find_file(path: str) -> Path:
    """Return the file or folder at this path; DataError if there is none."""
    place = Path(os.path.expanduser(path))
    if not os.path.exists(place):
        raise DataError(f"{path}: there is no such file or folder (looked in {Path.cwd()})")
    if not place.is_file() and not place.is_dir():  # reading a pipe may block forever
        raise DataError(f"{path}: neither a file nor a folder, but a pipe or a device. Write its content to a file.")
    return place


def files_below(folder: Path) -> list[Path]:
    """Return all files below a folder except hidden ones, in a fixed order."""
    found = []
    for file in folder.rglob("*"):
        is_hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
        if file.is_file() and not is_hidden:
            found.append(file)
    return sorted(found)


def find_parts(path: str, test: str | None) -> list[Path]:
    """Return the file to read, followed by the test file if there is one.

    Parameters
    ----------
    path : str
        A file, or a folder with one training file and one test file, recognised by their names.
    test : str or None
        The test file.

    Raises
    ------
    DataError
        If a file does not exist, or the folder does not have such files.
    """
    place = find_file(path)
    if not place.is_dir():
        return [place] if test is None else [place, find_file(test)]
    parts = beside_each_other(place)
    if parts is None or test is not None:
        expected = "expected one file with 'train' and one with 'test' in its name, or the name of a file"
        raise DataError(f"{path} is a folder: {expected}")
    return parts


def beside_each_other(folder: Path) -> list[Path] | None:
    """Return the only files of a folder with the words train and test in their names; None unless it has both."""
    files = list(filter(Path.is_file, sorted(folder.iterdir())))
    parts = []
    for word in PARTS:
        named = [file for file in files if has_word(file.name, word)]
        if len(named) != 1:
            return None
        parts += named
    return parts


def has_word(name: str, word: str) -> bool:
    """Return whether a word occurs in a name: train in train.csv, eurlex_train.txt and 20news-bydate-train."""
    return re.search(rf"(^|[\W_]){word}([\W_]|$)", name.lower()) is not None


def split_of(sizes: list[int]) -> dict[str, tuple[Any, Any]]:
    """Return the fixed split of a training file and a test file, from their numbers of rows."""
    if len(sizes) != 2:
        return {}
    train, test = sizes
    return {"test": (np.arange(train), np.arange(train, train + test))}


def describe_splits(splits: Splits) -> str:
    """Return a note on the splits of the files; they are used on request."""
    note = ""
    for train, test in splits.values():
        note += f"; --split given trains on {len(train):,} rows, tests on {len(test):,}"
    return note


def option(parameter: str, value: str, path: str) -> str:
    """Return the flag that sets a parameter of the dataset of this path."""
    return f"--set \"{Path(without_suffix(path)).stem}.{parameter}='{value}'\""


def option_of(path: str) -> SetOption:
    """Return a function that names the flag for an option of the reader, for the dataset of this path."""
    return lambda parameter, value: option(parameter, value, path)
