"""Learners in an experiment: labels, the `set` table, parameters per dataset, and where each learner runs."""

import pytest

from experiments import learners_of
from harness.errors import SpecError
from internals import build


def test_labels_default_to_names(from_flags):
    learners = "pa,x=pa,some-dist:other,sklearn.naive_bayes:MultinomialNB,committee(pa(C=2)),committee(committee(ooz))"
    assert [ref.label for ref in learners_of(from_flags(learners=learners))] == [
        "pa",
        "x",
        "other",
        "MultinomialNB",
        "committee(pa)",
        "committee(committee(ooz))",
    ]


def test_a_setting_applies_to_the_label_first_and_else_to_the_name(from_flags):
    settings = ("pa.C=1", "b.passes=2", "a@icd10cm.C=3")
    first, second = learners_of(from_flags(learners="a=pa,b=pa", settings=settings))
    assert (first.params, first.by_dataset) == ({"C": 1}, {"icd10cm": {"C": 3}})
    assert (second.params, second.by_dataset) == ({"C": 1, "passes": 2}, {})


def test_a_setting_for_a_label_leaves_the_learner_of_that_name_unchanged(from_flags):
    first, second = learners_of(from_flags(learners="pa,b=pa", settings=("pa.C=1",)))
    assert (first.params, second.params) == ({"C": 1}, {})


def test_a_label_with_an_at_sign_can_be_set(from_file):
    found = from_file('[[learners]]\nname = "pa"\nlabel = "pa@home"\n[set]\n"pa@home".C = 2')
    assert learners_of(found)[0].params == {"C": 2}


def test_a_setting_for_an_importable_learner_uses_its_full_name(from_flags):
    name = "sklearn.naive_bayes:MultinomialNB"
    (ref,) = learners_of(from_flags(learners=f"nb={name}", settings=(f"{name}.alpha=0.5",)))
    assert ref.params == {"alpha": 0.5}


def test_parameters_apply_to_a_dataset_grid_or_to_one_of_its_datasets(from_file):
    (ref,) = learners_of(
        from_file("""
    datasets = ["curve=topics(rows=[5, 6])"]

    [[learners]]
    name = "pa"
    datasets."curve(rows=6)" = { C = 3, passes = 3 }
    datasets.curve = { C = 2 }
    """)
    )
    assert ref.by_dataset == {"curve(rows=5)": {"C": 2}, "curve(rows=6)": {"C": 3, "passes": 3}}


def test_a_learner_may_be_limited_to_datasets_and_grids():
    learners = ["pa", {"name": "ooz", "on": ["digits", "curve"]}]
    raw = {"learners": learners, "datasets": "icd10cm,digits,curve=topics(rows=[5, 6])"}
    everywhere, somewhere = learners_of(build(raw, "test"))
    assert everywhere.on is None
    assert somewhere.on == {"digits", "curve(rows=5)", "curve(rows=6)"}


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        ({"name": "pa", "on": ["digit"]}, "test: learner 'pa' is to run on 'digit', which is not in datasets"),
        ({"name": "pa", "datasets": {"x": {}}}, "test: learner 'pa' has parameters for 'x', which is not in datasets"),
    ],
)
def test_an_absent_dataset_is_named_with_the_learner(learner, message):
    with pytest.raises(SpecError, match=message):
        build({"learners": [learner], "datasets": "digits"}, "test")


def test_tuning_applies_to_the_label_first_and_else_to_the_name():
    tune = {"params": {"pa": {"C": [1, 2]}, "b": {"passes": [3]}}}
    named, labelled = learners_of(build({"learners": "a=pa,b=pa", "tune": tune}, "test"))
    assert (named.tune, labelled.tune) == ({"C": [1, 2]}, {"passes": [3]})
    exact, other = learners_of(build({"learners": "pa,b=pa", "tune": {"params": {"pa": {"C": [1]}}}}, "test"))
    assert (exact.tune, other.tune) == ({"C": [1]}, {})
