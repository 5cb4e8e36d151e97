"""The conformance suite on something by name: each check in a process of its own, under a time limit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, Literal

from harness.api.session import Session
from harness.catalog import Catalog, Entry
from harness.checks.job import CheckJob, checks_for, run_check_job
from harness.errors import UnknownName
from harness.executors import LOADERS, paths_of, start_executor
from harness.executors.base import Job, Workplace
from harness.experiment.dataset_ref import is_file, parse_dataset
from harness.experiment.importable import find_learner
from harness.experiment.resolve import resolve_dataset

CHECK_TARGET = f"{run_check_job.__module__}:{run_check_job.__name__}"


@dataclass(frozen=True)
class Checked:
    """A thing that can be checked: what it is, and where it comes from."""

    kind: Literal["learner", "data set", "metric", "representation"]
    entry: Entry[Any]


@dataclass(frozen=True)
class CheckResult:
    """How one check ended."""

    name: str
    status: Literal["ok", "failed", "skipped"]
    reason: str = ""


def find_checked(name: str, catalog: Catalog) -> Checked:
    """The thing of that name: a data set (also a file), a metric, or a learner (also module:Class)."""
    if is_file(name):
        found = resolve_dataset(parse_dataset(name), catalog)
        spec = replace(found.entry.spec, parameters=dict(found.ref.params))
        return Checked("data set", replace(found.entry, spec=spec))
    for entry in catalog.datasets:
        if entry.spec.name == name:
            return Checked("data set", catalog.dataset(name))
    for metric in catalog.metrics:
        if metric.spec.name == name:
            return Checked("metric", catalog.metric(name))
    for representation in catalog.representations:
        if representation.spec.name == name:
            return Checked("representation", catalog.representation(name))
    try:
        return Checked("learner", find_learner(name, catalog))
    except UnknownName:
        if ":" in name:
            raise
        raise _unknown(name, catalog) from None


def _unknown(name: str, catalog: Catalog) -> UnknownName:
    """What is said of a name that nothing has: the nearest ones of every kind, and what may be checked."""
    known = {entry.spec.name: "learner" for entry in catalog.learners}
    known |= {entry.spec.name: "data set" for entry in catalog.datasets}
    known |= {entry.spec.name: "metric" for entry in catalog.metrics}
    known |= {entry.spec.name: "representation" for entry in catalog.representations}
    near = [f"{found} (a {known[found]})" for found in get_close_matches(name, known, n=3)]
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return UnknownName(
        f"there is no learner, data set, metric or representation {name!r}; {hint}`harness check` takes one that "
        "`harness list learners`, `datasets`, `metrics` or `representations` shows, a classifier as module:Class, or a "
        "file of data such as ./titles.csv"
    )


def run_checks(checked: Checked, session: Session, timeout_seconds: float) -> Iterator[CheckResult]:
    """Run every check of a thing, in their order."""
    spec = checked.entry.spec
    jobs = [Job(CHECK_TARGET, CheckJob(spec, check.name), timeout_seconds) for check in checks_for(spec)]
    executor = start_executor(LOADERS)
    try:
        preload = (run_check_job.__module__, *getattr(spec, "preload", ()))
        executor.prepare(Workplace(preload={"": preload}, path=paths_of(session.folders)))
        for job, end in executor.run(jobs):
            if end.status == "ok":
                yield CheckResult(job.payload.check, end.answer["status"], end.answer["reason"])
            else:
                yield CheckResult(job.payload.check, "failed", f"{end.status}: {end.message}")
    finally:
        executor.close()
