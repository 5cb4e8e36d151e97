"""Two plugins with one name: an error that names both, in every command that would use the name."""

from functools import partial

import pytest

from command import run_harness
from discovery_reports import BUILT_IN, report_of
from harness.errors import AmbiguousName
from internals import choose_columns, discover, find_metric
from messages import assert_names, naming

METRIC = """
from harness import MetricSpec, hookimpl

@hookimpl
def harness_metrics():
    return [MetricSpec(name="{name}", compute="somewhere:constant", title="{name}", {more})]
"""
SPECS = """
from harness import DatasetSpec, LearnerSpec, RepresentationSpec, hookimpl

@hookimpl
def {hook}():
    return [{spec}(name="{name}", load="somewhere:thing")]
"""
KINDS = {
    "learner": ("harness_learners", "LearnerSpec", "pa"),
    "dataset": ("harness_datasets", "DatasetSpec", "digits"),
    "representation": ("harness_representations", "RepresentationSpec", "words"),
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_built_in_name_that_a_plugin_registers_too_is_an_error_with_both_plugins(install, kind):
    hook, spec, name = KINDS[kind]
    built_in = getattr(discover(), kind)(name)
    install("copycat", SPECS.format(hook=hook, spec=spec, name=name), version="0.3", plugin="copies")
    catalog = discover()
    both = (f"'{built_in.origin.plugin}' of {built_in.origin}", "'copies' of copycat 0.3", "--disable-plugin copies")
    with pytest.raises(AmbiguousName, match=naming(name, *both)):
        getattr(catalog, kind)(name)
    assert report_of(catalog, "copies").status == "conflict"
    assert_names(report_of(catalog, "copies").reason, kind, name, built_in.origin.plugin, BUILT_IN)
    assert getattr(discover(disabled=["copies"]), kind)(name) == built_in
    assert getattr(discover(disabled=["copycat"]), kind)(name) == built_in


@pytest.mark.parametrize(
    ("name", "more"),
    [
        ("r1", ""),  # the same name
        ("r1", "shown=False, always=False"),  # even if the metric is not requested
        ("r7", ""),  # a member of the built-in family rk
        ("other", 'parameters={"k": 3}, short="r{k}"'),  # a family with the short name of rk
    ],
)
def test_a_metric_never_replaces_a_built_in_one(install, name, more):
    built_in = find_metric("r1", discover())
    install("sneaky", METRIC.format(name=name, more=more))
    catalog = discover()
    for use in (choose_columns, lambda catalog, _: find_metric("r1", catalog)):
        with pytest.raises(AmbiguousName, match=naming("'sneaky' of sneaky 1.0", BUILT_IN, "--disable-plugin sneaky")):
            use(catalog, None)
    assert {report.status for report in catalog.plugins if report.origin.plugin in ("sneaky", "metrics")} == {
        "conflict"
    }
    assert find_metric("r1", discover(disabled=["sneaky"])) == built_in


def test_two_plugins_of_one_name_are_distinguished_by_distribution(install):
    source = SPECS.format(hook="harness_learners", spec="LearnerSpec", name="both")
    install("north", source, plugin="extra")
    install("south", source, plugin="extra")
    with pytest.raises(AmbiguousName, match=naming("--disable-plugin north", "--disable-plugin south")):
        discover().learner("both")
    assert discover(disabled=["north"]).learner("both").origin.distribution == "south"


@pytest.fixture
def command(install, tmp_path):
    """Run `harness WORDS` in a process that has a metric r1 from another distribution."""
    install("sneaky", METRIC.format(name="r1", more=""))

    return partial(run_harness, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path / "site")})


def test_a_run_with_a_second_r1_is_refused_until_a_plugin_is_disabled(command, tmp_path):
    words = ("run", "--learners", "centroid", "--datasets", "digits", "--trials", "1", "--out", "out")
    refused = command(*words)
    assert refused.returncode == 2
    assert_names(refused.stderr, "'r1'", "'sneaky' of sneaky 1.0", BUILT_IN, "--disable-plugin sneaky")
    assert not (tmp_path / "out").exists()
    assert command(*words, "--disable-plugin", "sneaky").returncode == 0
    assert command("table", "out").returncode == 2
    assert "R1" in command("table", "out", "--disable-plugin", "sneaky").stdout
