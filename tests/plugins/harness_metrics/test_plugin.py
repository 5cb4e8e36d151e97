"""The specs that the plugin registers for its metrics: default columns and directions."""

import pytest

from harness_metrics.plugin import harness_metrics
from internals import import_target

SPECS = {spec.name: spec for spec in harness_metrics()}
SHARES = {"r1", "r5", "r10", "rk", "accuracy", "error", "mrr", "macro_f1", "macro_f1_lshtc", "coverage", "psp"}
SHARES |= {"parent_accuracy", "level_accuracy", "r1_frequent", "r1_rare", "hp", "hr", "hf"}
SHARES |= {"p1", "p3", "p5", "precision", "recall", "ndcg", "psndcg", "micro_f1", "balanced_accuracy"}
TIMES = {"train", "train_cpu", "predict", "predict_one", "predict_one_p99"}
ON_THIS_MACHINE = TIMES | {"rows_per_second", "peak"}
LOWER_IS_BETTER = TIMES | {"error", "log_loss", "tree_loss", "tree_error", "index", "index_bytes", "edges", "peak"}
SHOWN = {"r1", "r5", "p1", "p3", "p5", "tree_loss", "train", "predict", "index", "edges"}
ON_REQUEST = {"rk", "mrr", "level_accuracy", "psp", "predict_one", "predict_one_p99"}
ON_REQUEST |= {"precision", "recall", "ndcg", "psndcg", "log_loss"}
DEPTHS = {"r5": 5, "r10": 10, "mrr": 1000, "p3": 3, "p5": 5}
LABELS = {"r1": "one", "r5": "one", "p1": "several", "p3": "several", "p5": "several"}


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
    assert spec.labels == LABELS.get(name, "any")
    assert spec.confidence == (name in {"ece", "log_loss"})
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
    assert families["precision"] == ({"k": 1}, "p{k}", "k")
    assert families["recall"] == ({"k": 1}, "recall{k}", "k")
    assert families["ndcg"] == ({"k": 1}, "ndcg{k}", "k")
    assert families["psndcg"] == ({"k": 1, "a": 0.55, "b": 1.5}, "psndcg{k}", "k")
    assert families["psp"] == ({"k": 1, "a": 0.55, "b": 1.5}, "psp{k}", "k")
    assert families["level_accuracy"] == ({"level": 1}, "level{level}", "")
    assert families["mrr"] == ({"depth": 1000}, "", "depth")
    assert families["tree_loss"] == ({"costs": 0.5}, "", "")
    assert families["r1_frequent"] == ({"more_than": 100}, "", "")
    assert families["r1_rare"] == ({"fewer_than": 20}, "", "")
