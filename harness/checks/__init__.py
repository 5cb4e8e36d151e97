"""The public conformance suite: what the host expects of whatever a plugin brings, as named checks.

With pytest, where a check that does not apply is shown as skipped:

    from harness.checks import learner_checks

    @pytest.mark.parametrize("check", learner_checks(LearnerSpec(name="mine", load="my_package:Mine")), ids=str)
    def test_conformance(check):
        check()
"""

from __future__ import annotations

from typing import Any

from harness.checks import datasets, experiments, files, learners, manners, metrics, representations
from harness.checks.check import Check, CheckFailed, NotApplicable, checks_in
from harness.checks.estimators import scikit_learn_checks
from harness.checks.subject import Subject
from harness.contract import DatasetSpec, ExperimentSpec, LearnerSpec, MetricSpec, RepresentationSpec

__all__ = [
    "Check",
    "CheckFailed",
    "NotApplicable",
    "dataset_checks",
    "experiment_checks",
    "learner_checks",
    "metric_checks",
    "representation_checks",
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


def experiment_checks(spec: ExperimentSpec) -> list[Check]:
    """The checks of a registered experiment."""
    return checks_in(experiments, spec)


def representation_checks(spec: RepresentationSpec) -> list[Check]:
    """The checks of a representation."""
    return checks_in(representations, spec)
