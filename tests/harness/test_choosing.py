"""Which learners are proposed for data: by what was measured on data like it."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.choosing import Facts, Measurement, distance, nearest_datasets, propose
from harness.errors import HarnessError

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
    return Measurement(dataset, facts, learner, r1, train, answer)


@given(one=FACTS, other=FACTS)
def test_data_is_nearest_to_itself_and_distance_has_no_direction(one, other):
    assert distance(one, one) == 0
    assert distance(one, other) == pytest.approx(distance(other, one))
    assert distance(one, other) >= 0


@pytest.mark.parametrize(
    "other", [replace(TITLES, rows=2000), replace(TITLES, classes=50), replace(TITLES, letters=100), COUNTS]
)
def test_rows_classes_and_length_each_make_data_less_alike(other):
    assert distance(TITLES, other) > 0


def test_the_nearest_come_first_and_are_three_at_most():
    sets = {name: replace(TITLES, rows=rows) for name, rows in [("a", 9000), ("b", 1100), ("c", 3000), ("d", 500)]}
    known = [measured("pa", 0.5, dataset=name, facts=facts) for name, facts in sets.items()]
    assert nearest_datasets(TITLES, known) == ["b", "d", "c"]


def test_three_are_proposed_each_for_a_reason_of_its_own():
    known = [
        measured("accurate", 0.90, train=100, answer=1e-3),
        measured("quick", 0.885, train=1, answer=1e-4),
        measured("nimble", 0.86, train=10, answer=1e-6),
        measured("poor", 0.50, train=0.1, answer=1e-7),
    ]
    first, second, third = propose(TITLES, known)
    assert (first.learner, second.learner, third.learner) == ("accurate", "quick", "nimble")
    assert first.reason == "the most accurate"
    assert "to train within 0.02" in second.reason
    assert "to answer within 0.05" in third.reason


def test_training_is_expected_in_proportion_to_rows_and_an_answer_as_it_was():
    (only,) = propose(replace(TITLES, rows=3000), [measured("pa", 0.5, train=2.0, answer=3e-6)])
    assert only.train_seconds == pytest.approx(6.0)
    assert (only.answer_seconds, only.r1, only.dataset) == (3e-6, 0.5, "titles")


def test_who_was_not_measured_on_one_of_the_nearest_is_not_proposed():
    far = replace(TITLES, rows=1200)
    known = [measured("both", 0.5), measured("both", 0.5, dataset="far", facts=far), measured("one", 0.9)]
    assert [proposal.learner for proposal in propose(TITLES, known)] == ["both"]


def test_data_on_which_all_of_them_failed_has_no_say():
    far = replace(TITLES, rows=5000)
    known = [measured("here", 0.8), measured("there", 0.9, dataset="far", facts=far)]
    assert [proposal.learner for proposal in propose(TITLES, known)] == ["here"]
    assert [proposal.learner for proposal in propose(far, known)] == ["there"]


def test_the_nearest_data_counts_most():
    far = replace(TITLES, rows=5000)
    known = []
    for learner, near_r1, far_r1 in [("here", 0.8, 0.6), ("there", 0.6, 0.8)]:
        known += [measured(learner, near_r1), measured(learner, far_r1, dataset="far", facts=far)]
    assert propose(TITLES, known)[0].learner == "here"
    assert propose(far, known)[0].learner == "there"


def test_nothing_measured_is_said_plainly():
    with pytest.raises(HarnessError, match="no comparison that was measured"):
        propose(TITLES, [])
