"""Recognise the format of a file or folder by its content, if the ending does not determine it."""

from __future__ import annotations

import re
from io import BufferedReader, BytesIO
from pathlib import Path
from typing import Any, cast

from harness.errors import HarnessError
from harness.sdk.reading.lines import skip_mark
from harness.sdk.reading.raw import open_raw
from harness_files.columns import looks_like_names
from harness_files.places import beside_each_other, files_below

_PAIRS = re.compile(rb"[^\s:]*(?:\s*,\s*[^\s:,]+)*(?:\s+(?:\d+|qid):\S+)+\s*(?:#.*)?")
_BARE_PAIRS = re.compile(rb"\s*(?:\d+:\S+\s*)+")
_COUNTS = re.compile(rb"\d+\s+\d+\s+\d+\s*")


def is_table(path: str) -> bool:
    """Return whether a file begins like Parquet, like a JSON object, or with column names."""
    start = _start_text(path).lstrip()
    if start.startswith(("PAR1", "{")):
        return True
    line = start.partition("\n")[0]
    cells = [cell.strip(' "\r') for cell in re.split(r"[,;|\t]", line)]
    return len(cells) > 1 and looks_like_names(cells, {})


def is_svmlight(path: str) -> bool:
    """Return whether the first line that is not a comment has labels and id:value pairs, or only pairs."""
    for line in _start(path).splitlines()[:100]:
        if line.strip() and not line.lstrip().startswith(b"#"):
            return bool(_PAIRS.match(line) or _BARE_PAIRS.match(line))
    return False


def is_xmc(path: str) -> bool:
    """Return whether the first line has three counts, and pairs follow."""
    lines = _start(path).splitlines()
    return len(lines) > 1 and bool(_COUNTS.fullmatch(lines[0])) and b":" in b"".join(lines[1:20])


def is_texts(path: str) -> bool:
    """Return whether a folder contains only folders of classes, and all files are in these."""
    folder = Path(path)
    if not folder.is_dir():
        return False
    files = files_below(folder)
    tops = {file.parent for file in files}
    return bool(files) and folder not in tops


def is_arrays(path: str) -> bool:
    """Return whether a file is a zip archive with .npy files."""
    import zipfile  # noqa: PLC0415 (only this format needs it)

    if not zipfile.is_zipfile(path):
        return False
    with zipfile.ZipFile(path) as archive:
        return any(name.endswith(".npy") for name in archive.namelist())


def _start_text(path: str) -> str:
    """Return the first bytes of a file as text, in the encoding of its byte order mark, or UTF-8."""
    with BufferedReader(cast(Any, BytesIO(_start(path)))) as stream:
        codec = skip_mark(stream, path)
        return stream.read().decode(codec, "replace")


def _start(path: str) -> bytes:
    """Return the first bytes of a file, or of the file train.* in a folder; empty if there is no such file."""
    place = Path(path)
    parts = beside_each_other(place) if place.is_dir() else [place]
    if parts is None:
        return b""
    try:
        with open_raw(parts[0]) as stream:
            return stream.read(2**16)
    except HarnessError:
        return b""
