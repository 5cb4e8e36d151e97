"""Installed plugins: a broken one is reported in full and never stops the others."""

import pytest

from discovery_reports import BUILT_IN, GOOD, names, report_of
from harness import CONTRACT
from internals import choose_columns, discover
from messages import assert_names

METRIC = """
from harness import MetricSpec, hookimpl

@hookimpl
def harness_metrics():
    return [MetricSpec(name="accord", compute="accord_module:none", title="accord", unit="share", direction="higher")]
"""


def test_the_built_in_plugins_are_entry_points_like_any_other():
    catalog = discover()
    assert {report.origin.distribution for report in catalog.plugins} >= {BUILT_IN}
    assert all(r.status == "ok" for r in catalog.plugins if r.origin.distribution == BUILT_IN)
    assert catalog.learner("pa").spec.kind == "flat"
    assert catalog.dataset("digits").spec.representation == "tf"
    assert catalog.metric("r1").spec.title == "R1"
    assert catalog.experiment("pa-steps").spec.resource.endswith(".toml")


def test_an_installed_plugin_adds_its_learner_with_its_origin(install):
    install("far-away", GOOD.format(name="thing"), version="2.3")
    catalog = discover()
    entry = catalog.learner("thing")
    assert (entry.origin.plugin, entry.origin.distribution, entry.origin.version) == ("far-away", "far-away", "2.3")
    assert report_of(catalog, "far-away").status == "ok"


def test_plugins_are_sorted_by_distribution_after_the_built_in_ones(install):
    for name in ("zebra", "alpaca", "monkey"):
        install(name, GOOD.format(name=name))
    distributions = [report.origin.distribution for report in discover().plugins]
    others = [distribution for distribution in distributions if distribution != BUILT_IN]
    assert others == sorted(others)
    assert others
    assert distributions == [BUILT_IN] * (len(distributions) - len(others)) + others


def test_third_party_metrics_follow_the_built_in_ones(install):
    install("accord", METRIC)
    shown = [metric.name for metric in choose_columns(discover(), None)]
    assert shown[0] == "r1"
    assert shown[-1] == "accord"


BROKEN = {
    "raises": ("raise RuntimeError('no\\nluck')", "RuntimeError: no luck"),
    "exits": ("import sys; sys.exit(4)", "SystemExit: 4"),
    "lacks": (
        "import no_such_dependency_at_all",
        "needs the module 'no_such_dependency_at_all', which is not installed",
    ),
    "syntax": ("def def", "SyntaxError: invalid syntax"),
    "misspelt": (
        "from harness import hookimpl\n@hookimpl\ndef harness_learner(): return []",
        "unknown hook 'harness_learner' in 'misspelt_module'. Did you mean 'harness_learners'? The hooks are "
        "harness_learners, harness_datasets, harness_metrics, harness_experiments",
    ),
    "misspelt-and-wrong": (
        "from harness import hookimpl\n@hookimpl\ndef harness_datasett(): return []\n"
        "@hookimpl\ndef harness_learners(config): return []",
        "definition: harness_learners(config)",
    ),
    "hook-raises": (
        "from harness import hookimpl\n@hookimpl\ndef harness_metrics(): raise KeyError('gone')",
        "KeyError: 'gone'",
    ),
    "hook-exits": (
        "from harness import hookimpl\n@hookimpl\ndef harness_metrics(): raise SystemExit('bye')",
        "SystemExit: bye",
    ),
    "unmarked": ("def harness_learners(): return []", "registers nothing: mark at least one"),
    "empty": ("from harness import hookimpl\n@hookimpl\ndef harness_learners(): return []", "registers nothing"),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_plugin_is_reported_in_full_and_the_others_work(install, case):
    source, reason = BROKEN[case]
    install("a-first", GOOD.format(name="first"))
    install(case, source, version="0.7")
    install("zz-last", GOOD.format(name="last"))
    catalog = discover()
    report = report_of(catalog, case)
    assert (report.status, report.origin.distribution, report.origin.version) == ("broken", case, "0.7")
    assert reason in report.reason
    assert "\n" not in report.reason
    assert report_of(catalog, "a-first").status == report_of(catalog, "zz-last").status == "ok"
    assert {"first", "last", "pa"} <= set(names(catalog.learners))
    assert not names(catalog.learners, case)


NEWER = {
    "declared": "HARNESS_CONTRACT = '2.0'\n",
    "unimportable": "from harness import OnlyInTheNewerContract\nHARNESS_CONTRACT: str = '2.3'\n",
}


@pytest.mark.parametrize("case", NEWER)
def test_a_plugin_for_a_newer_major_contract_is_refused_with_the_next_step(install, case):
    install(case, NEWER[case] + GOOD.format(name="thing"))
    report = report_of(discover(), case)
    assert report.status == "broken"
    version = "2.0" if case == "declared" else "2.3"
    assert f"plugin {case!r} was written for contract {version}, this harness has {CONTRACT}" in report.reason
    assert f"Upgrade {BUILT_IN}, or use a version of {case} for contract 1." in report.reason


@pytest.mark.parametrize("declared", ["1.0", "1.7", "0.9"])
def test_a_plugin_for_the_same_major_contract_or_an_older_one_is_loaded(install, declared):
    install("known", f"HARNESS_CONTRACT = {declared!r}\n" + GOOD.format(name="thing"))
    assert report_of(discover(), "known").status == "ok"


@pytest.mark.parametrize("declared", [1.0, "one", "2", None])
def test_a_contract_that_is_no_version_is_refused(install, declared):
    install("odd", f"HARNESS_CONTRACT = {declared!r}\n" + GOOD.format(name="thing"))
    assert_names(report_of(discover(), "odd").reason, repr(declared), f'HARNESS_CONTRACT = "{CONTRACT}"')


def test_several_broken_plugins_do_not_affect_the_good_ones(install):
    alone = discover()
    for case, (source, _) in BROKEN.items():
        install(case, source)
    catalog = discover()
    assert {r.origin.plugin for r in catalog.plugins if r.status == "broken"} == set(BROKEN)
    assert catalog.learners == alone.learners
    assert catalog.metrics == alone.metrics


def learner_hook(expression, hook="harness_learners"):
    return f"""
    from harness import DatasetSpec, ExperimentSpec, LearnerSpec, MetricSpec, hookimpl

    @hookimpl
    def {hook}():
        return {expression}
    """


RUBBISH = {
    "word": ("'pa'", "harness_learners returned 'pa', expected a list of LearnerSpec"),
    "nothing": ("None", "harness_learners returned None, expected a list of LearnerSpec"),
    "numbers": ("[1, 2]", "harness_learners returned 1, expected a LearnerSpec"),
    "other-spec": ("[MetricSpec(name='m', compute='a:b')]", "expected a LearnerSpec"),
    "bad-name": ("[LearnerSpec(name='My Learner', load='a:B')]", "the name 'My Learner' must be lower case letters"),
    "no-name": ("[LearnerSpec(name=None, load='a:B')]", "name is None, expected a text"),
    "colon-name": ("[LearnerSpec(name='a:b', load='a:B')]", "the name 'a:b' must be"),
    "bad-load": ("[LearnerSpec(name='x', load='a.B')]", "x.load is 'a.B', expected 'module:name'"),
    "class-load": ("[LearnerSpec(name='x', load=int)]", "x.load is <class 'int'>, expected 'module:name'"),
    "bad-kind": ("[LearnerSpec(name='x', load='a:B', kind='bush')]", "x.kind is 'bush', expected one of flat, tree"),
    "bad-need": (
        "[LearnerSpec(name='x', load='a:B', needs={'positive'})]",
        "x.needs is {'positive'}, expected a set of nonnegative, taxonomy, dense",
    ),
    "bad-support": ("[LearnerSpec(name='x', load='a:B', supports='multilabel')]", "expected a set of multilabel, text"),
    "bad-preload": ("[LearnerSpec(name='x', load='a:B', preload='a')]", "x.preload is 'a', expected a tuple"),
    "bad-parameters": ("[LearnerSpec(name='x', load='a:B', parameters=['C'])]", "x.parameters is ['C'], expected"),
    "twice": ("[LearnerSpec(name='x', load='a:B')] * 2", "harness_learners returned the name 'x' twice"),
}


@pytest.mark.parametrize("case", RUBBISH)
def test_a_hook_that_returns_invalid_values_breaks_its_own_plugin_only(install, case):
    expression, reason = RUBBISH[case]
    install(case, learner_hook(expression))
    install("good", GOOD.format(name="good-one"))
    catalog = discover()
    assert report_of(catalog, case).status == "broken"
    assert reason in report_of(catalog, case).reason
    assert catalog.learner("good-one").origin.distribution == "good"


@pytest.mark.parametrize(
    ("hook", "expression", "reason"),
    [
        (
            "harness_datasets",
            "[DatasetSpec(name='d', load='a:b', representation=['tf'])]",
            "expected a text",
        ),
        (
            "harness_datasets",
            "[DatasetSpec(name='d', load='a:b', stamp='b')]",
            "d.stamp is 'b', expected 'module:name'",
        ),
        (
            "harness_datasets",
            "[DatasetSpec(name='d', load='a:b', version='2')]",
            "d.version is '2', expected a whole number",
        ),
        (
            "harness_datasets",
            "[DatasetSpec(name='d', load='a:b', facts={'lines': 3})]",
            "d.facts is {'lines': 3}, expected numbers for rows, features, classes, nonzeros, taxonomy_depth",
        ),
        ("harness_metrics", "[MetricSpec(name='m', compute='b')]", "m.compute is 'b', expected 'module:name'"),
        ("harness_metrics", "[MetricSpec(name='m', compute='a:b', unit='percent')]", "one of share, seconds, bytes"),
        ("harness_metrics", "[MetricSpec(name='m', compute='a:b', direction='up')]", "expected one of higher, lower"),
        (
            "harness_metrics",
            "[MetricSpec(name='m', compute='a:b', depth=True)]",
            "m.depth is True, expected a whole number",
        ),
        ("harness_experiments", "[ExperimentSpec(name='e', resource='file.toml')]", "e.resource is 'file.toml'"),
    ],
)
def test_specs_of_every_hook_are_validated(install, hook, expression, reason):
    install("odd", learner_hook(expression, hook))
    report = report_of(discover(), "odd")
    assert report.status == "broken"
    assert reason in report.reason


def test_a_hook_may_be_a_generator(install):
    install("lazy", "from harness import LearnerSpec, hookimpl\n@hookimpl\ndef harness_learners():\n"
            "    yield LearnerSpec(name='lazily', load='a:B')")  # fmt: skip
    assert discover().learner("lazily").origin.distribution == "lazy"


def test_output_printed_by_a_plugin_does_not_reach_standard_output(install, capsys):
    install("chatty", "print('hello')\n" + GOOD.format(name="chatter"))
    assert discover().learner("chatter")
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "hello" in captured.err


def test_remains_of_an_interrupted_installation_do_not_stop_the_host(install):
    info = install("halfway", GOOD.format(name="half"))
    (info / "METADATA").unlink()
    catalog = discover()
    assert catalog.learner("half").origin.distribution == "unknown"
    assert catalog.learner("pa")


def test_an_entry_point_without_a_target_is_reported(install):
    install("gone", "", target="no_such_module_here")
    install("hollow", "", target="hollow_module:missing")
    catalog = discover()
    assert_names(report_of(catalog, "gone").reason, "no_such_module_here")
    assert_names(report_of(catalog, "hollow").reason, "missing")
