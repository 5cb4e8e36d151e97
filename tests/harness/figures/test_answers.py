"""What answers tell: accuracy by coverage, R1 by class frequency, by level of the tree; averaged over trials."""

import numpy as np
import pytest

from harness.errors import HarnessError
from harness.figures.answers import Answers, coverage_panels, frequency_panels, level_panels
from harness.groups import group_records
from harness.sdk.by_class import ByClass, FrequencyBin
from harness.sdk.selective import risk_curve


def test_the_accuracy_of_the_surest_share_is_drawn_as_the_mean_of_the_trials(make_record):
    lines = group_records([make_record("pa", seed) for seed in range(2)])
    gaps = np.arange(10.0)
    wrong = {0: gaps < 5, 1: gaps < 0}  # in the first trial the five rows that it is least sure of are wrong

    (panel,) = coverage_panels(lines, lambda record: Answers(risk_curve(gaps, wrong[record.seed])))

    (series,) = panel.series
    assert (series.x[0], series.y[0]) == (0.1, 1.0)
    assert series.x[-1] == 1.0
    assert series.y[-1] == pytest.approx((0.5 + 1.0) / 2)
    assert series.spread[-1] > 0 == series.spread[0]
    assert series.trials == 2


def test_without_scores_there_is_nothing_to_draw_and_it_is_said_why(make_record):
    with pytest.raises(HarnessError, match="none of the records has scores"):
        coverage_panels(group_records([make_record("pa", 0)]), lambda record: None)


def answers_of(record):
    """Rare classes are half right in the first trial and all right in the second; frequent ones always."""
    rare = FrequencyBin(1, 1.0, rows=4, right=2 + 2 * record.seed)
    frequent = FrequencyBin(8, 10.0, rows=3, right=3)
    return Answers(by_class=ByClass((rare, frequent), (0.9, 0.5 + 0.2 * record.seed), (), {}))


def test_r1_by_class_frequency_is_the_mean_over_trials_on_a_logarithmic_axis(make_record):
    (panel,) = frequency_panels(group_records([make_record("pa", seed) for seed in range(2)]), answers_of)
    (series,) = panel.series
    assert (series.x, series.y) == ((1.0, 10.0), (0.75, 1.0))
    assert (panel.x_scale, panel.x_title, panel.y_title) == ("log", "training rows of the class", "R1")


def test_levels_of_the_class_tree_are_counted_from_below_the_root(make_record):
    (panel,) = level_panels(group_records([make_record("pa", seed) for seed in range(2)]), answers_of)
    (series,) = panel.series
    assert series.x == (1.0, 2.0)
    assert series.y == pytest.approx((0.9, 0.6))
    assert panel.whole_x


@pytest.mark.parametrize("panels", [coverage_panels, frequency_panels, level_panels])
@pytest.mark.parametrize("answers", [None, Answers()])
def test_without_answers_there_is_nothing_to_draw(make_record, panels, answers):
    with pytest.raises(HarnessError, match="none of the records has"):
        panels(group_records([make_record("pa", 0)]), lambda record: answers)
