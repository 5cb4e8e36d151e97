"""What the host and workers exchange: assignments, replies, descriptions of workers, and artifacts.

The host does not unpickle data of workers, since that could run code. It reads frames of JSON and bytes, limits their
size, and validates their types.

An artifact is a folder that a job needs on its worker: a dataset, a representation, or code of the user. Its name
depends on its content. A worker looks for an artifact in its own data home, and then at the host's path, since both may
share a file system. The host sends only artifacts that the worker finds in neither place.
"""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from harness.data.arrays import is_complete, read_header
from harness.errors import DataError, HarnessError
from harness.executors import wire
from harness.executors.base import Input, Job, JobEnd, JobStatus
from harness.files.home import data_home, parsed_root, represented_root
from harness.system.machine import Machine, read_machine
from harness.trials.data import HEADER

# -- from the host to a worker ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WantedEnvironment:
    """The environment of a group of jobs, which a worker builds if needed."""

    requirements: tuple[str, ...]
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
    """As in `harness.executors.base.Workplace`, like `threads`, `read_only` and `hidden`."""
    threads: int = 1
    read_only: tuple[str, ...] = ()
    """Paths of the host. They are protected on workers that share its file system under the same path."""
    hidden: tuple[str, ...] = ()
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
        If the content is not a valid description.
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


COPIES_VARIABLE = "HARNESS_OWN_COPIES"
"""Set this variable on workers that should not read from the host's path, for example on a slow network drive."""
CODE = "code"
"""The folder of the data home for code that other machines have sent."""


@dataclass(frozen=True)
class Artifact:
    """A folder that a job needs on its worker.

    Parameters
    ----------
    kind : {"data", "representation", "code"}
        The type of content.
    name : str
        The name of the folder. Different content has a different name.
    digest : str
        The fingerprint of a dataset, the checksum of a representation, or the digest of code.
    source : str
        The path of the folder on the host.
    files : tuple of str
        For code, the files that belong to the artifact, as paths below the folder. Other kinds have all files of
        the folder, and an empty tuple here.
    """

    kind: Literal["data", "representation", "code"]
    name: str
    digest: str
    source: str
    files: tuple[str, ...] = ()

    @property
    def place(self) -> Path:
        """The path of the folder in the data home of this machine."""
        roots = {"data": parsed_root(), "representation": represented_root(), "code": data_home() / CODE}
        return roots[self.kind] / self.name


def artifact_of(needed: Input) -> Artifact | None:
    """Return the artifact for an input of a job; None for a representation that is not cached: the job computes it.

    Parameters
    ----------
    needed : Input
        The dataset or representation that a job reads.
    """
    if needed.kind == "data":
        return data_artifact(needed.folder, needed.digest)
    return representation_artifact(needed.folder)


def data_artifact(folder: str, fingerprint: str) -> Artifact:
    """Return the artifact of a parsed dataset in this folder."""
    return Artifact("data", Path(folder).name, fingerprint, folder)


def representation_artifact(folder: str) -> Artifact | None:
    """Return the artifact of a represented dataset; None if the folder does not contain a complete one."""
    digest = _checksum_of_representation(Path(folder))
    return Artifact("representation", Path(folder).name, digest, folder) if digest else None


def code_artifact(folder: Path, files: Iterable[Path]) -> Artifact:
    """Return the artifact of code.

    Parameters
    ----------
    folder : Path
        The folder to import from.
    files : iterable of Path
        The files below the folder that belong to the artifact.
    """
    names = sorted(file.relative_to(folder).as_posix() for file in files)
    digest = _digest_files(folder, names)
    return Artifact("code", f"{folder.name or 'code'}-{digest[:16]}", digest, str(folder), tuple(names))


def find_artifact(artifact: Artifact) -> Path | None:
    """Return the path of an artifact on this machine; None if it is missing or was changed, and has to be sent."""
    shared = [] if os.environ.get(COPIES_VARIABLE, "") not in ("", "0") else [Path(artifact.source)]
    for folder in (artifact.place, *shared):
        if is_intact(artifact, folder):
            return folder
    return None


def is_intact(artifact: Artifact, folder: Path) -> bool:
    """Return whether a folder has the content of an artifact.

    Datasets and code are verified completely. Of a representation only the recorded checksum is compared, since the
    trial verifies the arrays.

    Parameters
    ----------
    artifact : Artifact
        The expected content.
    folder : Path
        A folder on this machine, which may be missing.
    """
    try:
        if artifact.kind == "data":
            header = read_header(folder)
            return header is not None and header.fingerprint == artifact.digest and _is_still_complete(folder)
        if artifact.kind == "representation":
            return _checksum_of_representation(folder) == artifact.digest
        return folder.is_dir() and _digest_files(folder, artifact.files) == artifact.digest
    except (OSError, DataError):
        return False


def files_of(artifact: Artifact) -> list[PurePosixPath]:
    """Return the files of an artifact on the host, as paths below its folder."""
    if artifact.files:
        return [PurePosixPath(name) for name in artifact.files]
    source = Path(artifact.source)
    return [PurePosixPath(path.relative_to(source)) for path in sorted(source.rglob("*")) if path.is_file()]


def pieces_of(file: Path, piece_bytes: int) -> Iterator[memoryview]:
    """Yield the content of a file in pieces of at most `piece_bytes` bytes.

    An empty file yields one empty piece. Without it, the receiver would not create the file.

    Parameters
    ----------
    file : Path
        The file to read.
    piece_bytes : int
        Size of every piece but the last.
    """
    with open(file, "rb") as source:
        piece = source.read(piece_bytes)
        yield memoryview(piece)
        while piece := source.read(piece_bytes):
            yield memoryview(piece)


def checksum_of(piece: bytes | memoryview, before: int = 0) -> int:
    """Return the checksum of a piece, continued from the checksum of the pieces before it.

    Parameters
    ----------
    piece : bytes or memoryview
        Some bytes.
    before : int, default=0
        Checksum of the pieces before; 0 for the first one.

    Examples
    --------
    >>> checksum_of(b"parts", before=checksum_of(b"two ")) == checksum_of(b"two parts")
    True
    """
    return zlib.crc32(piece, before)


_verified: dict[Path, float] = {}
"""Datasets that this process has verified, with the modification time of their header; each is verified once."""


def _is_still_complete(folder: Path) -> bool:
    """Return whether a dataset is complete; verify it only if its header has changed since the last call."""
    written = (folder / HEADER).stat().st_mtime
    if _verified.get(folder) != written:
        header = read_header(folder)
        if header is None or not is_complete(header):
            return False
        _verified[folder] = written
    return True


def _checksum_of_representation(folder: Path) -> str:
    """Return the checksum in the header of a representation; "" if there is no valid header."""
    try:
        return str(json.loads((folder / HEADER).read_text())["checksum"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""


def _digest_files(folder: Path, names: Iterable[str]) -> str:
    """Return a digest of the names and the content of files."""
    digest = hashlib.sha256()
    for name in names:
        content = (folder / name).read_bytes()
        digest.update(f"{name} {len(content)}\n".encode() + content)
    return digest.hexdigest()
