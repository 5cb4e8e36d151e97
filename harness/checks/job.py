"""One check as a job: run in a process of its own, so that a learner that hangs or dies costs no other check."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from harness.checks import dataset_checks, learner_checks, metric_checks, representation_checks
from harness.checks.check import Check, CheckFailed, NotApplicable
from harness.contract import DatasetSpec, LearnerSpec, MetricSpec, RepresentationSpec

CheckedSpec = LearnerSpec | DatasetSpec | MetricSpec | RepresentationSpec


@dataclass(frozen=True)
class CheckJob:
    """What to check, and by which of its checks."""

    spec: CheckedSpec
    check: str


def checks_for(spec: CheckedSpec) -> list[Check]:
    """The checks of whatever it is."""
    if isinstance(spec, LearnerSpec):
        return learner_checks(spec)
    if isinstance(spec, DatasetSpec):
        return dataset_checks(spec)
    if isinstance(spec, RepresentationSpec):
        return representation_checks(spec)
    return metric_checks(spec)


def run_check_job(job: CheckJob, send: Callable[[str], None]) -> tuple[dict[str, str], None]:
    """Run one check; gives its status, and the reason where it failed or does not apply."""
    check = next(check for check in checks_for(job.spec) if check.name == job.check)
    send(check.name)
    try:
        check()
    except NotApplicable as reason:
        return _ended("skipped", str(reason))
    except CheckFailed as error:
        return _ended("failed", str(error))
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}, line {place.lineno}"
        return _ended("failed", f"{type(error).__name__}: {error} ({where})")
    return _ended("ok", "")


def _ended(status: str, reason: str) -> tuple[dict[str, str], None]:
    return {"status": status, "reason": reason}, None
