"""What tests of raw files on their way in share: contents of the data set of lines, and looks at the data home."""

import sys

import pytest

from harness.errors import DataError
from harness.executors.base import Workplace
from harness.home import raw_root

SOUND = b"a 1\nb 2\na 3\n"
OTHER = b"b 5\nb 6\na 7\n"
LONGER = b"a 1\nb 2\na 3\nb 4\n"


def plugins_at_hand():
    """What a process needs to import the plugins that this one has."""
    return Workplace(path=tuple(path for path in sys.path if "plugins" in path))


def laid():
    """What lies where raw files are kept."""
    return set(raw_root().iterdir())


def everything(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def refusal(bring, *args, **more):
    with pytest.raises(DataError) as caught:
        bring(*args, **more)
    text = str(caught.value)
    assert text.endswith("Nothing was taken in; the data home is as it was.")
    assert ".lines-" not in text  # the folder beside is nobody's business
    return text
