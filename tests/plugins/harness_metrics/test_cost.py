"""Costs: each metric is the figure it says, None where the trial could not tell, and registered for what it is."""

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
    rank_seconds=0.5,
    index_size=12,
    index_bytes=96,
    edges_per_feature=1.5,
    peak_bytes=4096,
)
SPECS = {spec.name: spec for spec in harness_metrics()}


def compute(name, outcome):
    module, function = SPECS[name].compute.split(":")
    return getattr(import_module(module), function)(outcome)


@pytest.mark.parametrize(
    ("name", "title", "value"),
    [
        ("r1", "R1", 0.75),
        ("r5", "R5", 0.75),
        ("train", "train", 2.5),
        ("train_cpu", "train CPU", 4.5),
        ("predict", "per prediction", 0.125),
        ("index", "|I|", 12),
        ("index_bytes", "index bytes", 96),
        ("edges", "e", 1.5),
        ("peak", "peak memory", 4096),
    ],
)
def test_every_metric_has_its_title_and_gives_its_figure(name, title, value):
    assert SPECS[name].title == title
    assert compute(name, KNOWN) == value


def test_the_metrics_come_in_the_order_of_the_table():
    assert list(SPECS) == ["r1", "r5", "train", "train_cpu", "predict", "index", "index_bytes", "edges", "peak"]


@pytest.mark.parametrize(
    ("name", "field"),
    [
        ("index", "index_size"),
        ("index_bytes", "index_bytes"),
        ("edges", "edges_per_feature"),
        ("peak", "peak_bytes"),
    ],
)
def test_what_the_trial_could_not_tell_is_none(name, field):
    assert compute(name, replace(KNOWN, **{field: None})) is None


def test_zero_is_a_figure_and_not_a_gap():
    assert compute("index", replace(KNOWN, index_size=0)) == 0
    assert compute("train", replace(KNOWN, fit_seconds=0.0)) == 0.0


def test_the_time_per_prediction_without_rows_is_none():
    nothing = replace(KNOWN, truth=np.zeros(0, dtype=np.intp), ranks=np.zeros((0, 1), dtype=np.int32))
    assert compute("predict", nothing) is None


def test_costs_are_lower_is_better_and_need_no_ranks():
    costs = [spec for name, spec in SPECS.items() if name not in ("r1", "r5")]
    assert {(spec.direction, spec.depth) for spec in costs} == {("lower", 0)}


def test_what_depends_on_the_machine_says_so():
    assert {name for name, spec in SPECS.items() if spec.timed} == {"train", "train_cpu", "predict", "peak"}


def test_units_are_those_of_the_figures():
    assert {name: spec.unit for name, spec in SPECS.items()} == {
        "r1": "share",
        "r5": "share",
        "train": "seconds",
        "train_cpu": "seconds",
        "predict": "seconds",
        "index": "count",
        "index_bytes": "bytes",
        "edges": "count",
        "peak": "bytes",
    }
