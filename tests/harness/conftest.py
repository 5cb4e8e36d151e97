"""What tests with real processes share: a mark in the environment by which all that they start is found again."""

import os
import time
import uuid
from pathlib import Path

import pytest

MARK = "HARNESS_TEST_MARK"


class Marked:
    """The processes that carry the mark of this test session, zombies left out."""

    def __init__(self, mark):
        self.words = f"{MARK}={mark}".encode()

    def alive(self):
        """Process ids and what they are."""
        found = {}
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit() or int(folder.name) == os.getpid():
                continue
            try:
                if self.words in (folder / "environ").read_bytes().split(b"\0"):  # a zombie's is empty
                    found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
        return found

    def left_behind(self, known=(), seconds=10.0):
        """What is still alive beyond the known ones after that long; nothing, as soon as nothing is."""
        deadline = time.monotonic() + seconds
        while (left := {pid: what for pid, what in self.alive().items() if pid not in known}) and (
            time.monotonic() < deadline
        ):
            time.sleep(0.05)
        return left


@pytest.fixture(scope="session")
def marked():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MARK, uuid.uuid4().hex)
        yield Marked(os.environ[MARK])
