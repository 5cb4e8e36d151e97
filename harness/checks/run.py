"""Run the conformance suite on an object of a plugin, found by its name.

Each check runs in a separate process with a time limit, so a learner that hangs or crashes does not affect the other
checks. A failure is reported with the line of the plugin's code.
"""

from __future__ import annotations

import contextlib
import importlib
import re
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any, Literal

from harness.checks import dataset_checks, experiment_checks, learner_checks, metric_checks, representation_checks
from harness.checks.subject import Check, CheckFailed, NotApplicable
from harness.environments import Environment
from harness.errors import SpecError, UnknownName
from harness.executors.base import Job, JobEnd, Workplace
from harness.executors.local import LOADERS, paths_of, start_executor
from harness.experiment.plan import blueprint_of
from harness.experiment.references import LearnerRef, find_address, parse_dataset, read_dataset
from harness.experiment.resolve import (
    NullProgress,
    Progress,
    environment_of,
    find_or_build_environment,
    resolve_dataset,
    resolve_learner,
)
from harness.host.catalog import Catalog, Entry, find_metric
from harness.host.contract import DatasetSpec, ExperimentSpec, LearnerSpec, MetricSpec, RepresentationSpec
from harness.host.discovery import Session
from harness.host.introspection import definition_line
from harness.syntax.expression import Expression, join_wrapped, parse
from harness.syntax.values import is_file
from harness.text import nearest

LONGEST_TRACEBACK = 20_000
"""Maximum number of characters of a traceback in a result."""


def own_line(error: BaseException, target: str) -> str:
    """Return the innermost line of the plugin's own code in the traceback of an error; empty if there is none.

    Parameters
    ----------
    error : BaseException
        The error. The tracebacks of its causes are searched too.
    target : str
        "module:name" of the object under test. All code in the same top-level package is the plugin's own.
    """
    home = _home_of(target)
    cause: BaseException | None = error
    while cause is not None and home is not None:
        for frame in reversed(traceback.extract_tb(cause.__traceback__)):
            path = Path(frame.filename)
            if path == home or home in path.parents:
                return f"{path.name}, line {frame.lineno}, in {frame.name}: {frame.line}"
        cause = cause.__cause__
    return ""


def _home_of(target: str) -> Path | None:
    """Return the folder of the target's top-level package, or the file of a single module."""
    top = importlib.import_module(target.partition(":")[0].partition(".")[0])
    file = getattr(top, "__file__", None)
    if file is None:  # a namespace package
        return next(map(Path, getattr(top, "__path__", ())), None)
    path = Path(file)
    return path.parent if path.name == "__init__.py" else path


def complete_traceback(error: BaseException) -> str:
    """Return the traceback as Python prints it. Only the end of a very long traceback is kept."""
    return "".join(traceback.format_exception(error))[-LONGEST_TRACEBACK:]


CheckedSpec = LearnerSpec | DatasetSpec | MetricSpec | ExperimentSpec | RepresentationSpec


@dataclass(frozen=True)
class CheckJob:
    """One check of an object, as it is sent to the process that runs it."""

    spec: CheckedSpec
    check: str
    params: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of a learner that differ from their defaults."""


@dataclass(frozen=True)
class CheckEnd:
    """The outcome of a check."""

    status: Literal["ok", "failed", "skipped"]
    reason: str = ""
    """The reason why the check failed or was skipped."""
    where: str = ""
    """The line of the plugin's code: where the error was raised, or else the definition of the method or class."""
    traceback: str = ""


def checks_for(spec: CheckedSpec, params: Mapping[str, Any]) -> list[Check]:
    """Return the checks for a spec of any kind.

    Parameters
    ----------
    spec : CheckedSpec
        The spec of a learner, dataset, metric, experiment or representation.
    params : mapping of str to object
        Parameters of a learner that differ from the defaults; not used for other kinds.
    """
    if isinstance(spec, LearnerSpec):
        return learner_checks(spec, **params)
    if isinstance(spec, DatasetSpec):
        return dataset_checks(spec)
    if isinstance(spec, ExperimentSpec):
        return experiment_checks(spec)
    if isinstance(spec, RepresentationSpec):
        return representation_checks(spec)
    return metric_checks(spec)


def run_check_job(job: CheckJob, send: Callable[[str], None]) -> tuple[dict[str, str], None]:
    """Run a check in the process of a job, and return the fields of its `CheckEnd`.

    Parameters
    ----------
    job : CheckJob
        The check and its object.
    send : callable
        Receives the name of the check before it runs.
    """
    check = next(check for check in checks_for(job.spec, job.params) if check.name == job.check)
    send(check.name)
    return asdict(_run(check, job.spec)), None


def _run(check: Check, spec: CheckedSpec) -> CheckEnd:
    try:
        check()
    except NotApplicable as reason:
        return CheckEnd("skipped", str(reason))
    except CheckFailed as error:
        return _failed(error, str(error), spec)
    except Exception as error:
        return _failed(error, f"{type(error).__name__}: {error}", spec)
    return CheckEnd("ok")


def _failed(error: Exception, reason: str, spec: CheckedSpec) -> CheckEnd:
    return CheckEnd("failed", reason, _line_of_error(error, spec), complete_traceback(error))


def _line_of_error(error: BaseException, spec: CheckedSpec) -> str:
    with contextlib.suppress(Exception):  # the import of the plugin failed, which the error reports
        return own_line(error, _target_of(spec))
    return ""


def line_of_failure(check: Check, error: BaseException, spec: CheckedSpec) -> str:
    """Return the line of the plugin to look at: where the error was raised, or else the method that was checked."""
    return _line_of_error(error, spec) or line_of_method(check, spec)


def line_of_method(check: Check, spec: CheckedSpec) -> str:
    """Return the line of the first method that the reason of a check names, or else of the class or function."""
    return definition_line(_target_of(spec), re.findall(r"`(\w+)", check.why))


def _target_of(spec: CheckedSpec) -> str:
    """Return the "module:name" of the plugin's code."""
    if isinstance(spec, MetricSpec):
        return spec.compute
    return spec.resource if isinstance(spec, ExperimentSpec) else spec.load


CHECK_TARGET = f"{run_check_job.__module__}:{run_check_job.__name__}"
ALL_SECONDS = 600.0
"""Default time limit of all checks together."""


@dataclass(frozen=True)
class Checked:
    """An object of a plugin to check."""

    kind: Literal["learner", "dataset", "metric", "experiment", "representation"]
    entry: Entry[Any]
    params: Mapping[str, Any] = field(default_factory=dict)
    """Parameters of a learner that differ from their defaults."""
    environment: Environment | None = None
    """The environment of a learner that needs other packages; None for other objects."""


@dataclass(frozen=True)
class CheckResult:
    """The result of a check, with the text that it printed."""

    name: str
    end: CheckEnd
    why: str = ""
    """What is checked and why."""
    output: str = ""
    follows: str = ""
    """Name of an earlier check that failed for the same reason; empty if there is none."""


def find_checked(text: str, catalog: Catalog) -> Checked:
    """Return the dataset, experiment, representation, metric or learner that a text names.

    Parameters
    ----------
    text : a registered name, with parameters if needed; a file or address of a dataset; or a learner as `module:Class`.
    catalog : Catalog
        The registered names.

    Raises
    ------
    UnknownName
        If nothing has this name. The message lists similar names of all kinds.
    SpecError
        If a parameter is wrong, or has several values.
    """
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
    """Return the metric or the learner of this name. A metric may be a member of a family, such as r7."""
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
        return Checked("dataset", found.entry)
    spec = replace(found.entry.spec, parameters=dict(found.ref.params))
    return Checked("dataset", replace(found.entry, spec=spec))


def _find_learner(expression: Expression, catalog: Catalog) -> Checked:
    wrapped = join_wrapped(expression.positional)
    ref = LearnerRef(expression.name, expression.label or expression.name, expression.params, wrapped)
    found = resolve_learner(ref, catalog)
    for name, value in found.ref.params.items():
        if isinstance(value, list):
            raise SpecError(f"{name}={value!r} is a grid", next_step="Give one value to `harness check`.")
    chain = found.chain_with(found.ref.params)
    return Checked("learner", found.entry, blueprint_of(found, found.ref.params).params, environment_of(chain))


def _unknown(name: str, catalog: Catalog) -> UnknownName:
    """Return the error for an unknown name, with similar names of all kinds."""
    known = {entry.spec.name: "learner" for entry in catalog.learners}
    known |= {entry.spec.name: "dataset" for entry in catalog.datasets}
    known |= {entry.spec.name: "metric" for entry in catalog.metrics}
    known |= {entry.spec.name: "representation" for entry in catalog.representations}
    near = [f"{found} (a {known[found]})" for found in nearest(name, known)]
    hint = f"Did you mean {' or '.join(near)}? " if near else ""
    return UnknownName(
        f"no learner, dataset, metric or representation is called {name!r}",
        next_step=f"{hint}`harness list` shows names. A learner may also be module:Class, and a dataset a file such as "
        "./titles.csv.",
    )


def run_checks(
    checked: Checked,
    session: Session,
    timeout_seconds: float,
    all_seconds: float = ALL_SECONDS,
    progress: Progress | None = None,
) -> Iterator[CheckResult]:
    """Run the checks of an object one after the other, and yield their results.

    A learner that needs an environment is checked in that environment, which is built if it is missing.

    Parameters
    ----------
    checked : the object, as `find_checked` returns it.
    session : Session
        Plugin settings.
    timeout_seconds : float
        Time limit of each check.
    all_seconds : float, default=ALL_SECONDS
        Time limit of all checks together. Checks that did not start in this time are yielded as failed.
    progress : Progress, optional
        Receives lines while an environment is built.
    """
    spec = checked.entry.spec
    interpreters: dict[str, str] = {}
    if checked.environment is not None:
        ready = find_or_build_environment(
            checked.environment, [spec.name], build=True, say=(progress or NullProgress()).say
        )
        interpreters[""] = str(ready.python)
    checks = {check.name: check for check in checks_for(spec, checked.params)}
    names = list(checks)
    jobs = [Job(CHECK_TARGET, CheckJob(spec, name, checked.params), timeout_seconds) for name in names]
    causes: dict[str, str] = {}
    executor = start_executor(LOADERS)
    try:
        preload = (run_check_job.__module__, *getattr(spec, "preload", ()))
        workplace = Workplace(preload={"": preload}, path=paths_of(session.folders), interpreters=interpreters)
        executor.prepare(workplace)
        for job, end in executor.run(_until(monotonic() + all_seconds, jobs)):
            names.remove(job.payload.check)
            yield _result_of(checks[job.payload.check], end, causes, spec)
    finally:
        executor.close()
    for name in names:
        not_run = CheckEnd("failed", f"not run: earlier checks took more than {all_seconds:g} s")
        yield CheckResult(name, not_run, checks[name].why, follows="" if name == names[0] else names[0])


def _until(stop: float, jobs: list[Job]) -> Iterator[Job]:
    """Yield jobs until the clock reaches `stop`."""
    for job in jobs:
        if monotonic() >= stop:
            return
        yield job


def _result_of(check: Check, ended: JobEnd, causes: dict[str, str], spec: CheckedSpec) -> CheckResult:
    """Return the result of a check. `causes` maps each reason to the name of the first check that failed for it."""
    if ended.status == "ok":
        end = CheckEnd(**ended.answer)
        cause = end.where or end.reason
    else:  # the process died or was killed
        end = CheckEnd("failed", f"{ended.status}: {ended.message}")
        cause = ended.status
    if end.status != "failed":
        return CheckResult(check.name, end, check.why, ended.output)
    end = end if end.where else replace(end, where=line_of_method(check, spec))
    first = causes.setdefault(cause, check.name)
    return CheckResult(check.name, end, check.why, ended.output, "" if first == check.name else first)
