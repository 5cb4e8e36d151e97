"""Data sets parsed in a process of their own, so that a loader that leaks or dies costs nobody anything."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.data.arrays import Header, keep, open_dataset, read_header
from harness.data.checking import checked
from harness.data.folders import remove_unfinished
from harness.errors import DataError, MissingData
from harness.executors.base import Executor, Job
from harness.home import parsed_root
from harness.params import Params
from harness.signature import import_target


@dataclass(frozen=True)
class ParseJob:
    """A data set to load, check and keep, as it travels to the process that does so."""

    name: str
    """What the data set goes by in messages."""
    load: str
    """Its loader, "module:function"."""
    params: Params
    folder: Path
    """Where its arrays shall be kept."""
    inner: Mapping[str, Path] = field(default_factory=dict)
    """The folders of kept data sets that it is made from, by the parameter that gets each."""
    run_in: Path | None = None
    """The folder to which relative paths among the parameters belong."""


def parse_apart(
    name: str,
    load: str,
    params: Params,
    folder: Path,
    executor: Executor,
    inner: Mapping[str, str] | None = None,
    *,
    run_in: Path | None = None,
) -> Header:
    """Load, check and keep a data set in this folder; `inner` names the folders of data sets that it is made from."""
    inner_folders = {parameter: Path(inside) for parameter, inside in (inner or {}).items()}
    job = ParseJob(name, load, dict(params), folder, inner_folders, run_in)
    if folder.parent == parsed_root():
        remove_unfinished(folder)  # a parse that was killed may have left hundreds of megabytes
    for _, end in executor.run([Job(PARSE_TARGET, job)]):
        if end.status != "ok":
            raise DataError(f"data set {name!r} could not be loaded: {end.message}\n{end.output}".rstrip())
        if end.answer is not None:
            raise error_from(end.answer)
    header = read_header(folder)
    if header is None:
        raise DataError(f"data set {name!r} was loaded but not kept in {folder}")
    return header


def run_parse_job(job: ParseJob, send: Callable[[str], None]) -> tuple[dict[str, str] | None, None]:
    """A job: load a data set through its plugin, check it and keep it; gives the error that it met, in plain values."""
    culprit = f"data set {job.name!r}"
    try:
        _parse(job, send)
    except DataError as error:
        found = error if error.culprit == culprit else error.within(culprit)
    except ValueError as error:  # how loaders refuse what they were given
        found = DataError(str(error), culprit=culprit)
    except Exception as error:
        found = DataError(f"{type(error).__name__}: {error}", culprit=culprit)
    else:
        return None, None
    return {"missing": str(isinstance(found, MissingData)), **found.fields()}, None


def error_from(answer: Mapping[str, str]) -> DataError:
    """The error that a loader's process met: rebuilt from its fields, since nothing from there is unpickled here."""
    fields = dict(answer)
    kind = MissingData if fields.pop("missing") == "True" else DataError
    return kind(**fields)


PARSE_TARGET = f"{run_parse_job.__module__}:{run_parse_job.__name__}"


def _parse(job: ParseJob, send: Callable[[str], None]) -> None:
    send("loading")
    load = import_target(job.load)
    if job.run_in is not None:
        os.chdir(job.run_in)
    inside = {parameter: open_dataset(folder) for parameter, folder in job.inner.items()}
    loaded = load(**{**job.params, **inside})
    send("checking")
    keep(checked(job.name, loaded), job.folder)
