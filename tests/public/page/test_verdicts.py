"""Verdicts state what the statistics support: the best learner is tested against every competitor."""

from hypothesis import given
from hypothesis import strategies as st

from internals import describe_verdict, group_records, sign_test
from small_tables import R1


def verdict(records, **options):
    return describe_verdict(group_records(records), R1, **{"test": "sign", **options})


def test_the_best_beats_learners_that_lose_every_trial(snapshot, trials_of):
    records = [*trials_of("ooz", 0.7, 1), *trials_of("pa", 0.9, 1), *trials_of("ff", 0.8, 1)]
    snapshot("page", verdict(records))


def test_a_learner_that_wins_some_trials_is_not_significantly_worse(snapshot, trials_of, make_record):
    level = [make_record("svm", seed, r1=0.8 + 0.1 * (seed % 2)) for seed in range(10)]
    records = [*trials_of("pa", 0.9, 1), *level, *trials_of("ooz", 0.5, 1)]
    snapshot("page", verdict(records))


def test_without_a_significant_difference_no_learner_is_called_worse(snapshot, make_record):
    records = [make_record("a", seed, r1=0.5 + 0.1 * (seed % 3)) for seed in range(10)]
    records += [make_record("b", seed, r1=0.5 + 0.1 * ((seed + 1) % 3)) for seed in range(10)]
    (sentence,) = verdict(records)
    assert "beats" not in sentence
    snapshot("page", sentence)


def test_too_few_trials_are_not_tested(snapshot, trials_of):
    records = [*trials_of("pa", 0.9, 1, n=3), *trials_of("ooz", 0.5, 1, n=3)]
    snapshot("page", verdict(records))


def test_one_trial_is_singular(snapshot, trials_of):
    records = [*trials_of("pa", 0.9, 1, n=1), *trials_of("ooz", 0.5, 1, n=1)]
    snapshot("page", verdict(records)[0])


def test_equal_learners_are_called_equal(snapshot, make_record):
    records = [make_record(label, seed, r1=0.5) for label in "ab" for seed in range(3)]
    snapshot("page", verdict(records))


def test_a_single_learner_is_not_compared(snapshot, trials_of):
    snapshot("page", verdict(trials_of("pa", 0.9, 1)))


def test_without_a_shared_trial_there_is_no_verdict(snapshot, make_record):
    records = [make_record("a", seed, r1=0.5) for seed in range(5)]
    records += [make_record("b", seed, r1=0.6) for seed in range(5, 10)]
    snapshot("page", verdict(records))


def test_without_any_value_there_is_no_verdict(snapshot, make_record):
    records = [make_record("a", 0, train=1.0), make_record("b", 0, train=2.0)]
    snapshot("page", verdict(records))


def test_means_use_the_trials_that_all_learners_have(make_record):
    """b would have the better mean with its extra trial."""
    records = [make_record("a", seed, r1=0.8) for seed in range(7)]
    records += [make_record("b", seed, r1=0.7) for seed in range(7)] + [make_record("b", 7, r1=1.0)] * 5
    assert verdict(records)[0].startswith("a is best by R1 (0.800, 7 trials)")


def test_failures_are_stated(snapshot, trials_of, make_record):
    failed = [make_record("bad", seed, status="error", message="no") for seed in range(2)]
    snapshot("page", verdict([*trials_of("pa", 0.9, 1), *failed])[-1])
    more = [make_record(label, seed, status="error") for label in ("worse", "worst") for seed in range(2)]
    expected = "bad, worse and worst failed in 2 of 2 trials."
    assert verdict([*trials_of("pa", 0.9, 1), *failed, *more])[-1] == expected


def test_long_lists_of_names_are_cut_and_names_with_commas_are_quoted(trials_of):
    records = trials_of("pa", 0.9, 1)
    for place, label in enumerate(["ff, warm", "b", "c", "d", "e", "f"]):
        records += trials_of(label, 0.8 - place / 10, 1)
    assert verdict(records)[0].endswith('it beats "ff, warm", b, c, d and 2 others.')


def test_a_lead_has_its_interval_in_points(make_record):
    records = [make_record("a", seed, r1=0.9 + 0.01 * (seed % 3)) for seed in range(10)]
    records += [make_record("b", seed, r1=0.8 + 0.01 * (seed % 2)) for seed in range(10)]
    (sentence,) = verdict(records, test="auto")
    assert sentence == "a is best by R1 (0.909, 10 trials): it beats b (+10.4 [+9.2, +11.6] points)."


def test_on_a_fixed_split_without_ranks_there_is_no_verdict(make_record):
    records = [make_record("a", seed, r1=0.9 + 0.01 * (seed % 3), split="given") for seed in range(10)]
    records += [make_record("b", seed, r1=0.8 + 0.01 * (seed % 2), split="given") for seed in range(10)]
    (sentence,) = verdict(records, test="auto")
    assert "beats" not in sentence
    assert "no verdict" in sentence


@given(st.lists(st.tuples(*[st.sampled_from([0.1, 0.2, 0.3, 0.4])] * 2), min_size=6, max_size=12))
def test_a_learner_called_worse_is_separated_by_the_sign_test(make_record, pairs):
    records = []
    for seed, (a, b) in enumerate(pairs):
        records += [make_record("a", seed, r1=a), make_record("b", seed, r1=b)]
    (sentence,) = verdict(records)
    first, second = zip(*pairs, strict=True)
    assert ("it beats" in sentence) == (sign_test(first, second) <= 0.05)
