"""A marker that identifies all processes started by tests."""

import os
import time
from pathlib import Path

MARK = "HARNESS_TEST_MARK"


class Marked:
    """The processes with the marker of this test session, without zombies."""

    def __init__(self, mark):
        self.words = f"{MARK}={mark}".encode()

    def alive(self):
        """Return process ids and command lines."""
        found = {}
        for folder in Path("/proc").iterdir():
            if not folder.name.isdigit() or int(folder.name) == os.getpid():
                continue
            try:
                if self.words in (folder / "environ").read_bytes().split(b"\0"):  # empty for a zombie
                    found[int(folder.name)] = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
        return found

    def left_behind(self, known=(), seconds=30.0):
        """Return processes beyond the known ones that are alive after this time; returns early if none."""
        deadline = time.monotonic() + seconds
        while (left := {pid: what for pid, what in self.alive().items() if pid not in known}) and (
            time.monotonic() < deadline
        ):
            time.sleep(0.05)
        return left
