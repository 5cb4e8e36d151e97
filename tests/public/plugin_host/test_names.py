"""Name conflicts between plugins, unknown names, disabled plugins, and strict mode."""

import sys

import pytest

from discovery_reports import BUILT_IN, GOOD, names, report_of
from harness.errors import AmbiguousName, HarnessError, UnknownName
from internals import discover
from messages import assert_names, naming


def test_a_name_from_two_distributions_is_ambiguous_and_either_can_be_chosen(install):
    install("north", GOOD.format(name="both"), version="1.1")
    install("south", GOOD.format(name="both"), version="2.2")
    install("west", GOOD.format(name="alone"))
    catalog = discover()
    with pytest.raises(AmbiguousName, match=naming("both", "north:both", "south:both", "--disable-plugin north")):
        catalog.learner("both")
    assert catalog.learner("north:both").origin.version == "1.1"
    assert catalog.learner("south:both").origin.version == "2.2"
    assert report_of(catalog, "north").status == report_of(catalog, "south").status == "conflict"
    assert_names(report_of(catalog, "north").reason, "both")
    assert report_of(catalog, "west").status == "ok"
    assert catalog.learner("alone").origin.distribution == "west"


def test_a_built_in_name_registered_by_a_plugin_becomes_ambiguous(install):
    install("copycat", GOOD.format(name="pa"))
    catalog = discover()
    with pytest.raises(AmbiguousName, match=naming("copycat:pa", f"{BUILT_IN}:pa")):
        catalog.learner("pa")
    assert catalog.learner(f"{BUILT_IN}:pa").spec.load == "harness_prototype.pa:PA"


def test_a_name_registered_twice_by_one_distribution_raises_an_error_with_the_next_step(install):
    install("twin", GOOD.format(name="same"))
    install("unused", GOOD.format(name="same"), target="twin_module")
    info = install("other", "", target="twin_module:harness_nothing")
    (info / "entry_points.txt").write_text("[harness]\none = twin_module\ntwo = twin_module\n")
    catalog = discover(disabled=["twin", "unused"])
    with pytest.raises(AmbiguousName, match=naming("--disable-plugin")):
        catalog.learner("same")


@pytest.mark.parametrize(
    ("ask", "name", "hint"),
    [
        ("learner", "paa", "unknown learner 'paa'. Did you mean pa or oaa?"),
        ("dataset", "digit", "unknown dataset 'digit'. Did you mean digits?"),
        ("metric", "trian", "unknown metric 'trian'. Did you mean train"),
        ("experiment", "pa_steps", "unknown experiment 'pa_steps'. Did you mean pa-steps?"),
        ("learner", "manyclass:pa", f"Did you mean {BUILT_IN}:pa?"),
    ],
)
def test_an_unknown_name_raises_an_error_with_the_nearest_names(ask, name, hint):
    with pytest.raises(UnknownName) as caught:
        getattr(discover(), ask)(name)
    assert hint in str(caught.value)
    assert "s` lists all" in str(caught.value)


def test_a_name_unlike_any_other_raises_an_error_with_all_names():
    with pytest.raises(UnknownName, match=naming("qqqqqq")):
        discover().dataset("qqqqqq")


def test_a_disabled_plugin_is_not_imported(install):
    install("noisy", "raise SystemExit('imported')")
    install("quiet", GOOD.format(name="quiet-one"), plugin="silence")
    catalog = discover(disabled=["noisy", "silence"])
    assert report_of(catalog, "noisy").status == report_of(catalog, "silence").status == "disabled"
    assert report_of(catalog, "noisy").reason == "by --disable-plugin"
    assert "quiet-one" not in names(catalog.learners)
    assert "noisy_module" not in sys.modules


def test_a_distribution_can_be_disabled_as_a_whole(install):
    install("north", GOOD.format(name="pa"))
    catalog = discover(disabled=[BUILT_IN])
    assert catalog.learner("pa").origin.distribution == "north"
    assert not catalog.metrics


def test_disabling_an_unknown_plugin_is_an_error(install):
    with pytest.raises(UnknownName, match=naming("--disable-plugin", "protoype")):
        discover(disabled=["protoype"])


def test_strict_mode_makes_an_error_of_a_broken_plugin(install, monkeypatch):
    install("raises", "raise RuntimeError('no luck')", version="0.7")
    monkeypatch.setenv("HARNESS_STRICT_PLUGINS", "1")
    with pytest.raises(HarnessError, match=r"HARNESS_STRICT_PLUGINS.*\n +raises \(raises 0.7\): RuntimeError: no luck"):
        discover()
    assert discover(disabled=["raises"]).learner("pa")
    monkeypatch.setenv("HARNESS_STRICT_PLUGINS", "0")
    assert discover().learner("pa")


def test_strict_mode_makes_an_error_of_a_conflict(install, monkeypatch):
    install("copycat", GOOD.format(name="pa"))
    monkeypatch.setenv("HARNESS_STRICT_PLUGINS", "1")
    with pytest.raises(HarnessError, match=naming("pa")):
        discover()
