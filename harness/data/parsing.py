"""Data sets parsed in a process of their own, so that a loader that leaks or dies costs nobody anything."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from harness.data.arrays import Header, parse_job, read_header
from harness.errors import DataError
from harness.executors.base import Executor, Job

PARSE_TARGET = f"{parse_job.__module__}:{parse_job.__name__}"


def parse_apart(
    name: str,
    load: str,
    params: Mapping[str, Any],
    folder: Path,
    executor: Executor,
    inner: Mapping[str, str] | None = None,
) -> Header:
    """Load, check and keep a data set in this folder; `inner` names the folders of data sets that it is made from."""
    payload = {"name": name, "load": load, "params": dict(params), "inner": dict(inner or {}), "folder": str(folder)}
    for _, end in executor.run([Job(PARSE_TARGET, payload)]):
        if end.status != "ok":
            raise DataError(f"data set {name!r} could not be loaded: {end.message}\n{end.output}".rstrip())
        if "error" in end.answer:
            raise DataError(end.answer["error"])
    header = read_header(folder)
    if header is None:
        raise DataError(f"data set {name!r} was loaded but not kept in {folder}")
    return header
