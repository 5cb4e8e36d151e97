"""The public conformance suite: what the host expects of a learner, a data set or a metric, as named checks.

With pytest, where a check that does not apply is shown as skipped:

    from harness.checks import learner_checks

    @pytest.mark.parametrize("check", learner_checks(LearnerSpec(name="mine", load="my_package:Mine")), ids=str)
    def test_conformance(check):
        check()
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness.checks import datasets, files, learners, manners, metrics
from harness.checks.check import Check, CheckFailed, NotApplicable, checks_in
from harness.checks.estimators import scikit_learn_checks
from harness.checks.subject import Subject
from harness.contract import DatasetSpec, LearnerSpec, MetricSpec

__all__ = [
    "Check",
    "CheckFailed",
    "NotApplicable",
    "dataset_checks",
    "learner_checks",
    "metric_checks",
    "scikit_learn_checks",
]


def learner_checks(spec: LearnerSpec, **params: Any) -> list[Check]:
    """The checks of a learner as it is by default; `learner_checks(spec, members=3)` sets it up otherwise."""
    subject = Subject(spec, params)
    return [*checks_in(learners, subject), *checks_in(manners, subject), *checks_in(files, subject)]


def dataset_checks(spec: DatasetSpec) -> list[Check]:
    """The checks of a data set."""
    return checks_in(datasets, spec)


def metric_checks(spec: MetricSpec) -> list[Check]:
    """The checks of a metric."""
    return checks_in(metrics, spec)


def run_job(payload: dict[str, Any], send: Callable[[str], None]) -> tuple[dict[str, str], None]:
    """A job: one check by name, in a process of its own; gives the reason of a failure, or none."""
    spec, make = _spec_from(payload)
    (check,) = [check for check in make(spec) if check.name == payload["check"]]
    send(check.name)
    try:
        check()
    except NotApplicable as reason:
        return {"skipped": str(reason)}, None
    except CheckFailed as error:
        return {"failed": str(error)}, None
    except Exception as error:
        place = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{Path(place.filename).name}, line {place.lineno}"
        return {"failed": f"{type(error).__name__}: {error} ({where})"}, None
    return {}, None


def _spec_from(payload: dict[str, Any]) -> tuple[Any, Callable[[Any], list[Check]]]:
    content = dict(payload["spec"])
    if payload["kind"] == "learner":
        content |= {key: frozenset(content[key]) for key in ("needs", "supports")}
        return LearnerSpec(**content), learner_checks
    if payload["kind"] == "data set":
        return DatasetSpec(**content), dataset_checks
    return MetricSpec(**content), metric_checks
