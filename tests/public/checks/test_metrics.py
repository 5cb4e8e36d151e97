"""Metric checks: a good metric passes all of them, and each check fails for exactly one kind of bad metric."""

import pytest
from scipy.sparse import issparse

from checking import answer_of, cases, failed
from harness import MetricSpec
from harness_metrics.plugin import harness_metrics
from internals import metric_checks

HERE = __name__


def first_is_true(outcome):
    if issparse(outcome.truth):
        return None
    return float((outcome.ranks[:, 0] == outcome.truth).mean())


def is_no_number(outcome):
    return float("nan")


def is_text(outcome):
    return "good"


def changes_the_outcome(outcome):
    outcome.train_class_counts[0] += 1
    return 1.0


def looks_at_the_first_row(outcome):
    return float(outcome.ranks[0, 0])


def looks_too_deep(outcome):
    return float((outcome.ranks >= 0).sum())


def metric(compute, **fields):
    return MetricSpec(name="mine", compute=f"{HERE}:{compute}", **fields)


BAD_METRICS = {
    "returns_a_number_or_none": [metric("is_no_number"), metric("is_text")],
    "is_pure": [metric("changes_the_outcome", depth=0)],
    "does_not_depend_on_the_order_of_rows": [metric("looks_at_the_first_row")],
    "needs_no_more_ranks_than_declared": [metric("looks_too_deep")],
    "prefers_perfect_ranks": [metric("first_is_true", direction="lower")],
}


def test_a_good_metric_passes_every_check():
    assert failed(metric_checks(metric("first_is_true"))) == set()


@pytest.mark.parametrize("spec", harness_metrics(), ids=lambda spec: spec.name)
def test_every_built_in_metric_passes_every_check(spec):
    assert failed(metric_checks(spec)) == set()


@pytest.mark.parametrize(("check", "spec"), cases(BAD_METRICS))
def test_a_bad_metric_fails_exactly_its_check(check, spec):
    assert failed(metric_checks(spec)) == {check}


def test_every_metric_check_has_a_bad_metric():
    assert {check.name for check in metric_checks(metric("first_is_true"))} == set(BAD_METRICS)


def test_a_check_run_as_a_job_returns_its_reason():
    assert "finite number" in answer_of("metric", metric("is_text"), "returns_a_number_or_none")["failed"]
