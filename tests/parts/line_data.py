"""Helpers for tests of raw files: contents of the dataset of lines, and listings of the data home."""

import sys

import pytest

from harness.errors import DataError
from internals import Workplace, raw_root

SOUND = b"a 1\nb 2\na 3\n"
OTHER = b"b 5\nb 6\na 7\n"
LONGER = b"a 1\nb 2\na 3\nb 4\n"


def workplace_with_plugins():
    """Return the environment in which a process can import the plugins of this one."""
    return Workplace(path=tuple(path for path in sys.path if "plugins" in path))


def laid():
    """Return the stored raw files."""
    return set(raw_root().iterdir())


def everything(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refusal(bring, *args, **more):
    with pytest.raises(DataError) as caught:
        bring(*args, **more)
    text = str(caught.value)
    assert text.endswith("Nothing was imported; the data home is unchanged.")
    assert ".lines-" not in text  # the neighbouring folder is not touched
    return text
