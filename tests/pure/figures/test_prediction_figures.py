"""Figures from saved predictions: accuracy by coverage, R1 by class frequency and by taxonomy level."""

import numpy as np
import pytest

from harness.errors import HarnessError
from internals import (
    Answers,
    ByClass,
    FrequencyBin,
    coverage_panels,
    frequency_panels,
    group_records,
    level_panels,
    risk_curve,
)
from messages import naming


def answered(lines, answers_of):
    """Return the answers of all trials by key."""
    return {record.key: answers_of(record) for line in lines for record in line.finished}


def test_accuracy_by_coverage_is_the_mean_over_trials(make_record):
    lines = group_records([make_record("pa", seed) for seed in range(2)])
    gaps = np.arange(10.0)
    wrong = {0: gaps < 5, 1: gaps < 0}  # in the first trial the five least confident rows are wrong

    (panel,) = coverage_panels(lines, answered(lines, lambda record: Answers(risk_curve(gaps, wrong[record.seed]))))

    (series,) = panel.series
    assert (series.x[0], series.y[0]) == (0.1, 1.0)
    assert series.x[-1] == 1.0
    assert series.y[-1] == pytest.approx((0.5 + 1.0) / 2)
    assert series.spread[-1] > 0 == series.spread[0]
    assert series.trials == 2


def test_without_scores_the_error_gives_the_reason(make_record):
    with pytest.raises(HarnessError, match=naming("record", "scores")):
        coverage_panels(group_records([make_record("pa", 0)]), {})


def answers_of(record):
    """Return predictions: rare classes half right in trial 1 and all right in trial 2, frequent ones all right."""
    rare = FrequencyBin(1, 1.0, rows=4, right=2 + 2 * record.seed)
    frequent = FrequencyBin(8, 10.0, rows=3, right=3)
    return Answers(by_class=ByClass((rare, frequent), (0.9, 0.5 + 0.2 * record.seed), (), {}))


def test_r1_by_class_frequency_is_the_mean_over_trials_on_a_logarithmic_axis(make_record):
    lines = group_records([make_record("pa", seed) for seed in range(2)])
    (panel,) = frequency_panels(lines, answered(lines, answers_of))
    (series,) = panel.series
    assert (series.x, series.y) == ((1.0, 10.0), (0.75, 1.0))
    assert (panel.x_scale, panel.x_title, panel.y_title) == ("log", "training rows of the class", "R1")


def test_taxonomy_levels_are_counted_from_below_the_root(make_record):
    lines = group_records([make_record("pa", seed) for seed in range(2)])
    (panel,) = level_panels(lines, answered(lines, answers_of))
    (series,) = panel.series
    assert series.x == (1.0, 2.0)
    assert series.y == pytest.approx((0.9, 0.6))
    assert panel.integer_x


@pytest.mark.parametrize("panels", [coverage_panels, frequency_panels, level_panels])
def test_without_saved_predictions_nothing_is_drawn(make_record, panels):
    lines = group_records([make_record("pa", 0)])
    for answers in ({}, answered(lines, lambda record: Answers())):
        with pytest.raises(HarnessError, match=naming("record")):
            panels(lines, answers)
