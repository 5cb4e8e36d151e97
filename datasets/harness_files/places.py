"""Where the user's files are, how they are called in messages, and what tells their content apart."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import IO, Any

import numpy as np

from harness.errors import DataError

FILES = ("path", "test", "taxonomy", "labels")
"""The parameters, of all formats here, that name a file."""
PARTS = ("train", "test")
PACKINGS = (".gz", ".bz2", ".xz", ".zst")
_BOMS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))

Splits = Mapping[str, tuple[Any, Any]]
"""Positions of training and test rows, by the split's name."""


def stamp_files(**params: object) -> str:
    """Names the raw content by the places, sizes and times of the files, without reading them."""
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
    """The file or folder of that path; DataError when there is none."""
    place = Path(os.path.expanduser(path))
    if not os.path.exists(place):
        raise DataError(f"{path}: there is no such file or folder (looked in {Path.cwd()})")
    if not place.is_file() and not place.is_dir():  # whoever reads a pipe may wait for ever
        raise DataError(f"{path}: neither a file nor a folder, but a pipe or a device: write its content to a file")
    return place


def files_below(folder: Path) -> list[Path]:
    """All files below a folder but hidden ones, in a fixed order."""
    found = []
    for file in folder.rglob("*"):
        is_hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
        if file.is_file() and not is_hidden:
            found.append(file)
    return sorted(found)


def find_parts(path: str, test: str | None) -> list[Path]:
    """The file to read, and the test file beside it where there is one; a folder may hold both by their names."""
    place = find_file(path)
    if not place.is_dir():
        return [place] if test is None else [place, find_file(test)]
    parts = beside_each_other(place)
    if parts is None or test is not None:
        expected = "expected one file with 'train' and one with 'test' in its name, or the name of a file"
        raise DataError(f"{path} is a folder: {expected}")
    return parts


def beside_each_other(folder: Path) -> list[Path] | None:
    """The one file of a folder that has the word train in its name, and the one that has test, if it has both."""
    files = list(filter(Path.is_file, sorted(folder.iterdir())))
    parts = []
    for word in PARTS:
        named = [file for file in files if has_word(file.name, word)]
        if len(named) != 1:
            return None
        parts += named
    return parts


def has_word(name: str, word: str) -> bool:
    """Whether a word stands in a name: train in train.csv, eurlex_train.txt and 20news-bydate-train."""
    return re.search(rf"(^|[\W_]){word}([\W_]|$)", name.lower()) is not None


def split_of(sizes: list[int]) -> dict[str, tuple[Any, Any]]:
    """The split that a test file beside the other makes: the rows of the one train, those of the other test."""
    if len(sizes) != 2:
        return {}
    train, test = sizes
    return {"test": (np.arange(train), np.arange(train, train + test))}


def tell_splits(splits: Splits) -> str:
    """What is said of the splits that the files bring: they are used when they are asked for."""
    told = ""
    for train, test in splits.values():
        told += f"; --split given trains on {len(train):,} rows, tests on {len(test):,}"
    return told


# -- texts -----------------------------------------------------------------------------------------------------------


def read_lines(stream: IO[bytes], name: str, encoding: str | None) -> Iterator[str]:
    """The lines of a file with their ends, in the encoding told, or that of its byte order mark, or UTF-8."""
    chosen = _encoding(stream, encoding)
    if chosen == "utf-16":  # its line ends are no single bytes
        yield from StringIO(_decode(stream.read(), chosen, name, 1, name), newline="\n")
        return
    for number, line in enumerate(stream, 1):
        yield _decode(line, chosen, name, number, name)
        if chosen == "utf-8-sig":  # the mark stands before the first line only
            chosen = "utf-8"


def read_text(stream: IO[bytes], name: str, encoding: str | None, dataset: str) -> str:
    """A whole file, decoded alike; `dataset` is the path that the data set it belongs to goes by."""
    chosen = _encoding(stream, encoding)
    return _decode(stream.read(), chosen, name, 1, dataset)


def _encoding(stream: IO[bytes], told: str | None) -> str:
    if told:
        return told
    start = stream.peek(4)[:4]  # type: ignore[attr-defined]  # open_raw gives a BufferedReader
    for mark, marked in _BOMS:
        if start.startswith(mark):
            return marked
    return "utf-8"


def _decode(content: bytes, encoding: str, name: str, number: int, dataset: str) -> str:
    """Some lines, the first of which has this number."""
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        line = number + content.count(b"\n", 0, error.start)
        place = error.start - content.rfind(b"\n", 0, error.start)
        raise DataError(
            f"{name}, line {line}: byte {place} (0x{content[error.start]:02x}) is not {encoding}: "
            f"set the encoding, for example {option('encoding', 'latin-1', dataset)}"
        ) from None
    except LookupError:
        raise DataError(f"{name}: there is no encoding {encoding!r}: utf-8, latin-1, cp1252, utf-16, ...") from None


def option(parameter: str, value: str, path: str) -> str:
    """The flag that sets a parameter of the data set that a file goes by."""
    name = Path(path)
    if name.suffix in PACKINGS:
        name = name.with_suffix("")
    return f"--set \"{name.stem}.{parameter}='{value}'\""
