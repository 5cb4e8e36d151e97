"""The conformance suite for learners, datasets, metrics, representations and experiments of plugins.

`harness check NAME` runs it. It can also be run by pytest, which shows a check that does not apply as skipped:

    from harness.checks import learner_checks

    @pytest.mark.parametrize("check", learner_checks(LearnerSpec(name="mine", load="my_package:Mine")), ids=str)
    def test_conformance(check):
        check()
"""

from __future__ import annotations

from typing import Any

from harness.checks import learners, specs
from harness.checks.learners import scikit_learn_checks
from harness.checks.subject import Check, CheckFailed, NotApplicable, Subject, checks_in
from harness.host.contract import DatasetSpec, ExperimentSpec, LearnerSpec, MetricSpec, RepresentationSpec

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
    """Return the checks of a learner.

    Parameters
    ----------
    spec : LearnerSpec
        The learner.
    **params : object
        Parameters of the learner to set, as in `learner_checks(spec, members=3)`.

    Returns
    -------
    list of Check
        Call each one to run it. It raises `CheckFailed` or another error if it fails, `NotApplicable` to be skipped.
    """
    subject = Subject(spec, params)
    return checks_in(learners, subject)


def dataset_checks(spec: DatasetSpec) -> list[Check]:
    """Return the checks of a dataset: its loader, its stamp, its classes, and its licence and citation."""
    return checks_in(specs, spec)


def metric_checks(spec: MetricSpec) -> list[Check]:
    """Return the checks of a metric: its values on made-up outcomes, and its declared depth and direction."""
    return checks_in(specs, spec)


def experiment_checks(spec: ExperimentSpec) -> list[Check]:
    """Return the checks of a registered experiment: its file, the names in it, and its published numbers."""
    return checks_in(specs, spec)


def representation_checks(spec: RepresentationSpec) -> list[Check]:
    """Return the checks of a representation: its output on made-up rows, and that it can be repeated and cloned."""
    return checks_in(specs, spec)
