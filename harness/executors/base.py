"""What every executor promises: it runs jobs, each in a process of its own, and tells how each of them ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from harness.machine import Machine

MOST_BLOB_BYTES = 2**24
JobStatus = Literal["ok", "timeout", "memory", "crash"]


@dataclass(frozen=True)
class Job:
    """A function "module:name" to call in a process of its own with a payload and a way to tell its phase.

    The payload can be pickled. The function gives back a JSON answer and, where it wants, bytes.
    """

    target: str
    payload: Any
    timeout_seconds: float | None = None
    memory_bytes: int | None = None
    blob_bytes: int = MOST_BLOB_BYTES
    """The most that it may give back as bytes."""
    group: str = ""
    """Whose code it runs: jobs of different groups share nothing that was imported ahead."""


@dataclass(frozen=True)
class Site:
    """Where a job ran that did not run here, and how that place was when it began."""

    worker: str
    machine: Machine
    versions: Mapping[str, str] = field(default_factory=dict)
    """Of Python and the libraries there, and of the job's own environment where it had one."""
    at_once: int = 1
    """Jobs that the same machine may run at once."""
    started: str = ""
    """UTC, ISO 8601."""
    load: float | None = None
    """The load average of a minute."""


@dataclass(frozen=True)
class JobEnd:
    """How a job ended. `answer` is there if and only if the status is ok."""

    status: JobStatus
    answer: Any = None
    blob: bytes | None = None
    message: str = ""
    phase: str = ""
    seconds: float = 0.0
    output: str = ""
    processes: int = 0
    """The most that it had at once, those that it started included."""
    site: Site | None = None
    """None where it ran here."""


class OnPhase(Protocol):
    """What hears that a job has come to its next phase, and on which worker, where it is not run here."""

    def __call__(self, job: Job, phase: str, worker: str = "", /) -> None: ...


@dataclass(frozen=True)
class Workplace:
    """What the processes of jobs find when they start."""

    preload: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By group, the modules that are imported once, before any of its jobs, so that they start warm."""
    threads: int = 1
    path: tuple[str, ...] = ()
    """Folders to import from, beside what this process has."""
    interpreters: Mapping[str, str] = field(default_factory=dict)
    """By group, the Python that runs its jobs, where that is not this one."""


class Executor(Protocol):
    """Where jobs run. It is told the workplace before the first of them, and closed after the last."""

    def prepare(self, workplace: Workplace, on_slow: Callable[[], None] | None = None) -> None:
        """Settle what jobs find; `on_slow` is called where kernels have to be compiled first."""

    def run(
        self, jobs: Iterable[Job], *, at_once: int = 1, on_phase: OnPhase | None = None
    ) -> Iterator[tuple[Job, JobEnd]]:
        """Run the jobs, so many at once, and give each back as it ends."""

    def close(self) -> None:
        """End every job that still runs."""
