"""One check as a job: run in a process of its own, so that a learner that hangs or dies costs no other check."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from harness.checks import dataset_checks, experiment_checks, learner_checks, metric_checks, representation_checks
from harness.checks.blame import own_line, whole_traceback
from harness.checks.check import Check, CheckFailed, NotApplicable
from harness.contract import DatasetSpec, ExperimentSpec, LearnerSpec, MetricSpec, RepresentationSpec

CheckedSpec = LearnerSpec | DatasetSpec | MetricSpec | ExperimentSpec | RepresentationSpec


@dataclass(frozen=True)
class CheckJob:
    """What to check, and by which of its checks."""

    spec: CheckedSpec
    check: str
    params: Mapping[str, Any] = field(default_factory=dict)
    """What a learner is set up with, otherwise than by default."""


@dataclass(frozen=True)
class CheckEnd:
    """How one check ended."""

    status: Literal["ok", "failed", "skipped"]
    reason: str = ""
    """Why it failed or does not apply."""
    where: str = ""
    """The author's own line that it failed in, where it came through one."""
    traceback: str = ""


def checks_for(spec: CheckedSpec, params: Mapping[str, Any]) -> list[Check]:
    """The checks of whatever it is."""
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
    """Run one check; gives the fields of its end."""
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
    where = ""
    with contextlib.suppress(Exception):  # a module that cannot be imported is what the error itself is about
        where = own_line(error, _target_of(spec))
    return CheckEnd("failed", reason, where, whole_traceback(error))


def _target_of(spec: CheckedSpec) -> str:
    """Where its author's code is."""
    if isinstance(spec, MetricSpec):
        return spec.compute
    return spec.resource if isinstance(spec, ExperimentSpec) else spec.load
