"""What a worker says of itself, and what of that is not as it is on the host: versions, and the code of trials."""

from __future__ import annotations

import asyncio
import importlib
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from distributed import Worker

from harness.catalog import Origin
from harness.cluster.identity import describe_home, describe_host
from harness.cluster.messages import Hello, pack_hello
from harness.cluster.parcels import Parcel, find
from harness.cluster.stations import stations_of
from harness.cluster.working import slots_of
from harness.code import code_of, host_code
from harness.machine import describe_machine, describe_versions

HOST_CODE = "harness's own files"


@dataclass(frozen=True)
class CodeTarget:
    """A thing whose code decides numbers, as "module:name", and the distribution that it comes from."""

    load: str
    distribution: str


async def describe_worker(
    targets: Mapping[str, CodeTarget], code: Sequence[Parcel], dask_worker: Worker | None = None
) -> bytes:
    """What the worker that this runs on is and has, as bytes."""
    assert dask_worker is not None  # dask gives it to functions that ask for it
    return await asyncio.to_thread(_describe, targets, code, dask_worker)


def _describe(targets: Mapping[str, CodeTarget], code: Sequence[Parcel], worker: Worker) -> bytes:
    for station in stations_of(worker.id, slots_of(worker)).every:
        station.warm_up()
    found = {parcel.name: find(parcel) for parcel in code}
    lacking = tuple(name for name, folder in found.items() if folder is None)
    path = [str(folder) for folder in found.values() if folder is not None]
    hello = Hello(
        name=str(worker.name),
        host=describe_host(),
        home=describe_home(),
        slots=slots_of(worker),
        versions=describe_versions(),
        facts=asdict(describe_machine()),
        lacking=lacking,
        code={} if lacking else describe_code(targets, path),
    )
    return pack_hello(hello)


_looking = threading.Lock()


def describe_code(targets: Mapping[str, CodeTarget], path: Sequence[str] = ()) -> dict[str, str]:
    """Digests of all code that trials run, as this process would find it with these folders on its path."""
    with _looking:
        before = list(sys.path)
        sys.path[:0] = [folder for folder in path if folder not in sys.path]
        importlib.invalidate_caches()
        try:
            digests = {HOST_CODE: host_code()}
            for name, target in targets.items():
                digests[name] = code_of(target.load, Origin("", target.distribution, ""))
            return digests
        finally:
            sys.path[:] = before


@dataclass(frozen=True)
class Reference:
    """What the host has, which workers are compared with."""

    versions: Mapping[str, str]
    code: Mapping[str, str]


def differences(reference: Reference, hello: Hello) -> list[str]:
    """What a worker has that is not as it is here, in words; nothing where it has the same."""
    told = []
    for name, version in reference.versions.items():
        found = hello.versions.get(name, "absent")
        if found != version:
            told.append(f"{name} {found} (here {version})")
    for name, digest in reference.code.items():
        if hello.code.get(name) != digest:
            told.append(f"other code of {name}")
    return told
