"""The conformance suite on something by name: each check in a process of its own, under a time limit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any, Literal

from harness.api.session import Session
from harness.catalog import Catalog, Entry
from harness.checks.job import CheckEnd, CheckJob, checks_for, run_check_job
from harness.environments.environment import Environment
from harness.errors import SpecError, UnknownName
from harness.executors import LOADERS, paths_of, start_executor
from harness.executors.base import Job, JobEnd, Workplace
from harness.experiment.dataset_ref import is_file, parse_dataset, read_dataset
from harness.experiment.file_formats import find_address
from harness.experiment.housing import have_environment
from harness.experiment.learner_ref import LearnerRef
from harness.experiment.plan import blueprint_of
from harness.experiment.resolve import environment_of, resolve_dataset, resolve_learner
from harness.expression import Expression, parse
from harness.metric import find_metric
from harness.progress import Progress, Silence
from harness.suggestions import nearest

CHECK_TARGET = f"{run_check_job.__module__}:{run_check_job.__name__}"
ALL_SECONDS = 600.0
"""For all checks of a thing together, unless told otherwise."""


@dataclass(frozen=True)
class Checked:
    """A thing that can be checked: what it is, where it comes from, and how it is set up."""

    kind: Literal["learner", "data set", "metric", "experiment", "representation"]
    entry: Entry[Any]
    params: Mapping[str, Any] = field(default_factory=dict)
    """What a learner is set up with, otherwise than by default."""
    environment: Environment | None = None
    """What a learner runs in, where it has packages of its own."""


@dataclass(frozen=True)
class CheckResult:
    """How one check ended, with what it printed."""

    name: str
    end: CheckEnd
    output: str = ""
    follows: str = ""
    """The check that failed before by the same cause, where one did."""


def find_checked(text: str, catalog: Catalog) -> Checked:
    """What a text names: a data set (also a file), a learner (also module:Class), or what else a plugin brings."""
    if is_file(read_dataset(text).name):
        return _find_dataset(text, catalog)
    expression = parse(text)
    name = expression.name
    if _is_named(name, catalog.datasets) or find_address(name, catalog, expression.params):
        return _find_dataset(text, catalog)
    if _is_named(name, catalog.experiments):
        return Checked("experiment", catalog.experiment(name))
    if _is_named(name, catalog.representations):
        return Checked("representation", catalog.representation(name))
    return _find_metric_or_learner(text, expression, catalog)


def _is_named(name: str, entries: Sequence[Entry[Any]]) -> bool:
    return any(entry.spec.name == name for entry in entries)


def _find_metric_or_learner(text: str, expression: Expression, catalog: Catalog) -> Checked:
    """A learner, unless a metric has that name, or is one of a family by its short name, such as r7."""
    name = expression.name
    if not _is_named(name, catalog.metrics):
        try:
            return _find_learner(expression, catalog)
        except UnknownName:
            if ":" in name:
                raise
    try:
        return Checked("metric", find_metric(text, catalog))
    except UnknownName:
        raise _unknown(name, catalog) from None


def _find_dataset(text: str, catalog: Catalog) -> Checked:
    found = resolve_dataset(parse_dataset(text), catalog)
    if not found.ref.params:
        return Checked("data set", found.entry)
    spec = replace(found.entry.spec, parameters=dict(found.ref.params))
    return Checked("data set", replace(found.entry, spec=spec))


def _find_learner(expression: Expression, catalog: Catalog) -> Checked:
    wrapped = next(iter(expression.positional), None)
    ref = LearnerRef(expression.name, expression.label or expression.name, expression.params, wrapped)
    found = resolve_learner(ref, catalog)
    for name, value in found.ref.params.items():
        if isinstance(value, list):
            raise SpecError(f"{name}={value!r} is a grid: `harness check` takes one value")
    chain = found.chain_with(found.ref.params)
    return Checked("learner", found.entry, blueprint_of(found, found.ref.params).params, environment_of(chain))


def _unknown(name: str, catalog: Catalog) -> UnknownName:
    """What is said of a name that nothing has: the nearest ones of every kind, and what may be checked."""
    known = {entry.spec.name: "learner" for entry in catalog.learners}
    known |= {entry.spec.name: "data set" for entry in catalog.datasets}
    known |= {entry.spec.name: "metric" for entry in catalog.metrics}
    known |= {entry.spec.name: "representation" for entry in catalog.representations}
    near = [f"{found} (a {known[found]})" for found in nearest(name, known)]
    hint = f"did you mean {' or '.join(near)}? " if near else ""
    return UnknownName(
        f"there is no learner, data set, metric or representation {name!r}; {hint}`harness check` takes one that "
        "`harness list learners`, `datasets`, `metrics` or `representations` shows, a classifier as module:Class, or a "
        "file of data such as ./titles.csv"
    )


def run_checks(
    checked: Checked,
    session: Session,
    timeout_seconds: float,
    all_seconds: float = ALL_SECONDS,
    progress: Progress | None = None,
) -> Iterator[CheckResult]:
    """Run every check of a thing, in their order; of those that fail by one cause, all but the first say so.

    A learner with packages of its own is checked in its environment, which is built for it where it is not there.
    """
    spec = checked.entry.spec
    interpreters: dict[str, str] = {}
    if checked.environment is not None:
        ready = have_environment(checked.environment, [spec.name], may_build=True, say=(progress or Silence()).say)
        interpreters[""] = str(ready.python)
    names = [check.name for check in checks_for(spec, checked.params)]
    jobs = [Job(CHECK_TARGET, CheckJob(spec, name, checked.params), timeout_seconds) for name in names]
    causes: dict[str, str] = {}
    executor = start_executor(LOADERS)
    try:
        preload = (run_check_job.__module__, *getattr(spec, "preload", ()))
        workplace = Workplace(preload={"": preload}, path=paths_of(session.folders), interpreters=interpreters)
        executor.prepare(workplace)
        for job, end in executor.run(_until(monotonic() + all_seconds, jobs)):
            names.remove(job.payload.check)
            yield _result_of(job.payload.check, end, causes)
    finally:
        executor.close()
    for name in names:
        not_run = CheckEnd("failed", f"not run: the checks before took over {all_seconds:g} s")
        yield CheckResult(name, not_run, follows="" if name == names[0] else names[0])


def _until(stop: float, jobs: list[Job]) -> Iterator[Job]:
    """The jobs that begin before a moment."""
    for job in jobs:
        if monotonic() >= stop:
            return
        yield job


def _result_of(name: str, ended: JobEnd, causes: dict[str, str]) -> CheckResult:
    """What became of a check; `causes` knows the first check that failed by each cause, and learns."""
    if ended.status == "ok":
        end = CheckEnd(**ended.answer)
        cause = end.where or end.reason
    else:  # the process died, or was killed: where, its message says with the name of the check
        end = CheckEnd("failed", f"{ended.status}: {ended.message}")
        cause = ended.status
    if end.status != "failed":
        return CheckResult(name, end, ended.output)
    first = causes.setdefault(cause, name)
    return CheckResult(name, end, ended.output, "" if first == name else first)
