"""Names that two plugins give, names that nobody gives, plugins left out, and strictness."""

import sys

import pytest

from discovered import BUILT_IN, GOOD, names, report_of
from harness.errors import AmbiguousName, HarnessError, UnknownName
from harness.host import discover


def test_one_name_from_two_distributions_is_ambiguous_and_either_can_be_picked(install):
    install("north", GOOD.format(name="both"), version="1.1")
    install("south", GOOD.format(name="both"), version="2.2")
    install("west", GOOD.format(name="alone"))
    catalog = discover()
    with pytest.raises(AmbiguousName, match=r"learner 'both' .*pick one with north:both or south:both"):
        catalog.learner("both")
    assert catalog.learner("north:both").origin.version == "1.1"
    assert catalog.learner("south:both").origin.version == "2.2"
    assert report_of(catalog, "north").status == report_of(catalog, "south").status == "conflict"
    assert report_of(catalog, "north").reason == "'both' is also given by south"
    assert report_of(catalog, "west").status == "ok"
    assert catalog.learner("alone").origin.distribution == "west"


def test_a_built_in_name_taken_again_is_no_longer_anybodys_alone(install):
    install("copycat", GOOD.format(name="pa"))
    catalog = discover()
    with pytest.raises(AmbiguousName, match=f"copycat:pa or {BUILT_IN}:pa"):
        catalog.learner("pa")
    assert catalog.learner(f"{BUILT_IN}:pa").spec.load == "harness_prototype.pa:PA"


def test_one_name_twice_from_one_distribution_is_told_with_the_way_out(install):
    install("twin", GOOD.format(name="same"))
    install("unused", GOOD.format(name="same"), target="twin_module")
    info = install("other", "", target="twin_module:harness_nothing")
    (info / "entry_points.txt").write_text("[harness]\none = twin_module\ntwo = twin_module\n")
    catalog = discover(disabled=["twin", "unused"])
    with pytest.raises(AmbiguousName, match=r"one of other, two of other\): use --disable-plugin"):
        catalog.learner("same")


@pytest.mark.parametrize(
    ("ask", "name", "hint"),
    [
        ("learner", "paa", "unknown learner 'paa'; did you mean pa or oaa?"),
        ("dataset", "digit", "unknown data set 'digit'; did you mean digits?"),
        ("metric", "trian", "unknown metric 'trian'; did you mean train"),
        ("experiment", "pa_steps", "unknown experiment 'pa_steps'; did you mean pa-steps?"),
        ("learner", "manyclass:pa", f"did you mean {BUILT_IN}:pa?"),
    ],
)
def test_an_unknown_name_comes_with_the_nearest_ones(ask, name, hint):
    with pytest.raises(UnknownName) as caught:
        getattr(discover(), ask)(name)
    assert hint in str(caught.value)
    assert "s` shows all" in str(caught.value)


def test_a_name_near_nothing_comes_with_all_that_are_known():
    with pytest.raises(UnknownName, match=r"unknown data set 'qqqqqq'; known: .*digits"):
        discover().dataset("qqqqqq")


def test_a_disabled_plugin_is_not_even_imported(install):
    install("noisy", "raise SystemExit('imported')")
    install("quiet", GOOD.format(name="quiet-one"), plugin="silence")
    catalog = discover(disabled=["noisy", "silence"])
    assert report_of(catalog, "noisy").status == report_of(catalog, "silence").status == "disabled"
    assert report_of(catalog, "noisy").reason == "by --disable-plugin"
    assert "quiet-one" not in names(catalog.learners)
    assert "noisy_module" not in sys.modules


def test_a_distribution_is_disabled_whole(install):
    install("north", GOOD.format(name="pa"))
    catalog = discover(disabled=[BUILT_IN])
    assert catalog.learner("pa").origin.distribution == "north"
    assert not catalog.metrics


def test_disabling_what_is_not_there_is_an_error(install):
    with pytest.raises(UnknownName, match=r"--disable-plugin 'protoype' matches no plugin; known: .*prototype"):
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
    with pytest.raises(HarnessError, match="'pa' is also given by"):
        discover()
