"""Messages between the host and workers: assignments to workers, and replies and descriptions from workers.

The host does not unpickle data of workers, since that could run code. It reads frames of JSON and bytes, limits their
size, and validates their types.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from harness.cluster.artifacts import Artifact
from harness.errors import HarnessError
from harness.executors import wire
from harness.executors.base import Job, JobEnd, JobStatus
from harness.system.machine import Machine, read_machine

# -- from the host to a worker ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WantedEnvironment:
    """The environment of a group of jobs, which a worker builds if needed."""

    asked: tuple[str, ...]
    """The requirements, for example "numpy>=2"."""
    packages: Mapping[str, str]
    """By package, the version that is installed in the host's environment."""


@dataclass(frozen=True)
class Assignment:
    """A job for a worker, with the artifacts, code and settings that it needs there."""

    job: Job
    topic: str
    """The Dask topic to which the worker reports phases."""
    attempt: str = ""
    """The key of the attempt, which the worker repeats in its reports."""
    artifacts: tuple[Artifact, ...] = ()
    """The dataset and the representation that the job reads."""
    code: tuple[Artifact, ...] = ()
    """Folders with code of the user, to import from."""
    preload: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """As in `harness.executors.base.Workplace`."""
    threads: int = 1
    environments: Mapping[str, WantedEnvironment] = field(default_factory=dict)
    """By group of jobs, the environment to run in."""
    allow_differences: bool = False
    """True if the versions in the worker's environment may differ from the host's."""


def pack_assignment(assignment: Assignment) -> bytes:
    """Return an assignment as bytes. Pickle is safe in this direction: workers run the code of their host anyway."""
    return pickle.dumps(assignment)


def read_assignment(content: bytes) -> Assignment:
    """Return the assignment that a host has packed with `pack_assignment`."""
    assignment: Assignment = pickle.loads(content)
    return assignment


# -- requirements of a run -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CodeTarget:
    """Code that affects results, for example a learner."""

    load: str
    """The code as "module:name"."""
    distribution: str
    """The installed distribution that contains the code."""


@dataclass(frozen=True)
class Requirements:
    """The requirements of a run for every worker.

    Parameters
    ----------
    code : tuple of Artifact
        Folders with code that is sent to workers.
    environments : mapping
        By group of jobs, the environment that they run in.
    targets : mapping
        By name, the code that must be equal on the host and on workers.
    allow_differences : bool
        True if workers may have other versions and other code than the host.
    """

    code: tuple[Artifact, ...] = ()
    environments: Mapping[str, WantedEnvironment] = field(default_factory=dict)
    targets: Mapping[str, CodeTarget] = field(default_factory=dict)
    allow_differences: bool = False


# -- from a worker to the host ---------------------------------------------------------------------------------------

ReplyKind = Literal["end", "lacking", "unable", "gone"]
Text = Annotated[str, Field(max_length=100_000)]
"""Longer than the output and the message of any local trial."""
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
MAX_SLOTS = 10_000


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A worker's reply to an assignment.

    The kind is one of these:

    - "end": the job has ended;
    - "lacking": the worker lacks artifacts, which are named in `lacking`;
    - "unable": the worker cannot run jobs, for the reason in `message`;
    - "gone": the scheduler has cancelled the task, or the worker is shutting down.

    The other fields are those of `harness.executors.base.JobEnd` and `Site`.
    """

    kind: ReplyKind
    status: JobStatus = "crash"
    answer: Any = None
    message: Text = ""
    phase: Text = ""
    seconds: NotNegative = 0.0
    output: Text = ""
    processes: Annotated[int, Field(ge=0)] = 0
    cpu_seconds: NotNegative | None = None
    is_exposed: bool = False
    started: Text = ""
    load: NotNegative | None = None
    packages: dict[str, str] = field(default_factory=dict)
    """By package, the versions in the job's environment; empty if it has none."""
    lacking: tuple[str, ...] = ()
    """Names of the missing artifacts."""


@dataclass(frozen=True, kw_only=True)
class WorkerDescription:
    """A worker's description of itself and its machine."""

    name: str
    host: str
    """An identifier of its machine, but not the host name. Workers on the same machine have the same one."""
    home: str
    """An identifier of its data home. Workers that share a data home have the same one."""
    slots: Annotated[int, Field(ge=1, le=MAX_SLOTS)]
    """The number of jobs that it runs at the same time."""
    versions: dict[str, str]
    facts: dict[str, Any]
    """The fields of `harness.system.machine.Machine`, by name."""
    lacking: tuple[str, ...] = ()
    """The names of artifacts with code that it lacks."""
    code: dict[str, str] = field(default_factory=dict)
    """By name, the digests of the code that jobs run; empty if artifacts with code are lacking."""
    problem: Text = ""
    """The reason why it cannot run jobs. If there is one, only the name is valid among the other fields."""

    @property
    def machine(self) -> Machine:
        """The worker's machine; one with the id "unknown" if the facts are invalid."""
        return read_machine(self.facts) or Machine("unknown")


_REPLY, _DESCRIPTION = TypeAdapter(Reply), TypeAdapter(WorkerDescription)
MAX_REPLY_BYTES = 2**25


def pack_end(end: JobEnd, **facts: Any) -> bytes:
    """Return the reply for a job that has ended, as bytes; `facts` are further fields of `Reply`.

    Parameters
    ----------
    end : JobEnd
        The end of the job.
    **facts : object
        Further fields of `Reply`.
    """
    fields = asdict(replace(end, blob=None, site=None))
    del fields["blob"], fields["site"]
    content = wire.pack(wire.BLOB, end.blob) if end.blob is not None else b""
    return content + wire.pack_json(wire.END, {"kind": "end", **fields, **facts})


def pack_reply(kind: ReplyKind, **facts: Any) -> bytes:
    """Return a reply of another kind than "end" as bytes; `facts` are further fields of `Reply`.

    Parameters
    ----------
    kind : ReplyKind
        A kind other than "end".
    **facts : object
        Further fields of `Reply`.
    """
    return wire.pack_json(wire.END, {"kind": kind, **facts})


def read_reply(content: object, blob_bytes: int) -> tuple[Reply, bytes | None]:
    """Return the reply of a worker, and the bytes that its job returned, if any.

    Parameters
    ----------
    content : object
        The data that the worker sent. It may have any type and content.
    blob_bytes : int
        The limit on the bytes that the job returns.

    Raises
    ------
    ValueError
        If the content is not a valid reply, or exceeds a limit.
    """
    if not isinstance(content, bytes):
        raise ValueError(f"expected bytes, got {type(content).__name__}")
    limits = {wire.BLOB: blob_bytes, wire.END: MAX_REPLY_BYTES}
    parts = dict(wire.FrameReader(limits).feed(content))
    if wire.END not in parts:
        raise ValueError("it is cut short")
    return _validate(_REPLY, parts[wire.END]), parts.get(wire.BLOB)


def end_of(reply: Reply, blob: bytes | None) -> JobEnd:
    """Return the end of a job from the reply of its worker, as the local executor would return it.

    Parameters
    ----------
    reply : Reply
        The validated reply.
    blob : bytes or None
        Bytes that the job returned; ignored unless the job succeeded.
    """
    is_ok = reply.status == "ok"
    return JobEnd(
        status=reply.status,
        answer=reply.answer if is_ok else None,
        blob=blob if is_ok else None,
        message=reply.message,
        phase=reply.phase,
        seconds=reply.seconds,
        output=reply.output,
        processes=reply.processes,
        cpu_seconds=reply.cpu_seconds,
        is_exposed=reply.is_exposed,
    )


def pack_description(description: WorkerDescription) -> bytes:
    """Return the description of a worker as bytes."""
    return json.dumps(asdict(description)).encode()


def read_description(content: object) -> WorkerDescription:
    """Return the description that a worker has sent.

    Parameters
    ----------
    content : object
        The content of the message, which is not trusted.

    Raises
    ------
    ValueError
        If the content is no valid description.
    """
    if not isinstance(content, bytes):
        raise ValueError(f"expected bytes, got {type(content).__name__}")
    description: WorkerDescription = _validate(_DESCRIPTION, content)
    return description


def _validate(kind: TypeAdapter[Any], content: bytes) -> Any:
    """Return JSON as an instance of a dataclass; ValueError names the first field that is invalid."""
    try:
        return kind.validate_json(content, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


class WorkerGone(HarnessError):
    """Raised if a worker does not reply to a call, or cannot be reached."""


class CallFailed(HarnessError):
    """Raised if a function fails on a worker that can still be reached."""
