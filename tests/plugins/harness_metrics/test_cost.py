"""Cost metrics: values, None where a trial did not measure them, and registered specs."""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest

from harness import Outcome
from harness_metrics.plugin import harness_metrics

KNOWN = Outcome(
    truth=np.array([0, 1, 1, 0], dtype=np.intp),
    ranks=np.array([[0], [1], [0], [0]], dtype=np.int32),
    n_classes=2,
    train_class_counts=np.array([3, 5]),
    n_train=8,
    fit_seconds=2.5,
    fit_cpu_seconds=4.5,
    rank_seconds=1.0,
    predict_seconds=0.5,
    index_size=12,
    index_bytes=96,
    edges_per_feature=1.5,
    peak_bytes=4096,
    single_seconds=np.arange(1.0, 101.0),
)
SPECS = {spec.name: spec for spec in harness_metrics()}


def compute(name, outcome):
    module, function = SPECS[name].compute.split(":")
    return getattr(import_module(module), function)(outcome, **SPECS[name].parameters)


@pytest.mark.parametrize(
    ("name", "title", "value"),
    [
        ("r1", "R1", 0.75),
        ("r5", "R5", 0.75),
        ("train", "train", 2.5),
        ("train_cpu", "train CPU", 4.5),
        ("predict", "per prediction", 0.125),
        ("rank", "per ranking", 0.25),
        ("predict_one", "one prediction", 50.5),
        ("predict_one_p99", "one prediction, 99%", 100.0),
        ("rows_per_second", "rows/s", 3.2),
        ("index", "index size", 12),
        ("index_bytes", "index bytes", 96),
        ("edges", "edges read", 1.5),
        ("peak", "peak memory", 4096),
    ],
)
def test_every_metric_has_a_title_and_returns_its_measurement(name, title, value):
    assert SPECS[name].title == title
    assert compute(name, KNOWN) == value


def test_the_default_columns_are_these_metrics_in_this_order():
    shown = [name for name, spec in SPECS.items() if spec.shown]
    assert shown == ["r1", "r5", "p1", "p3", "p5", "tree_loss", "train", "predict", "index", "edges"]


def test_expensive_metrics_are_computed_only_on_request():
    assert max(spec.depth for spec in SPECS.values() if spec.always) == 10
    assert not any(spec.always for spec in SPECS.values() if spec.single)


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("index", "index_size"),
        ("index_bytes", "index_bytes"),
        ("edges", "edges_per_feature"),
        ("peak", "peak_bytes"),
        ("predict_one", "single_seconds"),
        ("predict_one_p99", "single_seconds"),
    ],
)
def test_values_that_the_trial_did_not_measure_are_none(name, field):
    assert compute(name, replace(KNOWN, **{field: None})) is None


def test_zero_is_a_value_and_not_none():
    assert compute("index", replace(KNOWN, index_size=0)) == 0
    assert compute("train", replace(KNOWN, fit_seconds=0.0)) == 0.0


def test_time_per_prediction_without_rows_is_none():
    nothing = replace(KNOWN, truth=np.zeros(0, dtype=np.intp), ranks=np.zeros((0, 1), dtype=np.int32))
    assert compute("predict", nothing) is None


def test_training_speed_without_training_time_is_none():
    assert compute("rows_per_second", replace(KNOWN, fit_seconds=0.0)) is None


def test_costs_are_lower_is_better_and_need_no_ranks():
    costs = [spec for spec in SPECS.values() if ".cost:" in spec.compute]
    assert {spec.depth for spec in costs} == {0}
    assert [spec.name for spec in costs if spec.direction == "higher"] == ["rows_per_second"]


def test_machine_dependent_metrics_are_marked():
    times = {"train", "train_cpu", "predict", "rank", "predict_one", "predict_one_p99", "rows_per_second", "peak"}
    assert {name for name, spec in SPECS.items() if spec.timed} == times


def test_units_match_the_values():
    units = {}
    for name, spec in SPECS.items():
        units.setdefault(spec.unit, set()).add(name)
    assert units["seconds"] == {"train", "train_cpu", "predict", "rank", "predict_one", "predict_one_p99"}
    assert units["count"] == {"index", "edges", "rank_edges", "rows_per_second", "tree_loss", "tree_error", "log_loss"}
    assert units["bytes"] == {"index_bytes", "peak"}
