"""Groups of learners: all, a kind, a pattern; in the place of their name, without what stands there already."""

import pytest

from experiments import OWN
from harness.api.request import Request, read_request
from harness.catalog import Catalog, Entry
from harness.contract import LearnerSpec
from harness.errors import UnknownName
from harness.experiment.learner_groups import expand_groups, without_absent

SPECS = [
    LearnerSpec(name="pa", load="a:B", kind="flat"),
    LearnerSpec(name="ooz", load="a:B", kind="flat"),
    LearnerSpec(name="top-pa", load="a:B", kind="tree"),
    LearnerSpec(name="new", load="a:B"),
    LearnerSpec(name="bag", load="a:B", kind="flat", wraps="base"),
    LearnerSpec(name="needy-pa", load="sklearn.multiclass:OneVsRestClassifier", kind="flat"),
]


@pytest.fixture(scope="module")
def catalog():
    return Catalog(learners=tuple(Entry(spec, OWN) for spec in SPECS))


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("all", ["new", "ooz", "pa", "top-pa"]),
        ("*", ["new", "ooz", "pa", "top-pa"]),
        ("flat", ["ooz", "pa"]),
        ("tree,flat", ["top-pa", "ooz", "pa"]),
        ("*pa", ["pa", "top-pa"]),
        ("flat,pa(C=1),small=ooz(d=2)", ["ooz", "pa(C=1)", "small=ooz(d=2)"]),
        (["other", {"name": "x", "label": "pa"}, "*pa"], ["new", {"name": "x", "label": "pa"}, "top-pa"]),
        (["all", "flat"], ["new", "ooz", "pa", "top-pa"]),
    ],
)
def test_a_group_stands_for_its_members(catalog, given, expected):
    assert expand_groups(given, catalog) == expected


@pytest.mark.parametrize("given", ["pa,ooz", ["pa"], "pa(a='*')", "x=all", "pa(", 7, [7, "pa("]])
def test_what_holds_no_group_is_given_back_untouched(catalog, given):
    assert expand_groups(given, catalog) is given


def test_a_learner_called_like_a_group_is_that_learner(catalog):
    named = Catalog(learners=(*catalog.learners, Entry(LearnerSpec(name="flat", load="a:B"), OWN)))
    assert expand_groups("flat", named) == "flat"


def test_a_group_without_members_is_named(catalog):
    with pytest.raises(UnknownName, match="no learner is in the group 'zz\\*'"):
        expand_groups("zz*", catalog)


def test_what_is_written_down_names_the_members(catalog):
    assert read_request(Request(given={"learners": "tree"}), catalog).table["learners"] == ["top-pa"]


def test_a_file_with_a_group_may_tune_learners_that_are_not_in_it(catalog):
    ranges = {"pa": {"C": [1]}, "top-pa": {"C": [2]}, "misspelt": {"C": [3]}}
    raw = {"learners": ["flat"], "tune": {"metric": "r1", "params": ranges}}
    spelt_out = without_absent(raw, catalog)
    assert spelt_out["learners"] == ["ooz", "pa"]
    assert spelt_out["tune"] == {"metric": "r1", "params": {"pa": {"C": [1]}, "misspelt": {"C": [3]}}}
    assert set(raw["tune"]["params"]) == {"pa", "top-pa", "misspelt"}
    named = {"learners": ["pa"], "tune": {"params": ranges}}
    assert without_absent(named, catalog) == named
