"""The specs that the plugin registers for its metrics: default columns and directions."""

import pytest

from harness_metrics.plugin import harness_metrics
from internals import import_target

SPECS = {spec.name: spec for spec in harness_metrics()}
SHARES = {"r1", "r5", "r10", "rk", "accuracy", "error", "mrr", "macro_f1", "macro_f1_lshtc", "coverage", "psp"}
SHARES |= {"parent_accuracy", "level_accuracy", "r1_frequent", "r1_rare"}
TIMES = {"train", "train_cpu", "predict", "predict_one", "predict_one_p99"}
ON_THIS_MACHINE = TIMES | {"rows_per_second", "peak"}
LOWER_IS_BETTER = TIMES | {"error", "tree_loss", "tree_error", "index", "index_bytes", "edges", "peak"}
SHOWN = {"r1", "r5", "train", "predict", "index", "edges"}
ON_REQUEST = {"rk", "mrr", "level_accuracy", "psp", "predict_one", "predict_one_p99"}
DEPTHS = {"r5": 5, "r10": 10, "mrr": 1000}


@pytest.mark.parametrize("name", sorted(SHARES | LOWER_IS_BETTER | ON_THIS_MACHINE))
def test_registered_specs_match_the_metrics(name):
    spec = SPECS[name]
    assert (spec.unit == "share") == (name in SHARES)
    assert (spec.unit == "seconds") == (name in TIMES)
    assert (spec.unit == "bytes") == (name in {"index_bytes", "peak"})
    assert (spec.direction == "lower") == (name in LOWER_IS_BETTER)
    assert spec.timed == (name in ON_THIS_MACHINE)
    assert spec.shown == (name in SHOWN)
    assert spec.always == (name not in ON_REQUEST)
    assert spec.single == name.startswith("predict_one")
    of_cost = spec.compute.startswith("harness_metrics.cost:")
    assert spec.depth == (0 if of_cost else DEPTHS.get(name, 1))


@pytest.mark.parametrize("spec", SPECS.values(), ids=lambda spec: spec.name)
def test_a_metric_has_a_heading_and_a_summary_and_its_function_has_its_name(spec):
    assert spec.title
    assert spec.title != spec.name or spec.name in {"accuracy", "error", "coverage", "train"}
    assert spec.summary
    assert import_target(spec.compute).__name__ == spec.name


def test_metric_families_name_the_parameter_that_is_the_depth():
    families = {spec.name: (spec.parameters, spec.short, spec.depth_parameter) for spec in SPECS.values()}
    assert families["rk"] == ({"k": 1}, "r{k}", "k")
    assert families["psp"] == ({"k": 1, "a": 0.55, "b": 1.5}, "psp{k}", "k")
    assert families["level_accuracy"] == ({"level": 1}, "level{level}", "")
    assert families["mrr"] == ({"depth": 1000}, "", "depth")
    assert families["tree_loss"] == ({"costs": 0.5}, "", "")
    assert families["r1_frequent"] == ({"more_than": 100}, "", "")
    assert families["r1_rare"] == ({"fewer_than": 20}, "", "")
