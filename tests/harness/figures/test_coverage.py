"""Accuracy by coverage: the surest rows first, averaged over trials, and nothing where no scores are kept."""

import numpy as np
import pytest

from harness.errors import HarnessError
from harness.figures.coverage import coverage_panels
from harness.groups import group_records
from harness.sdk.selective import risk_curve


def test_the_accuracy_of_the_surest_share_is_drawn_as_the_mean_of_the_trials(make_record):
    lines = group_records([make_record("pa", seed) for seed in range(2)])
    gaps = np.arange(10.0)
    wrong = {0: gaps < 5, 1: gaps < 0}  # in the first trial the five rows that it is least sure of are wrong

    (panel,) = coverage_panels(lines, lambda record: risk_curve(gaps, wrong[record.seed]))

    (series,) = panel.series
    assert (series.x[0], series.y[0]) == (0.1, 1.0)
    assert series.x[-1] == 1.0
    assert series.y[-1] == pytest.approx((0.5 + 1.0) / 2)
    assert series.spread[-1] > 0 == series.spread[0]
    assert series.trials == 2


def test_without_scores_there_is_nothing_to_draw_and_it_is_said_why(make_record):
    with pytest.raises(HarnessError, match="none of the records has scores"):
        coverage_panels(group_records([make_record("pa", 0)]), lambda record: None)
