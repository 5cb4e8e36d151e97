"""Learners suggested for data, from measurements on similar data."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import HarnessError
from internals import Cost, Facts, Measurement, distance, nearest_datasets, propose
from messages import assert_names, naming

TITLES = Facts(rows=1000, classes=100, features_a_row=None, letters=50)
COUNTS = Facts(rows=1000, classes=100, features_a_row=30, letters=None)
FACTS = st.builds(
    Facts,
    rows=st.integers(1, 10**7),
    classes=st.integers(1, 10**5),
    features_a_row=st.none() | st.floats(0.1, 1e4),
    letters=st.none() | st.floats(0.1, 1e5),
)


def measured(learner, r1, train=1.0, answer=1e-5, dataset="titles", facts=TITLES):
    return Measurement(dataset, facts, learner, f"{learner}(C=2)", Cost(r1, train, answer))


def failed(learner, dataset="titles", facts=TITLES):
    return Measurement(dataset, facts, learner, learner, None)


@given(one=FACTS, other=FACTS)
def test_distance_is_zero_to_itself_and_symmetric(one, other):
    assert distance(one, one) == 0
    assert distance(one, other) == pytest.approx(distance(other, one))
    assert distance(one, other) >= 0


@pytest.mark.parametrize(
    "other", [replace(TITLES, rows=2000), replace(TITLES, classes=50), replace(TITLES, letters=100), COUNTS]
)
def test_rows_classes_and_text_length_each_increase_the_distance(other):
    assert distance(TITLES, other) > 0


def test_the_nearest_datasets_come_first_and_are_at_most_three():
    sets = {name: replace(TITLES, rows=rows) for name, rows in [("a", 9000), ("b", 1100), ("c", 3000), ("d", 500)]}
    known = [measured("pa", 0.5, dataset=name, facts=facts) for name, facts in sets.items()]
    assert nearest_datasets(TITLES, known) == ["b", "d", "c"]


def test_the_second_and_third_learner_are_the_best_where_those_before_are_weak():
    sets = {name: replace(TITLES, rows=rows) for name, rows in [("a", 1000), ("b", 1100), ("c", 1200)]}
    r1 = {
        "accurate": (0.90, 0.89, 0.86),
        "similar": (0.90, 0.88, 0.86),
        "on b": (0.86, 0.90, 0.86),
        "on c": (0.85, 0.85, 0.90),
    }
    known = [
        measured(learner, value, train=9 if learner == "accurate" else 1, dataset=name, facts=sets[name])
        for learner, values in r1.items()
        for name, value in zip(sets, values, strict=True)
    ]
    first, second, third = propose(TITLES, known)
    assert (first.learner, second.learner, third.learner) == ("accurate", "on c", "on b")
    assert first.reason == "the most accurate"
    assert_names(second.reason, "first", "weak")
    assert_names(third.reason, "both", "weak")
    assert third.expression == "on b(C=2)"


def test_the_quickest_of_the_proposals_is_named_by_its_time_per_row():
    larger = replace(TITLES, rows=1100)
    known = [measured("best", 0.9, train=9), measured("slow", 0.895, train=1.0)]
    known += [measured("quick", 0.89, train=1.05, dataset="larger", facts=larger)]
    quick = [proposal.learner for proposal in propose(TITLES, known) if "quickest" in proposal.reason]
    assert quick == ["quick"]


def test_expected_losses_are_weighted_by_similarity():
    far = replace(TITLES, rows=3000)
    known = [measured("one", 0.90), measured("one", 0.88, dataset="far", facts=far)]
    known += [measured("other", 0.87), measured("other", 0.90, dataset="far", facts=far)]
    near, farther = 1.0, 3 ** (-1 / 3)  # a distance of log 3, at a scale of 3
    first, second = propose(TITLES, known)
    assert (first.learner, second.learner) == ("one", "other")
    assert first.behind == pytest.approx(0.02 * farther / (near + farther))
    assert second.behind == pytest.approx(0.03 * near / (near + farther))


def test_a_loss_of_more_than_five_points_counts_as_five():
    known = [measured("best", 0.9), measured("poor", 0.1)]
    assert propose(TITLES, known)[1].behind == pytest.approx(0.05)


def test_expected_training_time_is_proportional_to_rows_and_prediction_time_is_constant():
    (only,) = propose(replace(TITLES, rows=3000), [measured("pa", 0.5, train=2.0, answer=3e-6)])
    assert only.train_seconds == pytest.approx(6.0)
    assert (only.answer_seconds, only.r1, only.dataset) == (3e-6, 0.5, "titles")


@pytest.mark.parametrize("size", ["rows", "classes", "letters"])
def test_a_learner_that_failed_on_data_of_this_size_is_not_suggested(size):
    smaller, larger = (replace(TITLES, **{size: getattr(TITLES, size) + by}) for by in (-1, 1))
    known = [measured("both", 0.5), measured("both", 0.5, dataset="far", facts=smaller), measured("one", 0.9)]
    assert [one.learner for one in propose(TITLES, [*known, failed("one", "far", smaller)])] == ["both"]
    assert propose(TITLES, [*known, failed("one", "far", larger)])[0].learner == "one"


def test_a_learner_that_failed_on_larger_data_has_the_largest_loss_there():
    larger = replace(TITLES, rows=1001)
    known = [measured("both", 0.88), measured("both", 0.9, dataset="larger", facts=larger)]
    known += [measured("one", 0.90), failed("one", "larger", larger)]
    first, second = propose(TITLES, known)
    assert (first.learner, second.learner) == ("both", "one")
    assert second.behind == pytest.approx(0.05 / 2, rel=0.01)


def test_a_learner_that_was_not_run_somewhere_has_its_mean_loss_and_a_little_more_there():
    twin = replace(TITLES, rows=1000)
    known = [measured("both", 0.9), measured("both", 0.2, dataset="twin", facts=twin)]
    known += [measured("with a tree", 0.3, dataset="twin", facts=twin)]
    first, second = propose(TITLES, known)
    assert (first.learner, second.learner) == ("with a tree", "both")
    assert first.behind == pytest.approx((0 + 0.02) / 2)
    assert second.behind == pytest.approx((0 + 0.05) / 2)


def test_data_with_as_many_labels_per_row_weighs_more():
    several = replace(TITLES, multilabel=True)
    known = []
    for learner, single, multi in [("for one", 0.9, 0.87), ("for several", 0.87, 0.9)]:
        known += [measured(learner, single), measured(learner, multi, dataset="several", facts=several)]
    assert propose(TITLES, known)[0].learner == "for one"
    assert propose(several, known)[0].learner == "for several"


def test_datasets_with_as_many_labels_per_row_come_first():
    several = replace(TITLES, rows=10**6, multilabel=True)
    known = [measured("pa", 0.5), measured("pa", 0.5, dataset="several", facts=several)]
    assert nearest_datasets(TITLES, known) == ["titles"]
    assert nearest_datasets(replace(TITLES, multilabel=True), known) == ["several"]
    assert nearest_datasets(replace(TITLES, multilabel=True), known[:1]) == ["titles"]


def test_datasets_on_which_all_learners_failed_are_ignored():
    far = replace(TITLES, rows=5000)
    known = [measured("here", 0.8), failed("there")]
    known += [failed("here", dataset="far", facts=far), measured("there", 0.9, dataset="far", facts=far)]
    assert [proposal.learner for proposal in propose(TITLES, known)] == ["here"]
    assert propose(far, known)[0].learner == "there", "all failed on smaller data"
    assert nearest_datasets(TITLES, [failed("here")]) == []


def test_the_nearest_dataset_has_the_largest_weight():
    far = replace(TITLES, rows=5000)
    known = []
    for learner, near_r1, far_r1 in [("here", 0.8, 0.6), ("there", 0.6, 0.8)]:
        known += [measured(learner, near_r1), measured(learner, far_r1, dataset="far", facts=far)]
    assert propose(TITLES, known)[0].learner == "here"
    assert propose(far, known)[0].learner == "there"


def test_missing_measurements_raise_an_error():
    with pytest.raises(HarnessError, match=naming("comparison")):
        propose(TITLES, [])
