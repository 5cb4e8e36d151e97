"""What a run does now, for whoever looks from elsewhere: kept in its results folder while it goes on.

The file is replaced once a second at most, the last time after the last that happened. It is gone when the run has
ended; one that was killed leaves it behind.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from harness.api.progress import what_of
from harness.progress import Progress
from harness.record import Record
from harness.store import LOCK, RECORDS, read_records
from harness.trials.trial import Trial

STATUS = "status.json"
WRITE_SECONDS = 1.0


@dataclass(frozen=True)
class RunningTrial:
    """A trial that runs, what it does, where that is not the host's machine, and since when it has run."""

    what: str
    phase: str
    worker: str
    began: float
    """Seconds since 1970, as all times here."""


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """What a run has done, does, and has left to do."""

    total: int = 0
    """Trials of this run; those done before are not among them."""
    done: int = 0
    failed: int = 0
    began: float = 0.0
    updated: float = 0.0
    running: tuple[RunningTrial, ...] = ()

    @property
    def seconds_left(self) -> float | None:
        """An estimate, by what the trials took that are done; None before the first."""
        if not self.done:
            return None
        return (self.updated - self.began) / self.done * (self.total - self.done)


@dataclass(frozen=True)
class FolderStatus:
    """What is known of a results folder: what is kept in it, and the run that is at work on it or was killed."""

    folder: Path
    kept: int
    failed: int
    is_at_work: bool
    run: RunStatus | None = None
    """None where no run is at work and none was killed, or where it has not come to its trials."""


class StatusProgress:
    """Passes on what a run tells, and keeps what must be known of it elsewhere."""

    def __init__(self, others: Progress, folder: Path) -> None:
        self._others, self._path = others, folder / STATUS
        self._total = self._done = self._failed = 0
        self._began = time.time()
        self._running: dict[str, RunningTrial] = {}
        self._written = 0.0
        self._writing = threading.Lock()
        self._later: threading.Timer | None = None
        """Writes what happened since it was last written; None where nothing did."""
        self._is_over = False

    def say(self, text: str) -> None:
        self._others.say(text)

    def begin(self, total: int) -> None:
        self._total, self._began = total, time.time()
        self._others.begin(total)
        self._write(at_once=True)

    def on_data(self, name: str) -> None:
        self._others.on_data(name)

    def on_phase(self, trial: Trial, phase: str, worker: str = "") -> None:
        before = self._running.get(trial.key)
        began = before.began if before and phase != "start" else time.time()
        self._running[trial.key] = RunningTrial(what_of(trial), phase, worker, began)
        self._others.on_phase(trial, phase, worker)
        self._write()

    def on_record(self, record: Record) -> None:
        self._done += 1
        self._failed += record.status != "ok"
        self._running.pop(record.key, None)
        self._others.on_record(record)
        self._write()

    def end(self) -> None:
        self._others.end()
        with self._writing, contextlib.suppress(OSError):
            self._is_over = True
            if self._later is not None:
                self._later.cancel()
            self._path.unlink(missing_ok=True)

    def _write(self, *, at_once: bool = False) -> None:
        """Write now, or when a second has passed: a trial that hangs may be the last that is heard of."""
        with self._writing:
            early = self._written + WRITE_SECONDS - time.time()
            if at_once or early <= 0:
                self._replace()
            elif self._later is None:
                self._later = threading.Timer(early, self._write_late)
                self._later.daemon = True
                self._later.start()

    def _write_late(self) -> None:
        with self._writing:
            self._later = None
            if not self._is_over:
                self._replace()

    def _replace(self) -> None:
        now = time.time()
        self._written = now
        status = RunStatus(
            total=self._total,
            done=self._done,
            failed=self._failed,
            began=self._began,
            updated=now,
            running=tuple(self._running.values()),
        )
        beside = self._path.with_name(f".{STATUS}.new")
        with contextlib.suppress(OSError):  # results matter, this does not: a full disk is told by the store
            beside.write_text(json.dumps(asdict(status)))
            os.replace(beside, self._path)


@contextlib.contextmanager
def keeping_status(progress: Progress, folder: Path) -> Iterator[Progress]:
    """The same progress, which is also kept in the folder until the run ends."""
    kept = StatusProgress(progress, folder)
    try:
        yield kept
    finally:
        kept.end()


_STATUS = TypeAdapter(RunStatus)


def read_status(folder: Path) -> FolderStatus:
    """What is known of a results folder now; StoreError where it is none."""
    is_at_work = _is_locked(folder)
    records = read_records(folder) if (folder / RECORDS).exists() or not is_at_work else []
    try:
        run = _STATUS.validate_json((folder / STATUS).read_bytes())
    except (OSError, ValidationError):  # none is at work, or it has not come so far
        run = None
    failed = sum(record.status != "ok" for record in records)
    return FolderStatus(folder, len(records), failed, is_at_work, run)


def _is_locked(folder: Path) -> bool:
    """Whether a run is at work on a folder, on whichever machine."""
    try:
        handle = os.open(folder / LOCK, os.O_RDONLY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(handle)
    return False
