"""What the host and its workers say to each other. From the host come orders; back come frames of JSON and bytes.

Nothing that a worker sends is unpickled here: it is read as a trial's own answer is, with limits, and checked by type.
"""

from __future__ import annotations

import json
import pickle
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError

from harness.cluster.parcels import Parcel
from harness.executors import frames
from harness.executors.base import Job, JobEnd, JobStatus
from harness.machine import Machine, read_machine

# -- from the host ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class WantedEnvironment:
    """An environment that trials of a group run in: what it is asked to have, and the versions that the host has."""

    asked: tuple[str, ...]
    packages: Mapping[str, str]


@dataclass(frozen=True)
class Order:
    """A trial for a worker, with all that it needs there."""

    job: Job
    topic: str
    """Under which it tells its phases."""
    attempt: str = ""
    parcels: tuple[Parcel, ...] = ()
    """The data and the representation that it reads."""
    code: tuple[Parcel, ...] = ()
    """Folders to import from."""
    preload: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    threads: int = 1
    environments: Mapping[str, WantedEnvironment] = field(default_factory=dict)
    """By group."""
    allow_differences: bool = False


def pack_order(order: Order) -> bytes:
    """An order on its way: workers trust the host, whose code they run."""
    return pickle.dumps(order)


def read_order(content: bytes) -> Order:
    order: Order = pickle.loads(content)
    return order


# -- from a worker ---------------------------------------------------------------------------------------------------

AnswerKind = Literal["end", "lacking", "unable", "gone"]
Words = Annotated[str, Field(max_length=100_000)]
"""More than a local trial's output and messages have."""
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
MOST_SLOTS = 10_000


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What came of an order.

    It ended; or some parcels are lacking; or this worker cannot run it, and says why; or it was given up because nobody
    waits for it any more, or the worker is leaving.
    """

    kind: AnswerKind
    status: JobStatus = "crash"
    answer: Any = None
    message: Words = ""
    phase: Words = ""
    seconds: NotNegative = 0.0
    output: Words = ""
    processes: Annotated[int, Field(ge=0)] = 0
    started: Words = ""
    load: NotNegative | None = None
    packages: dict[str, str] = field(default_factory=dict)
    """Versions in the environment that the trial had there, where it had one."""
    lacking: tuple[str, ...] = ()
    """Parcels, by name."""


_ANSWER = TypeAdapter(Answer)
MOST_ANSWER_BYTES = 2**25


def pack_end(end: JobEnd, **more: Any) -> bytes:
    """How a trial ended, as bytes."""
    facts = asdict(replace(end, blob=None, site=None))
    del facts["blob"], facts["site"]
    content = frames.pack(frames.BLOB, end.blob) if end.blob is not None else b""
    return content + frames.pack_json(frames.END, {"kind": "end", **facts, **more})


def pack_answer(kind: AnswerKind, **facts: Any) -> bytes:
    """Any other answer, as bytes."""
    return frames.pack_json(frames.END, {"kind": kind, **facts})


def read_answer(content: object, blob_bytes: int) -> tuple[Answer, bytes | None]:
    """What a worker answered, and the bytes that go with it; ValueError says why it cannot be used."""
    if not isinstance(content, bytes):
        raise ValueError(f"expected bytes, got {type(content).__name__}")
    most = {frames.BLOB: blob_bytes, frames.END: MOST_ANSWER_BYTES}
    parts = dict(frames.FrameReader(most).feed(content))
    if frames.END not in parts:
        raise ValueError("it is cut short")
    return _validated(_ANSWER, parts[frames.END]), parts.get(frames.BLOB)


def end_of(answer: Answer, blob: bytes | None) -> JobEnd:
    """How a trial ended, as the local executor would have told it."""
    is_ok = answer.status == "ok"
    return JobEnd(
        status=answer.status,
        answer=answer.answer if is_ok else None,
        blob=blob if is_ok else None,
        message=answer.message,
        phase=answer.phase,
        seconds=answer.seconds,
        output=answer.output,
        processes=answer.processes,
    )


# -- a worker of itself ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Hello:
    """What a worker says of itself when it is asked."""

    name: str
    host: str
    """What tells its machine from another: alike for two workers of one machine, and no name of it."""
    home: str
    """What tells its data home from another: alike for two workers that share one."""
    slots: Annotated[int, Field(ge=1, le=MOST_SLOTS)]
    """Trials that it takes at once."""
    versions: dict[str, str]
    facts: dict[str, Any]
    """Of its machine."""
    lacking: tuple[str, ...] = ()
    """Parcels of code that it has not got, by name."""
    code: dict[str, str] = field(default_factory=dict)
    """Digests of the code that trials will run, by what it is called; where no code is lacking."""

    @property
    def machine(self) -> Machine:
        return read_machine(self.facts) or Machine("unknown")


_HELLO = TypeAdapter(Hello)


def pack_hello(hello: Hello) -> bytes:
    return json.dumps(asdict(hello)).encode()


def read_hello(content: object) -> Hello:
    """What a worker said of itself; ValueError where that is nonsense."""
    if not isinstance(content, bytes):
        raise ValueError(f"expected bytes, got {type(content).__name__}")
    hello: Hello = _validated(_HELLO, content)
    return hello


def _validated(kind: TypeAdapter[Any], content: bytes) -> Any:
    try:
        return kind.validate_json(content, strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
