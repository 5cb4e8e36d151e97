"""Learner groups (all, a kind, a pattern) expand in place, without learners already listed."""

import pytest

from experiments import OWN
from harness import LearnerSpec
from harness.errors import UnknownName
from internals import Catalog, Entry, expand_groups, load_experiment, without_absent
from messages import naming

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
def test_a_group_expands_to_its_members(catalog, given, expected):
    assert expand_groups(given, catalog) == expected


@pytest.mark.parametrize("given", ["pa,ooz", ["pa"], "pa(a='*')", "x=all", "pa(", 7, [7, "pa("]])
def test_a_list_without_groups_is_returned_unchanged(catalog, given):
    assert expand_groups(given, catalog) is given


def test_a_learner_named_like_a_group_takes_precedence(catalog):
    named = Catalog(learners=(*catalog.learners, Entry(LearnerSpec(name="flat", load="a:B"), OWN)))
    assert expand_groups("flat", named) == "flat"


def test_an_empty_group_raises_an_error_that_names_it(catalog):
    with pytest.raises(UnknownName, match=naming("zz*")):
        expand_groups("zz*", catalog)


def test_a_saved_experiment_lists_the_members(catalog):
    assert load_experiment(None, {"learners": "tree"}, catalog).table["learners"] == ["top-pa"]


def test_a_file_with_a_group_may_tune_learners_outside_it(catalog):
    ranges = {"pa": {"C": [1]}, "top-pa": {"C": [2]}, "misspelt": {"C": [3]}}
    raw = {"learners": ["flat"], "tune": {"metric": "r1", "params": ranges}}
    spelt_out = without_absent(raw, catalog)
    assert spelt_out["learners"] == ["ooz", "pa"]
    assert spelt_out["tune"] == {"metric": "r1", "params": {"pa": {"C": [1]}, "misspelt": {"C": [3]}}}
    assert set(raw["tune"]["params"]) == {"pa", "top-pa", "misspelt"}
    named = {"learners": ["pa"], "tune": {"params": ranges}}
    assert without_absent(named, catalog) == named
