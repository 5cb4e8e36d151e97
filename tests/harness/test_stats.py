"""Means, spreads and paired tests: against scipy, a hand example, and the promise never to tell equals apart."""

import statistics

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.stats import binomtest

from harness.stats import FEWEST_PAIRS, SIGNIFICANCE, holm, indistinguishable_from_best, sign_test, summarise

numbers = st.floats(-1e6, 1e6)
scores = st.sampled_from([0.1, 0.2, 0.5, 0.8, 0.9])


@given(st.lists(numbers, min_size=2, max_size=20))
def test_the_summary_is_mean_and_sample_standard_deviation(values):
    summary = summarise(values)
    assert summary.mean == pytest.approx(statistics.fmean(values), rel=1e-9, abs=1e-9)
    assert summary.sd == pytest.approx(statistics.stdev(values), rel=1e-6, abs=1e-6)
    assert summary.n == len(values)


def test_one_value_has_no_spread_and_none_has_no_summary():
    assert (summarise([0.5]).mean, summarise([0.5]).sd, summarise([0.5]).n) == (0.5, None, 1)
    assert summarise([]) is None


# -- the sign test ---------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(scores, scores), max_size=30))
def test_the_sign_test_is_scipys_binomial_test_without_the_ties(pairs):
    wins, losses = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
    expected = binomtest(wins, wins + losses, 0.5).pvalue if wins + losses else 1.0
    assert sign_test([a for a, _ in pairs], [b for _, b in pairs]) == pytest.approx(expected)


@given(st.lists(st.tuples(scores, scores), max_size=30))
def test_the_sign_test_does_not_care_who_comes_first(pairs):
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    assert sign_test(first, second) == sign_test(second, first)


def test_nine_wins_of_ten_are_significant_and_eight_are_not():
    assert sign_test([1] * 9 + [0], [0] * 9 + [1]) == pytest.approx(22 / 1024)
    assert sign_test([1] * 8 + [0, 0], [0] * 8 + [1, 1]) > SIGNIFICANCE


def test_samples_of_different_length_are_refused():
    with pytest.raises(ValueError, match="shorter"):
        sign_test([1, 2], [1])


def test_fewer_pairs_than_the_limit_can_never_be_significant():
    fewer = FEWEST_PAIRS - 1
    assert sign_test([1] * fewer, [0] * fewer) > SIGNIFICANCE
    assert sign_test([1] * FEWEST_PAIRS, [0] * FEWEST_PAIRS) <= SIGNIFICANCE


# -- Holm ------------------------------------------------------------------------------------------------------------


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]) == pytest.approx([1.0, 1.0])
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holm_never_lowers_a_value_keeps_their_order_and_stays_within_bonferroni(p_values):
    corrected = holm(p_values)
    assert all(p <= c <= 1 for p, c in zip(p_values, corrected, strict=True))
    assert min(corrected) <= len(p_values) * min(p_values)
    in_order = [c for _, c in sorted(zip(p_values, corrected, strict=True))]
    assert in_order == sorted(in_order)


# -- who is best -----------------------------------------------------------------------------------------------------

samples = st.dictionaries(
    st.sampled_from("abcdef"), st.lists(scores, min_size=8, max_size=8).map(lambda v: dict(enumerate(v))), min_size=1
)


@given(samples, st.sampled_from("abcdef"), st.booleans())
def test_identical_learners_are_never_called_different(found, name, higher):
    assume(name in found)
    found["twin"] = dict(found[name])
    best, _ = indistinguishable_from_best(found, higher=higher)
    assert ("twin" in best) == (name in best)


@given(st.dictionaries(st.integers(0, 9), scores, min_size=1), st.integers(2, 5), st.booleans())
def test_copies_of_one_learner_are_all_best(values, copies, higher):
    found = {str(i): dict(values) for i in range(copies)}
    assert indistinguishable_from_best(found, higher=higher) == (set(found), True)


@given(st.floats(-1e9, 1e9), st.integers(1, 12), st.integers(1, 12), st.booleans())
def test_a_constant_learner_equals_itself_with_some_trials_missing(value, some, all_of_them, higher):
    found = {"whole": dict.fromkeys(range(all_of_them), value), "partly": dict.fromkeys(range(some), value)}
    assert indistinguishable_from_best(found, higher=higher)[0] == set(found)
    assert summarise([value] * some).mean == value


@given(samples, st.booleans())
def test_the_best_mean_is_always_among_the_best(found, higher):
    best, _ = indistinguishable_from_best(found, higher=higher)
    means = {name: statistics.mean(v.values()) for name, v in found.items()}
    top = max(means.values()) if higher else min(means.values())
    assert {name for name, mean in means.items() if mean == top} <= best


@given(samples)
def test_lower_is_better_is_higher_is_better_upside_down(found):
    upside_down = {name: {t: -v for t, v in values.items()} for name, values in found.items()}
    assert indistinguishable_from_best(found, higher=True) == indistinguishable_from_best(upside_down, higher=False)


def always(value, trials=10):
    return dict.fromkeys(range(trials), value)


def test_a_learner_that_loses_every_trial_is_told_apart():
    assert indistinguishable_from_best({"a": always(0.9), "b": always(0.8)}, higher=True) == ({"a"}, True)
    assert indistinguishable_from_best({"a": always(0.9), "b": always(0.8)}, higher=False) == ({"b"}, True)


def test_a_learner_that_wins_some_trials_is_not_told_apart():
    close = {t: 0.95 if t < 3 else 0.8 for t in range(10)}
    assert indistinguishable_from_best({"a": always(0.9), "b": close}, higher=True) == ({"a", "b"}, True)


def test_many_rivals_ask_for_more_evidence():
    losing = {t: 0.95 if t < 1 else 0.8 for t in range(10)}  # 9 of 10: p = 0.021 alone
    assert indistinguishable_from_best({"a": always(0.9), "b": losing}, higher=True)[0] == {"a"}
    crowd = {"a": always(0.9)} | {f"b{i}": losing for i in range(3)}
    assert indistinguishable_from_best(crowd, higher=True)[0] == set(crowd)


def test_with_too_few_pairs_only_the_best_mean_is_best_and_no_test_is_claimed():
    few = {"a": always(0.9, FEWEST_PAIRS - 1), "b": always(0.8, FEWEST_PAIRS - 1)}
    assert indistinguishable_from_best(few, higher=True) == ({"a"}, False)


def test_trials_are_paired_by_number_and_not_by_place():
    late = dict.fromkeys(range(5, 15), 0.8)  # only five trials in common
    assert indistinguishable_from_best({"a": always(0.9), "b": late}, higher=True) == ({"a"}, False)


def test_learners_without_values_take_no_part():
    assert indistinguishable_from_best({"a": always(0.9), "b": {}}, higher=True) == ({"a"}, True)
    assert indistinguishable_from_best({"a": {}}, higher=True) == (set(), False)
    assert indistinguishable_from_best({}, higher=True) == (set(), False)
