"""The interface of executors, and the types that they exchange with their callers.

An executor runs each job in a separate process, and reports how the job ended.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO, Literal, Protocol, runtime_checkable

from harness.system.machine import Machine

MOST_BLOB_BYTES = 2**24
"""The default limit on the bytes that a job returns beside its JSON answer."""
JobStatus = Literal["ok", "timeout", "memory", "crash"]


@dataclass(frozen=True)
class Input:
    """A folder that a job reads. An executor that runs the job on another machine sends the folder there."""

    kind: Literal["data", "representation"]
    folder: str
    digest: str = ""
    """The fingerprint of the dataset, for inputs of kind "data"."""


@dataclass(frozen=True)
class Job:
    """A call of a function in a separate process, with its limits.

    Parameters
    ----------
    target : str
        The function as "module:name". Its arguments are the payload, and a function to call with the name of each
        phase that begins. It returns a pair: an answer that JSON can represent, and bytes or None.
    payload : object
        The argument of the function, which must be picklable. The payload of a job with inputs has a method
        `with_folders(folders)`. It returns the payload for another machine; `folders` maps paths on this machine to
        paths on the other one. A payload that leads to secrets is a `Sealable`.
    timeout_seconds : float or None
        The time limit, without tuning; None for no limit.
    memory_bytes : int or None
        The limit on the memory of the process and its descendants; None for no limit.
    blob_bytes : int
        The limit on the bytes that the function returns beside its answer.
    group : str
        Jobs of one group share preloaded modules and an interpreter. Other groups do not see these modules.
    inputs : tuple of Input
        The folders that the job reads.
    affinity : str
        On a cluster, jobs with the same affinity run on one kind of machine. Their times are then comparable.
    hidden, shown, read_only : tuple of str
        Set by the executor, from the fields of `Sealed` and `Workplace`.
    writable : tuple of str
        Folders inside of read-only ones that the job can write to, beside its temporary folder and the data home.
    tuning_seconds : float
        The additional time limit for tuning. Tuning ends with the first phase whose name does not begin with "tune".
        From then on the job has `timeout_seconds`.
    """

    target: str
    payload: Any
    timeout_seconds: float | None = None
    memory_bytes: int | None = None
    blob_bytes: int = MOST_BLOB_BYTES
    group: str = ""
    inputs: tuple[Input, ...] = ()
    affinity: str = ""
    hidden: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    read_only: tuple[str, ...] = ()
    writable: tuple[str, ...] = ()
    tuning_seconds: float = 0.0

    @property
    def most_seconds(self) -> float:
        """The time limit of the job, tuning included; infinity for no limit."""
        return float("inf") if self.timeout_seconds is None else self.timeout_seconds + self.tuning_seconds


TUNING = "tune"
"""The names of all phases of tuning begin with this word."""


@dataclass(frozen=True)
class Sealed:
    """The sealed form of a payload, which is safe to pass to the job's process.

    Parameters
    ----------
    payload : object
        The payload without its secrets. It must be a `Sealable` too, since the process calls its `with_file`.
    file : binary file
        An open file without a name, which the process inherits.
    hidden : tuple of str
        Folders that the process must not read. They are hidden on systems that support it.
    shown : tuple of str
        Folders inside of hidden ones that the process has to read.
    """

    payload: Any
    file: BinaryIO
    hidden: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()


@runtime_checkable
class Sealable(Protocol):
    """A payload with secrets that the job's process must not see, for example the path of the test labels.

    On the machine that runs the job, the executor calls `sealed` outside of the job's process, and passes only the
    result to that process. In that process `with_file` is called with the descriptor of the inherited file.
    """

    def sealed(self) -> Sealed:
        """Return the sealed form of this payload."""

    def with_file(self, handle: int) -> Any:
        """Return the payload for the job's function, which reads the file from the descriptor `handle`."""


@dataclass(frozen=True)
class Site:
    """The worker that ran a job, and the state of its machine when the job started."""

    worker: str
    machine: Machine
    versions: Mapping[str, str] = field(default_factory=dict)
    """By name, the versions of Python, of libraries, and of the packages in the job's environment."""
    at_once: int = 1
    """The largest number of jobs that the machine runs at the same time."""
    started: str = ""
    """The time at which the job started, in UTC and ISO 8601."""
    load: float | None = None
    """The load average of the last minute before the start."""


@dataclass(frozen=True)
class JobEnd:
    """The end of a job: its answer if the status is "ok", and otherwise a message with the reason."""

    status: JobStatus
    """For "timeout" and "memory" the job exceeded a limit; "crash" covers all other failures."""
    answer: Any = None
    """The answer of the job's function; None unless the status is "ok"."""
    blob: bytes | None = None
    """The bytes that the function returned beside its answer, if any."""
    message: str = ""
    """The reason for any other status than "ok"."""
    phase: str = ""
    """The last phase that the job entered."""
    seconds: float = 0.0
    output: str = ""
    """The last part of the text that the job printed to stdout and stderr."""
    processes: int = 0
    """The largest number of processes that the job had at the same time."""
    cpu_seconds: float | None = None
    """The CPU time of all processes of the job, as the supervisor measured it; None if it is unknown."""
    is_exposed: bool = False
    """Whether the system could not hide the folders that the job must not read, such as those with test labels."""
    site: Site | None = None
    """The worker that ran the job; None for a job that ran on this machine."""


class OnPhase(Protocol):
    """A callback for each phase that a job enters; `worker` is empty for jobs on this machine."""

    def __call__(self, job: Job, phase: str, worker: str = "", /) -> None: ...


@dataclass(frozen=True)
class Workplace:
    """Settings for the processes of all jobs: imported modules, threads, import path and interpreters."""

    preload: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By group, the modules that a fork server imports once, before the first job of the group."""
    threads: int = 1
    """The number of threads that each job may use."""
    path: tuple[str, ...] = ()
    """Additional folders to import modules from."""
    interpreters: Mapping[str, str] = field(default_factory=dict)
    """By group, the path of the Python that runs its jobs; other groups use the Python of this process."""
    read_only: tuple[str, ...] = ()
    """Folders that jobs cannot write to, on systems that support it: the results folder."""
    hidden: tuple[str, ...] = ()
    """Folders that jobs cannot read, on systems that support it: the rankings of other trials."""


class Executor(Protocol):
    """Runs jobs. Call `prepare` before the first `run`, and `close` after the last one."""

    def prepare(self, workplace: Workplace, on_slow: Callable[[], None] | None = None) -> None:
        """Set up the processes of jobs.

        Parameters
        ----------
        workplace : Workplace
            The settings for all jobs from now on.
        on_slow : callable, optional
            Called when an imported module has to compile its kernels first, which can take minutes.
        """

    def run(
        self, jobs: Iterable[Job], *, at_once: int = 1, on_phase: OnPhase | None = None
    ) -> Iterator[tuple[Job, JobEnd]]:
        """Run jobs and yield each one when it ends, in the order of their ends.

        Parameters
        ----------
        jobs : iterable of Job
            The jobs. The executor takes the next one from the iterable when it has room for it.
        at_once : int, default=1
            The largest number of jobs at the same time. A cluster ignores it, and uses all slots of its workers.
        on_phase : callable, optional
            Called when a job enters a phase; see `OnPhase`.

        Yields
        ------
        tuple of Job and JobEnd
            A job, and how it ended. A job that fails is yielded like any other, and raises no error here.
        """

    def close(self) -> None:
        """Stop all running jobs, and release the processes and connections of this executor."""
