"""Folders of texts: a folder for each class with a file for each text, as in scikit-learn's load_files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from harness import Dataset
from harness.errors import DataError
from harness.sdk import Texts
from harness.sdk.reading.lines import read_text
from harness.sdk.reading.raw import open_raw
from harness_files.labels import LabelRows
from harness_files.places import PARTS, describe_splits, files_below, find_file, has_word, option_of
from harness_files.table import count_words
from harness_files.taxonomy import from_file, from_paths

Folders = tuple[str, ...]


def load_texts(*, path: str, taxonomy: str | None = None, encoding: str | None = None, min_df: int = 1) -> Dataset:
    """Load a folder of texts; the class of a text is its folder.

    Folders in folders make a class tree. Folders named train and test make a fixed split.

    Parameters
    ----------
    path : str
        The folder.
    taxonomy : str or None, default=None
        File with the class tree.
    encoding : str or None, default=None
        Encoding of the files. None detects it.
    min_df : int, default=1
        Minimum number of texts with a word.

    Returns
    -------
    Dataset
        The texts, in the order of their paths.

    Raises
    ------
    DataError
        If the files are missing or malformed. The message has the file and the line.
    """
    folder = find_file(path)
    if not folder.is_dir():
        raise DataError(f"{path} is a file: expected a folder that holds a folder for each class")
    files = files_below(folder)
    places, splits = _laid_out(path, [file.relative_to(folder).parts[:-1] for file in files])
    labels = LabelRows()
    for file, place in zip(files, places, strict=True):
        labels.add(["/".join(place)], str(file))
    texts = Texts.of(_texts(files, encoding, path))
    names = labels.names
    tree = from_file(taxonomy, labels.met_at, names, encoding) if taxonomy is not None else None
    if tree is None and max(map(len, places)) > 1:
        tree = from_paths(names, "/", labels.met_at)
    found = f"{len(files):,} texts, {len(names):,} classes{describe_splits(splits)}"
    return Dataset(None, labels.positions(), names, tree, splits, found, texts, count_words(min_df))


def _laid_out(path: str, folders: list[Folders]) -> tuple[list[Folders], dict[str, tuple[Any, Any]]]:
    """Return the class of each file as the folders above it, and the split if train and test are the top folders."""
    if not folders:
        raise DataError(f"{path} holds no texts: expected a folder for each class, a file for each text")
    if not all(folders):
        raise DataError(f"{path}: a file lies outside of any class: expected files in a folder for each class only")
    if not _are_parts({place[0] for place in folders}):
        return folders, {}
    classes = [place[1:] for place in folders]
    if not all(classes):
        raise DataError(f"{path}: a text lies in train or test itself: expected a folder for each class in there")
    tests = np.array([has_word(place[0], "test") for place in folders])
    return classes, {"test": (np.flatnonzero(~tests), np.flatnonzero(tests))}


def _are_parts(tops: set[str]) -> bool:
    """Return whether two folders are a training and a test folder, by their names."""
    names = " ".join(tops)
    return len(tops) == 2 and all(has_word(names, word) for word in PARTS)


def _texts(files: list[Path], encoding: str | None, path: str) -> Iterator[str]:
    for file in files:
        with open_raw(file) as stream:
            yield read_text(stream, str(file), encoding, option_of(path))
