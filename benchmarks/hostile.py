"""Learners that attack the host, for `chaos.py`: a plugin that is loaded with --plugins-dir.

Each one is a nearest-mean classifier that does harm while it trains or predicts.
"""

from __future__ import annotations

import ctypes
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile
import time
from multiprocessing import shared_memory
from pathlib import Path
from typing import Any

import numpy as np

from harness import LearnerSpec, hookimpl

MEGABYTE = 2**20
LONG_SECONDS = 3600


class Harmless:
    """Nearest mean, without parameters."""

    def fit(self, X: Any, y: np.ndarray) -> Harmless:
        self.attack()
        self.classes_ = np.unique(y)
        self.means_ = np.stack([np.asarray(X[y == c].mean(axis=0)).ravel() for c in self.classes_])
        return self

    def predict(self, X: Any) -> Any:
        scores = X @ self.means_.T - (self.means_**2).sum(axis=1) / 2
        return self.classes_[np.asarray(scores).argmax(axis=1)]

    def attack(self) -> None:
        """Do harm before training."""


class Segfaults(Harmless):
    def attack(self) -> None:
        ctypes.string_at(0)


class Aborts(Harmless):
    def attack(self) -> None:
        os.abort()


class Exits(Harmless):
    def attack(self) -> None:
        os._exit(0)


class Hangs(Harmless):
    def attack(self) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.Signals)
        time.sleep(LONG_SECONDS)


class StopsItself(Harmless):
    def attack(self) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)


class EatsMemory(Harmless):
    def attack(self) -> None:
        hoard = []
        while True:
            hoard.append(np.ones(16 * MEGABYTE, np.uint8))


class FillsSharedMemory(Harmless):
    def attack(self) -> None:
        self.blocks = []
        while True:
            block = shared_memory.SharedMemory(create=True, size=16 * MEGABYTE)
            assert block.buf is not None
            block.buf[:] = b"x" * block.size
            self.blocks.append(block)


class LeavesSharedMemory(Harmless):
    def attack(self) -> None:
        with open(f"/dev/shm/left-by-{os.getpid()}", "wb") as file:
            file.write(bytes(8 * MEGABYTE))
            time.sleep(0.3)  # a file that is closed at once has no known owner, see SECURITY.md
        os._exit(1)


class LeavesTemporaryFiles(Harmless):
    def attack(self) -> None:
        folder = tempfile.mkdtemp(prefix="left-by-")
        Path(folder, "file").write_bytes(bytes(8 * MEGABYTE))
        os._exit(1)


class UsesUpFileDescriptors(Harmless):
    def attack(self) -> None:
        self.files = []
        while True:
            self.files.append(os.open("/dev/null", os.O_RDONLY))


class KeepsAllFileDescriptors(Harmless):
    def attack(self) -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        self.files = []
        try:
            while True:
                self.files.append(os.open("/dev/null", os.O_RDONLY))
        except OSError:
            pass


class PrintsWithoutEnd(Harmless):
    def attack(self) -> None:
        while True:
            sys.stdout.write("x" * MEGABYTE)
            sys.stdout.flush()


class RaisesAHugeError(Harmless):
    def attack(self) -> None:
        raise ValueError("x" * (300 * MEGABYTE))


class RecursesWithoutEnd(Harmless):
    def attack(self) -> None:
        sys.setrecursionlimit(10**9)
        self.attack()


class LeavesADaemon(Harmless):
    def attack(self) -> None:
        command = [sys.executable, "-c", f"import time; time.sleep({LONG_SECONDS})"]
        subprocess.Popen(command, start_new_session=True)


class StartsManyProcesses(Harmless):
    def attack(self) -> None:
        for _ in range(40):
            if os.fork() == 0:
                time.sleep(LONG_SECONDS)


class KillsItsSupervisor(Harmless):
    def attack(self) -> None:
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(LONG_SECONDS)


class KillsItsSupervisorAndLeavesADaemon(Harmless):
    def attack(self) -> None:
        LeavesADaemon().attack()
        os.kill(os.getppid(), signal.SIGKILL)
        os._exit(0)


class StopsItsSupervisor(Harmless):
    def attack(self) -> None:
        os.kill(os.getppid(), signal.SIGSTOP)
        time.sleep(LONG_SECONDS)


class AnswersWithText(Harmless):
    def predict(self, X: Any) -> Any:
        return np.array(["nothing that was asked"] * X.shape[0])


class AnswersForever(Harmless):
    def predict(self, X: Any) -> Any:
        class Endless:
            def __len__(self) -> int:
                return int(X.shape[0])

            def __getitem__(self, place: object) -> int:
                return 0

        return Endless()


class TurnsBackTheClock(Harmless):
    def attack(self) -> None:
        time.perf_counter = time.monotonic = lambda: 0.0


class ClaimsToBeHuge(Harmless):
    index_size_ = "\x1b[2Jmany"


HOSTILE = [found for found in list(globals().values()) if isinstance(found, type) and issubclass(found, Harmless)]


def name_of(learner: str) -> str:
    """Return the name of a class on the command line: "leaves-a-daemon" for LeavesADaemon."""
    return re.sub(r"(?<!^)(?=[A-Z])", "-", learner).lower()


@hookimpl
def harness_learners() -> list[LearnerSpec]:
    return [LearnerSpec(name=name_of(found.__name__), load=f"hostile:{found.__name__}") for found in HOSTILE]
