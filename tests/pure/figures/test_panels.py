"""Panels: the data of a figure before drawing."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import MetricSpec
from harness.errors import HarnessError
from internals import (
    bar_panels,
    curve_panels,
    group_records,
    pareto_front,
    pareto_panels,
    scaling_panels,
    slope_note,
    sweep_panels,
)
from messages import naming

R1 = MetricSpec(name="r1", compute="a:b", title="R1")
TRAIN = MetricSpec(name="train", compute="a:b", direction="lower", unit="seconds")
POINTS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=1, max_size=12)


def curve(*scores):
    return [{"passes": n, "scores": {"r1": score, "train": n / 2}} for n, score in enumerate(scores, start=1)]


def test_a_curve_has_mean_and_spread_per_pass(make_record):
    records = [make_record("pa", 0, r1=0.6, curve=curve(0.5, 0.6)), make_record("pa", 1, r1=0.8, curve=curve(0.7, 0.8))]
    (panel,) = curve_panels(group_records(records), R1)
    (series,) = panel.series
    assert series.x == (1, 2)
    assert series.y == pytest.approx((0.6, 0.7))
    assert series.spread == pytest.approx((math.sqrt(0.02), math.sqrt(0.02)))
    assert series.trials == 2
    assert panel.x_title == "passes"


def test_a_curve_can_show_another_metric(make_record):
    (panel,) = curve_panels(group_records([make_record("pa", 0, r1=0.6, curve=curve(0.5, 0.6))]), R1, TRAIN)
    assert panel.series[0].x == (0.5, 1.0)
    assert panel.x_title == "train"


def test_without_curves_the_error_shows_how_to_record_them(make_record):
    with pytest.raises(HarnessError, match="Run with --curves"):
        curve_panels(group_records([make_record("pa", 0, r1=0.6)]), R1)


def test_curves_of_other_metrics_are_named_in_the_error(make_record):
    records = [make_record("pa", 0, r1=0.6, r3=0.8, curve=curve(0.5, None))]
    r3 = MetricSpec(name="r3", compute="a:b")
    with pytest.raises(HarnessError, match=naming("r3", "--curves", "--metrics")):
        curve_panels(group_records(records), r3)
    with pytest.raises(HarnessError, match=naming("r3", "--metrics", "r1,r3", "--out")):
        curve_panels(group_records(records), R1, r3)
    with pytest.raises(HarnessError, match=naming("r1")):
        curve_panels(group_records([make_record("pa", 0, curve=curve(None))]), R1)


def test_every_dataset_has_a_panel_and_failed_trials_are_omitted(make_record):
    records = [make_record("pa", 0, r1=0.6), make_record("pa", 0, r1=0.7, dataset="other")]
    records.append(make_record("pa", 1, status="error", dataset="third"))
    assert [panel.title for panel in bar_panels(group_records(records), R1)] == ["digits", "other"]


def test_bars_are_grouped_by_learner(make_record):
    records = [make_record(label, seed, r1=0.5 + seed / 10) for label in ("pa", "ooz") for seed in (0, 2)]
    (panel,) = bar_panels(group_records(records), R1)
    assert panel.names == ("pa", "ooz")
    assert [series.x for series in panel.series] == [(0,), (1,)]
    assert panel.series[0].y == pytest.approx((0.6,))


def test_bars_have_the_same_order_on_every_dataset(make_record):
    learners = {"one": ("pa", "ooz"), "two": ("ooz", "pa")}
    records = [make_record(label, 0, dataset=name, r1=0.5) for name in learners for label in learners[name]]
    assert [panel.names for panel in bar_panels(group_records(records), R1)] == [("pa", "ooz"), ("pa", "ooz")]


def test_a_sweep_finds_the_parameter_and_removes_it_from_the_label(make_record):
    records = [make_record(f"pa(C={c})", 0, r1=0.5 + c / 10, params={"C": c}) for c in (2, 1)]
    (panel,) = sweep_panels(group_records(records), R1)
    assert panel.x_title == "C"
    assert panel.series[0].label == "pa"
    assert panel.series[0].x == (1, 2)
    assert panel.series[0].y == pytest.approx((0.6, 0.7))


def test_a_wide_sweep_gets_a_logarithmic_axis(make_record):
    records = [make_record(f"pa(C={c})", 0, r1=0.5, params={"C": c}) for c in (0.01, 0.1, 1.0)]
    assert sweep_panels(group_records(records), R1)[0].x_scale == "log"


def test_two_swept_parameters_require_a_choice(make_record):
    grid = [(c, n) for c in (1, 2) for n in (3, 4)]
    records = [make_record(f"pa(C={c}, passes={n})", 0, r1=0.5, params={"C": c, "passes": n}) for c, n in grid]
    with pytest.raises(HarnessError, match=naming("--x")):
        sweep_panels(group_records(records), R1)
    (panel,) = sweep_panels(group_records(records), R1, "C")
    assert [series.label for series in panel.series] == ["pa(passes=3)", "pa(passes=4)"]


def test_scaling_spans_datasets_and_reports_the_slope(make_record):
    records = [
        make_record("pa", 0, dataset=f"d{n}", fingerprint=str(n), n_classes=n, train=0.5 * n**1.5)
        for n in (10, 100, 1000)
    ]
    (panel,) = scaling_panels(group_records(records), TRAIN)
    assert panel.series[0].note == "slope 1.50"
    assert (panel.x_scale, panel.y_scale) == ("log", "log")


def test_data_run_in_several_sizes_scale_without_options(make_record):
    sizes = {"part": (20, 60), "other": (10,), "third": (500,)}
    records = []
    for family, numbers in sizes.items():
        for n in numbers:
            place = {"dataset": f"{family}{n}", "dataset_family": family, "fingerprint": f"{family}{n}", "n_classes": n}
            records.append(make_record("pa", 0, train=2.0 * n, **place))
    (panel,) = scaling_panels(group_records(records), TRAIN)
    assert panel.title == "part"
    assert panel.series[0].x == (20, 60)


def test_a_single_size_is_no_scaling(make_record):
    with pytest.raises(HarnessError, match="several sizes"):
        scaling_panels(group_records([make_record("pa", 0, train=1.0)]), TRAIN)


@given(
    st.lists(
        st.tuples(st.floats(1, 1e6), st.floats(1e-6, 1e6)), min_size=2, max_size=8, unique_by=lambda p: round(p[0])
    )
)
def test_the_slope_is_that_of_least_squares(points):
    x, y = zip(*points, strict=True)
    expected = np.polyfit(np.log(x), np.log(y), 1)[0]
    assert float(slope_note(x, y).removeprefix("slope ")) == pytest.approx(expected, abs=0.006)


@given(POINTS, st.booleans(), st.booleans())
def test_no_point_dominates_the_front_and_every_other_point_is_dominated(points, higher_y, higher_x):
    front = pareto_front(points, higher_y, higher_x)
    better = [(x if higher_x else -x, y if higher_y else -y) for x, y in points]
    for point, (x, y) in zip(points, better, strict=True):
        beaten = any(a >= x and b >= y and (a, b) != (x, y) for a, b in better)
        assert (point in front) != beaten
    assert front == sorted(front)


def test_the_front_runs_from_the_cheapest_to_the_most_accurate(make_record):
    figures = {"cheap": (0.5, 1.0), "good": (0.9, 9.0), "beaten": (0.4, 5.0)}
    records = [make_record(label, 0, r1=r1, train=train) for label, (r1, train) in figures.items()]
    (panel,) = pareto_panels(group_records(records), R1, TRAIN)
    assert panel.front == ((1.0, 0.5), (9.0, 0.9))
    assert len(panel.series) == 3


def test_a_point_has_the_spread_of_score_and_cost(make_record):
    records = [make_record("pa", seed, r1=0.5 + seed / 10, train=1.0 + seed) for seed in (0, 2)]
    ((series,),) = [panel.series for panel in pareto_panels(group_records(records), R1, TRAIN)]
    assert (series.x, series.x_spread) == ((2.0,), pytest.approx((2**0.5,)))
    assert (series.y, series.spread) == (pytest.approx((0.6,)), pytest.approx((0.02**0.5,)))


# -- lines that stand together, or do not ----------------------------------------------------------------------------


def test_a_family_is_not_guessed_from_a_label(make_record):
    labels = {"pa(C=1)": "small", "pa(C=2)": "large"}
    records = [
        make_record(label, 0, r1=0.5, params={"C": C}, family=family)
        for C, (label, family) in enumerate(labels.items(), start=1)
    ]
    with pytest.raises(HarnessError, match=naming("learner")):
        sweep_panels(group_records(records), R1)
    with pytest.raises(HarnessError, match=naming("C", "--set", "NAME.C=[1,2,3]")):
        sweep_panels(group_records(records), R1, "C")


def test_sweep_series_that_differ_in_origin_only_show_it(make_record):
    records = [
        make_record(f"pa(C={C})", 0, r1=0.5, params={"C": C}, learner_version=version)
        for version in ("1.0", "2.0")
        for C in (1, 2)
    ]
    (panel,) = sweep_panels(group_records(records), R1)
    assert [series.label for series in panel.series] == ["pa [dist 1.0]", "pa [dist 2.0]"]


def test_only_numeric_parameters_are_swept_and_failed_learners_are_omitted(make_record):
    values = [(1, False), (2, True), ("auto", True)]
    records = [make_record("pa", 0, r1=0.5, params={"C": C, "fast": fast}) for C, fast in values]
    records.append(make_record("pa", 0, status="error", params={"C": 3, "fast": True}))
    for name in ("fast", "C"):  # each value of C has its own value of fast
        with pytest.raises(HarnessError, match=naming(f"{name}")):
            sweep_panels(group_records(records), R1, name)
    alike = [make_record("pa", 0, r1=0.5, params={"C": C}) for C in (1, 2, True)]
    ((series,),) = [panel.series for panel in sweep_panels(group_records([*alike, records[-1]]), R1)]
    assert series.x == (1, 2)


def test_datasets_of_one_size_share_a_point_unless_prepared_differently(make_record):
    draws = [
        make_record("pa", 0, dataset=f"made({n}, {seed})", fingerprint=f"{n}{seed}", n_classes=n, train=float(n + seed))
        for n in (10, 100)
        for seed in (0, 2)
    ]
    ((series,),) = [panel.series for panel in scaling_panels(group_records(draws), TRAIN)]
    assert (series.x, series.y, series.trials) == ((10, 100), (11.0, 101.0), 2)
    twice = [
        make_record("pa", 0, dataset=f"d{n}", fingerprint=f"{n}", n_classes=n, train=float(n), representation=how)
        for n in (10, 100)
        for how in ("tf", "raw")
    ]
    (panel,) = scaling_panels(group_records(twice), TRAIN)
    assert [series.label for series in panel.series] == ["pa (tf, holdout:0.1)", "pa (raw, holdout:0.1)"]


def test_panels_of_one_dataset_show_preparation_and_content(make_record):
    alike = [make_record("pa", 0, r1=0.5), make_record("pa", 0, r1=0.6, representation="raw")]
    assert [panel.title for panel in bar_panels(group_records(alike), R1)] == [
        "digits (tf, holdout:0.1)",
        "digits (raw, holdout:0.1)",
    ]
    changed = [*alike, make_record("pa", 0, r1=0.7, fingerprint="beef" * 16)]
    assert [panel.title for panel in bar_panels(group_records(changed), R1)] == [
        "digits (tf, holdout:0.1; data f00df00d)",
        "digits (raw, holdout:0.1)",
        "digits (tf, holdout:0.1; data beefbeef)",
    ]


def test_figures_keep_the_order_of_the_run(make_record):
    records = [make_record("lomtree", 0, r1=0.5, learner_kind="tree"), make_record("pa", 0, r1=0.6)]
    (panel,) = bar_panels(group_records(records), R1)
    assert panel.names == ("lomtree", "pa")
    assert [series.kind for series in panel.series] == ["tree", "flat"]


def test_a_family_with_one_series_is_labelled_by_its_name(make_record):
    records = [make_record("pa", 0, r1=0.5, params={"C": C, "passes": 3}) for C in (1, 2)]
    (panel,) = sweep_panels(group_records(records), R1, "C")
    assert [series.label for series in panel.series] == ["pa"]


def test_a_single_trial_has_no_spread(make_record):
    lines = group_records([make_record("pa", 0, r1=0.5, train=2.0, curve=curve(0.5))])
    for panels in (bar_panels(lines, R1), pareto_panels(lines, R1, TRAIN), curve_panels(lines, R1)):
        ((series,),) = [panel.series for panel in panels]
        assert (series.spread, series.trials) == ((0.0,), 1)
    ((series,),) = [panel.series for panel in pareto_panels(lines, R1, TRAIN)]
    assert series.x_spread == (0.0,)


def test_values_without_a_logarithm_are_ignored_in_the_slope():
    assert slope_note((0, 1, 10, 100), (5, 1, 10, 0)) == "slope 1.00"
    assert slope_note((10, 10), (1, 2)) == slope_note((1, 10), (0, 1)) == slope_note((), ()) == ""
