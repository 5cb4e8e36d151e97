"""Verdicts claim what the statistics support: the best is tested against every rival, and nobody else is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.contract import MetricSpec
from harness.groups import group_records
from harness.page.verdicts import tell_verdict
from harness.stats import sign_test
from tabling import R1, TRAIN


def verdict(records, *costs, **options):
    return tell_verdict(group_records(records), R1, costs, **options)


def test_the_best_beats_those_that_lose_every_trial(trials_of):
    records = [*trials_of("ooz", 0.7, 1), *trials_of("pa", 0.9, 1), *trials_of("ff", 0.8, 1)]
    assert verdict(records) == ("pa is best by R1 (0.895, 10 trials): it beats ff and ooz.",)


def test_who_wins_some_trials_cannot_be_told_from_the_best(trials_of, make_record):
    level = [make_record("svm", seed, r1=0.8 + 0.1 * (seed % 2)) for seed in range(10)]
    records = [*trials_of("pa", 0.9, 1), *level, *trials_of("ooz", 0.5, 1)]
    assert verdict(records) == ("pa is best by R1 (0.895, 10 trials); svm cannot be told from it; it beats ooz.",)


def test_where_nobody_can_be_told_from_the_best_nobody_is_beaten(make_record):
    records = [make_record("a", seed, r1=0.5 + 0.1 * (seed % 3)) for seed in range(10)]
    records += [make_record("b", seed, r1=0.5 + 0.1 * ((seed + 1) % 3)) for seed in range(10)]
    (sentence,) = verdict(records)
    assert "beats" not in sentence
    assert "none of the others can be told from it" in sentence


def test_too_few_trials_test_nothing(trials_of):
    records = [*trials_of("pa", 0.9, 1, n=3), *trials_of("ooz", 0.5, 1, n=3)]
    assert verdict(records) == ("The best mean R1 is that of pa (0.899); 3 paired trials are too few to test that.",)


def test_one_trial_is_counted_as_one(trials_of):
    records = [*trials_of("pa", 0.9, 1, n=1), *trials_of("ooz", 0.5, 1, n=1)]
    assert "1 paired trial is too few" in verdict(records)[0]


def test_equal_learners_are_equal(make_record):
    records = [make_record(label, seed, r1=0.5) for label in "ab" for seed in range(3)]
    assert verdict(records) == ("All have the same R1 (0.500).",)


def test_a_learner_alone_is_compared_with_nobody(trials_of):
    assert verdict(trials_of("pa", 0.9, 1)) == ("Only pa has a value for R1 (0.895).",)


def test_without_a_shared_trial_nothing_is_said(make_record):
    records = [make_record("a", seed, r1=0.5) for seed in range(5)]
    records += [make_record("b", seed, r1=0.6) for seed in range(5, 10)]
    assert verdict(records) == ("No trial is shared by all learners: nothing can be said of R1.",)


def test_without_any_value_nothing_is_said(make_record):
    records = [make_record("a", 0, train=1.0), make_record("b", 0, train=2.0)]
    assert verdict(records, TRAIN) == ("No trial has a value for R1.",)


def test_means_are_over_the_trials_that_all_have(make_record):
    """Alone, b would have the better mean: in a trial that a does not have."""
    records = [make_record("a", seed, r1=0.8) for seed in range(7)]
    records += [make_record("b", seed, r1=0.7) for seed in range(7)] + [make_record("b", 7, r1=1.0)] * 5
    assert verdict(records)[0].startswith("a is best by R1 (0.800, 7 trials)")


def test_the_cheaper_one_is_told_with_its_factor(trials_of):
    records = [*trials_of("pa", 0.9, 4.0), *trials_of("tree", 0.5, 1.0)]
    assert verdict(records, TRAIN)[1] == "By train, tree (1.04 s) is 4 times faster than pa (4.18 s)."


@pytest.mark.parametrize(
    ("direction", "of_the_best", "of_the_other", "ahead"),
    [("lower", 4.0, 1.0, "smaller"), ("higher", 1.0, 4.0, "higher")],
)
def test_a_cost_that_is_no_time_is_told_in_its_own_word(trials_of, direction, of_the_best, of_the_other, ahead):
    count = MetricSpec(name="train", compute="any:where", unit="count", direction=direction)
    records = [*trials_of("pa", 0.9, of_the_best), *trials_of("tree", 0.5, of_the_other)]
    assert f" is 4 times {ahead} than pa " in verdict(records, count)[1]


def test_of_several_that_are_best_the_one_that_costs_least_is_compared(trials_of):
    records = [*trials_of("pa", 0.9, 9.0), *trials_of("svm", 0.9, 4.0), *trials_of("tree", 0.5, 1.0)]
    told = verdict(records, TRAIN)[1]
    assert told == "By train, tree (1.04 s) is 4 times faster than svm (4.18 s, the least of these)."
    records = [*trials_of("pa", 0.9, 9.0), *trials_of("svm", 0.9, 1.0), *trials_of("tree", 0.5, 1.0)]
    assert len(verdict(records, TRAIN)) == 1  # one of the best is as cheap as any


def test_a_cost_that_no_test_supports_is_said_to_rest_on_means(trials_of):
    records = [*trials_of("pa", 0.9, 3.0, n=2), *trials_of("tree", 0.5, 1.0, n=2)]
    assert verdict(records, TRAIN)[1].endswith(", judged by means alone.")


@pytest.mark.parametrize("train", [1.0, 1.05, 0.5])
def test_a_cost_is_not_told_where_the_best_is_as_cheap_or_nearly(trials_of, train):
    records = [*trials_of("pa", 0.9, train), *trials_of("tree", 0.5, 1.0)]
    assert len(verdict(records, TRAIN)) == 1


def test_a_large_factor_is_written_out(trials_of):
    told = verdict([*trials_of("pa", 0.9, 40_000.0), *trials_of("tree", 0.5, 1.0)], TRAIN)[1]
    assert "is 40,000 times faster" in told


def test_what_failed_is_told(trials_of, make_record):
    failed = [make_record("bad", seed, status="error", message="no") for seed in range(2)]
    assert verdict([*trials_of("pa", 0.9, 1), *failed])[-1] == "bad failed in 2 of 2 trials."
    more = [make_record(label, seed, status="error") for label in ("worse", "worst") for seed in range(2)]
    told = "bad, worse and worst failed in 2 of 2 trials."
    assert verdict([*trials_of("pa", 0.9, 1), *failed, *more])[-1] == told


def test_many_names_are_cut_and_names_with_commas_are_quoted(trials_of):
    records = trials_of("pa", 0.9, 1)
    for place, label in enumerate(["ff, warm", "b", "c", "d", "e", "f"]):
        records += trials_of(label, 0.8 - place / 10, 1)
    assert verdict(records)[0].endswith('it beats "ff, warm", b, c, d and 2 others.')


@given(st.lists(st.tuples(*[st.sampled_from([0.1, 0.2, 0.3, 0.4])] * 2), min_size=6, max_size=12))
def test_who_is_said_to_be_beaten_is_told_apart_by_the_sign_test(make_record, pairs):
    records = []
    for seed, (a, b) in enumerate(pairs):
        records += [make_record("a", seed, r1=a), make_record("b", seed, r1=b)]
    (sentence,) = verdict(records)
    first, second = zip(*pairs, strict=True)
    assert ("it beats" in sentence) == (sign_test(first, second) <= 0.05)
