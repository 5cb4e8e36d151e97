"""Means, spreads and paired tests: compared with scipy and a manual example; equal learners are never separated."""

import math
import statistics

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats as scipy_stats
from scipy.stats import binomtest

from internals import (
    FEWEST_PAIRS,
    SIGNIFICANCE,
    SPREADS,
    TESTS,
    Interval,
    Summary,
    average_ranks,
    binomial_half_width,
    clearly_wins,
    corrected_t_test,
    count_wins,
    critical_difference,
    friedman,
    holm,
    judge,
    mcnemar,
    rank_values,
    sign_test,
    summarise,
    t_half_width,
)

numbers = st.floats(-1e6, 1e6)
scores = st.sampled_from([0.1, 0.2, 0.5, 0.8, 0.9])


@given(st.lists(numbers, min_size=2, max_size=20))
def test_the_summary_is_mean_and_sample_standard_deviation(values):
    summary = summarise(values)
    assert summary.mean == pytest.approx(statistics.fmean(values), rel=1e-9, abs=1e-9)
    assert summary.sd == pytest.approx(statistics.stdev(values), rel=1e-6, abs=1e-6)
    assert summary.n == len(values)


def test_one_value_has_no_spread_and_no_values_have_no_summary():
    assert (summarise([0.5]).mean, summarise([0.5]).sd, summarise([0.5]).n) == (0.5, None, 1)
    assert summarise([]) is None


# -- the sign test ---------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(scores, scores), max_size=30))
def test_the_sign_test_equals_scipys_binomial_test_without_ties(pairs):
    wins, losses = sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)
    expected = binomtest(wins, wins + losses, 0.5).pvalue if wins + losses else 1.0
    assert sign_test([a for a, _ in pairs], [b for _, b in pairs]) == pytest.approx(expected)


@given(st.lists(st.tuples(scores, scores), max_size=30))
def test_the_sign_test_is_symmetric(pairs):
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    assert sign_test(first, second) == sign_test(second, first)


def test_nine_wins_of_ten_are_significant_and_eight_are_not():
    assert sign_test([1] * 9 + [0], [0] * 9 + [1]) == pytest.approx(22 / 1024)
    assert sign_test([1] * 8 + [0, 0], [0] * 8 + [1, 1]) > SIGNIFICANCE


def test_samples_of_different_length_are_rejected():
    with pytest.raises(ValueError, match="shorter"):
        sign_test([1, 2], [1])


def test_fewer_pairs_than_the_limit_can_never_be_significant():
    fewer = FEWEST_PAIRS - 1
    assert sign_test([1] * fewer, [0] * fewer) > SIGNIFICANCE
    assert sign_test([1] * FEWEST_PAIRS, [0] * FEWEST_PAIRS) <= SIGNIFICANCE


# -- Holm ------------------------------------------------------------------------------------------------------------


def test_holm_matches_a_manual_calculation():
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


def best_by_signs(found, *, higher, test="sign"):
    verdict = judge(found, higher=higher, test=test)
    return set(verdict.best), verdict.tested


@given(samples, st.sampled_from("abcdef"), st.booleans())
def test_identical_learners_are_never_significantly_different(found, name, higher):
    assume(name in found)
    found["twin"] = dict(found[name])
    best, _ = best_by_signs(found, higher=higher)
    assert ("twin" in best) == (name in best)


@given(st.dictionaries(st.integers(0, 9), scores, min_size=1), st.integers(2, 5), st.booleans())
def test_copies_of_one_learner_are_all_best(values, copies, higher):
    found = {str(i): dict(values) for i in range(copies)}
    assert best_by_signs(found, higher=higher)[0] == set(found)


@given(st.floats(-1e9, 1e9), st.integers(1, 12), st.integers(1, 12), st.booleans())
def test_a_constant_learner_equals_itself_with_missing_trials(value, some, all_of_them, higher):
    found = {"whole": dict.fromkeys(range(all_of_them), value), "partly": dict.fromkeys(range(some), value)}
    assert best_by_signs(found, higher=higher)[0] == set(found)
    assert summarise([value] * some).mean == value


@given(samples, st.booleans())
def test_the_best_mean_is_always_among_the_best(found, higher):
    best, _ = best_by_signs(found, higher=higher)
    means = {name: statistics.mean(v.values()) for name, v in found.items()}
    top = max(means.values()) if higher else min(means.values())
    assert {name for name, mean in means.items() if mean == top} <= best


@given(samples)
def test_lower_is_better_mirrors_higher_is_better(found):
    upside_down = {name: {t: -v for t, v in values.items()} for name, values in found.items()}
    assert best_by_signs(found, higher=True) == best_by_signs(upside_down, higher=False)


def always(value, trials=10):
    return dict.fromkeys(range(trials), value)


def test_a_learner_that_loses_every_trial_is_significantly_worse():
    assert best_by_signs({"a": always(0.9), "b": always(0.8)}, higher=True) == ({"a"}, True)
    assert best_by_signs({"a": always(0.9), "b": always(0.8)}, higher=False) == ({"b"}, True)


def test_a_learner_that_wins_some_trials_is_not_significantly_worse():
    close = {t: 0.95 if t < 3 else 0.8 for t in range(10)}
    assert best_by_signs({"a": always(0.9), "b": close}, higher=True) == ({"a", "b"}, True)


def test_many_competitors_need_more_evidence():
    losing = {t: 0.95 if t < 1 else 0.8 for t in range(10)}  # 9 of 10: p = 0.021 alone
    assert best_by_signs({"a": always(0.9), "b": losing}, higher=True)[0] == {"a"}
    crowd = {"a": always(0.9)} | {f"b{i}": losing for i in range(3)}
    assert best_by_signs(crowd, higher=True)[0] == set(crowd)


def test_with_too_few_pairs_the_best_mean_is_marked_without_a_test():
    few = {"a": always(0.9, FEWEST_PAIRS - 1), "b": always(0.8, FEWEST_PAIRS - 1)}
    assert best_by_signs(few, higher=True) == ({"a"}, False)


def test_the_minimum_number_of_pairs_suffices_for_a_verdict():
    def samples(trials):
        return {"a": dict.fromkeys(range(trials), 0.9), "b": dict.fromkeys(range(trials), 0.5)}

    fewest = TESTS["sign"].fewest(1)
    assert best_by_signs(samples(fewest), higher=True) == ({"a"}, True)
    assert best_by_signs(samples(fewest - 1), higher=True) == ({"a"}, False)


def test_trials_are_paired_by_number_and_not_by_position():
    late = dict.fromkeys(range(5, 15), 0.8)  # only five trials in common
    assert best_by_signs({"a": always(0.9), "b": late}, higher=True) == ({"a"}, False)


def test_learners_without_values_are_ignored():
    assert best_by_signs({"a": always(0.9), "b": {}}, higher=True) == ({"a"}, False)
    assert best_by_signs({"a": {}}, higher=True) == (set(), False)
    assert best_by_signs({}, higher=True) == (set(), False)


@given(st.lists(scores, min_size=1, max_size=30), st.sampled_from(sorted(TESTS)), st.booleans())
def test_identical_learners_are_never_separated_by_any_test_with_any_ties(values, test, higher):
    trials = dict(enumerate(values))
    samples = {name: dict(trials) for name in "abc"}
    assert best_by_signs(samples, higher=higher, test=test)[0] == set("abc")


@given(st.lists(st.tuples(scores, scores), min_size=1, max_size=30), st.sampled_from(sorted(TESTS)), st.booleans())
def test_a_significantly_worse_learner_never_won_more_trials(pairs, test, higher):
    a, b = dict(enumerate(x for x, _ in pairs)), dict(enumerate(y for _, y in pairs))
    marked, tested = best_by_signs({"a": a, "b": b}, higher=higher, test=test)
    assert marked
    if tested and len(marked) == 1:
        best, rival = (a, b) if marked == {"a"} else (b, a)
        won, _, lost = count_wins(list(best.values()), list(rival.values()))
        assert (won > lost) if higher else (won < lost)


# -- intervals -------------------------------------------------------------------------------------------------------


@given(st.lists(st.floats(-100, 100), min_size=2, max_size=20))
def test_the_t_interval_equals_scipys(values):
    summary = summarise(values)
    assume(summary.sd > 1e-6)
    low, high = scipy_stats.t.interval(0.95, len(values) - 1, summary.mean, summary.sd / math.sqrt(len(values)))
    assert t_half_width(summary) == pytest.approx((high - low) / 2)


def test_one_value_has_no_interval():
    assert t_half_width(summarise([0.5])) is None


@pytest.mark.parametrize(
    ("error", "n", "published"),
    [(0.0636, 780, 0.0171), (0.1510, 780, 0.0251), (0.0356, 780, 0.0130), (0.1692, 780, 0.0263)],
)
def test_the_binomial_interval_equals_the_one_published_for_isolet(error, n, published):
    assert round(binomial_half_width(error, n), 4) == published


def test_the_binomial_spread_is_for_shares_on_test_rows_and_other_metrics_have_their_deviation():
    half_width = SPREADS["binomial"].half_width
    share = Summary(0.9364, 0.02, 10)
    assert half_width(share, "share", 780) == pytest.approx(0.0171, abs=1e-4)
    assert half_width(share, "seconds", 780) == 0.02
    assert half_width(share, "share", None) is None
    assert half_width(Summary(1.5, 0.02, 10), "share", 780) is None, "no share"
    assert half_width(Summary(1.0, 0.0, 10), "share", 780) == 0.0


def test_the_opposite_of_a_difference_has_the_opposite_interval():
    assert Interval(2.0, 1.0, 4.0).negated() == Interval(-2.0, -4.0, -1.0)


@pytest.mark.parametrize("test", sorted(TESTS))
def test_samples_of_different_lengths_are_never_paired(test):
    with pytest.raises(ValueError, match="argument"):
        TESTS[test].p_value([0.1, 0.2], [0.3], 0.1)


# -- the corrected t-test --------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), min_size=2, max_size=20))
def test_without_correction_the_t_test_equals_scipys_paired_test(pairs):
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    assume(statistics.stdev(a - b for a, b in pairs) > 1e-6)
    assert corrected_t_test(first, second, 0.0) == pytest.approx(scipy_stats.ttest_rel(first, second).pvalue, abs=1e-9)


@given(st.lists(st.tuples(scores, scores), min_size=2, max_size=20), st.floats(0, 1), st.floats(0, 1))
def test_a_larger_test_set_makes_the_corrected_test_more_conservative(pairs, ratio, more):
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    assert corrected_t_test(first, second, ratio) <= corrected_t_test(first, second, ratio + more) + 1e-12


def test_the_corrected_t_test_matches_a_manual_calculation():
    # Differences 0.01, 0.02, 0.03: mean 0.02, sd 0.01; t = 0.02 / (0.01 sqrt(1/3 + 1/9)) = 3, with 2 degrees.
    p = corrected_t_test([0.51, 0.62, 0.73], [0.50, 0.60, 0.70], 1 / 9)
    assert p == pytest.approx(2 * scipy_stats.t.sf(3.0, 2))


def test_equal_samples_and_constant_differences_have_p_one():
    assert corrected_t_test([0.1, 0.2], [0.1, 0.2], 0.1) == 1.0
    assert corrected_t_test([0.5, 1.5], [0.25, 1.25], 0.1) == 1.0
    assert corrected_t_test([0.91, 0.82, 0.73], [0.88, 0.79, 0.70], 0.1) == 1.0, "equal apart from rounding"
    assert corrected_t_test([0.5], [0.25], 0.1) == 1.0


# -- nine wins in ten ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wins", "ties", "losses", "clear"),
    [(9, 0, 1, True), (9, 1, 0, True), (8, 2, 0, False), (9, 0, 0, False), (18, 0, 2, True), (17, 1, 2, False)],
)
def test_nine_wins_in_ten_are_a_clear_win_and_ties_are_none(wins, ties, losses, clear):
    first = [1.0] * (wins + ties) + [0.0] * losses
    second = [0.0] * wins + [1.0] * (ties + losses)
    assert clearly_wins(first, second) is clear


@given(st.lists(st.tuples(scores, scores), max_size=30))
def test_wins_ties_and_losses_add_up_and_reverse(pairs):
    first, second = [a for a, _ in pairs], [b for _, b in pairs]
    won, tied, lost = count_wins(first, second)
    assert won + tied + lost == len(pairs)
    assert count_wins(second, first) == (lost, tied, won)


# -- McNemar ---------------------------------------------------------------------------------------------------------


@given(st.lists(st.tuples(st.booleans(), st.booleans()), max_size=60))
def test_mcnemar_is_the_binomial_test_of_disagreeing_rows(pairs):
    only_first, only_second = sum(a and not b for a, b in pairs), sum(b and not a for a, b in pairs)
    n = only_first + only_second
    expected = binomtest(only_first, n, 0.5).pvalue if n else 1.0
    assert mcnemar([a for a, _ in pairs], [b for _, b in pairs]) == pytest.approx(expected)


def test_mcnemar_on_a_large_test_set_equals_scipys():
    first, second = [True] * 1300 + [False] * 1200, [False] * 1300 + [True] * 1200
    assert mcnemar(first, second) == pytest.approx(binomtest(1300, 2500, 0.5).pvalue)


# -- over datasets --------------------------------------------------------------------------------------------------

tables = st.integers(3, 6).flatmap(
    lambda k: st.lists(st.lists(scores, min_size=k, max_size=k), min_size=3, max_size=10)
)


@given(tables)
def test_friedmans_test_equals_scipys(table):
    ranks = [rank_values(row, higher=True) for row in table]
    assume(any(len(set(row)) > 1 for row in table))
    expected = scipy_stats.friedmanchisquare(*zip(*table, strict=True))
    statistic, p = friedman(ranks)
    assert statistic == pytest.approx(expected.statistic)
    assert p == pytest.approx(expected.pvalue)


@given(st.lists(scores, min_size=1, max_size=8))
def test_ranks_equal_scipys_with_shared_ties(values):
    assert rank_values(values, higher=False) == list(scipy_stats.rankdata(values))
    assert rank_values(values, higher=True) == list(scipy_stats.rankdata([-v for v in values]))


def test_the_critical_difference_equals_the_published_one():
    # Demsar (2006): four classifiers on fourteen datasets, and his table of q at 5%.
    assert round(critical_difference(4, 14), 2) == 1.25
    q = {k: critical_difference(k, 1) / math.sqrt(k * (k + 1) / 6) for k in (2, 3, 4, 5, 10)}
    published = {2: 1.960, 3: 2.343, 4: 2.569, 5: 2.728, 10: 3.164}
    assert q == pytest.approx(published, abs=1e-3)


def test_groups_are_the_longest_runs_within_the_critical_difference():
    datasets = [f"d{i}" for i in range(30)]
    values = {name: dict.fromkeys(datasets, level) for name, level in zip("abcd", (4, 3, 2, 1), strict=True)}
    found = average_ranks(values, higher=True)
    assert found.ranks == {"a": 1.0, "b": 2.0, "c": 3.0, "d": 4.0}
    assert found.difference == pytest.approx(0.856, abs=1e-3)
    assert found.groups == ()
    few = average_ranks({name: {d: by[d] for d in datasets[:10]} for name, by in values.items()}, higher=False)
    assert few.groups == (("d", "c"), ("c", "b"), ("b", "a"))
    assert few.p_value < SIGNIFICANCE


@given(st.integers(2, 5), st.integers(2, 8), st.booleans())
def test_equal_learners_share_a_rank_and_a_group(k, n, higher):
    values = {f"l{i}": {f"d{j}": 0.5 for j in range(n)} for i in range(k)}
    found = average_ranks(values, higher=higher)
    assert set(found.ranks.values()) == {(k + 1) / 2}
    assert found.p_value == 1.0
    assert found.groups == (tuple(values),)


def test_datasets_of_one_family_have_one_vote():
    values = {"a": {"x1": 1.0, "x2": 1.0, "x3": 0.0, "y": 0.0}, "b": {"x1": 0.0, "x2": 0.0, "x3": 1.0, "y": 1.0}}
    families = {"x1": "x", "x2": "x", "x3": "x"}
    found = average_ranks(values, higher=True, families=families)
    assert found.n_datasets == 2
    assert found.ranks == {"a": 1.5, "b": 1.5}  # a wins the family of x, b wins y
    assert average_ranks(values, higher=True).n_datasets == 4
    with pytest.raises(ValueError, match="2 learners on 1 common dataset"):
        average_ranks(values, higher=True, families=dict.fromkeys(("x1", "x2", "x3", "y"), "x"))


def test_only_common_datasets_are_ranked_and_two_are_needed():
    values = {"a": {"x": 1.0, "y": 2.0, "z": 3.0}, "b": {"x": 0.0, "y": 0.0}}
    assert average_ranks(values, higher=True).n_datasets == 2
    with pytest.raises(ValueError, match="2 learners on 1 common dataset"):
        average_ranks({"a": {"x": 1.0}, "b": {"x": 0.0}}, higher=True)


@pytest.mark.parametrize("competitors", [1, 2, 3, 5, 9])
def test_the_minimum_number_of_pairs_is_the_smallest_that_allows_significance(competitors):
    fewest = TESTS["sign"].fewest(competitors)

    def is_significant(pairs):
        p_values = [TESTS["sign"].p_value([1.0] * pairs, [0.0] * pairs, 0.1)] * competitors
        return min(holm(p_values)) <= SIGNIFICANCE

    assert is_significant(fewest)
    assert not is_significant(fewest - 1)


# -- verdicts --------------------------------------------------------------------------------------------------------


def test_holm_covers_all_pairs_by_default_and_only_the_best_for_the_sign_test():
    found = {name: {t: level + 0.01 * ((t * step) % 5) for t in range(10)} for name, level, step in LEVELS}
    assert set(judge(found, higher=True).p_values) == {("a", "b"), ("a", "c"), ("b", "c")}
    assert set(judge(found, higher=True, test="sign").p_values) == {("a", "b"), ("a", "c")}


LEVELS = [("a", 0.9, 1), ("b", 0.7, 2), ("c", 0.5, 3)]


def test_a_clear_winner_beats_the_others():
    found = {name: {t: level + 0.01 * ((t * step) % 5) for t in range(10)} for name, level, step in LEVELS}
    assert judge(found, higher=True).wins == {("a", "b"), ("a", "c"), ("b", "c")}
    assert judge(found, higher=False).wins == {("c", "b"), ("c", "a"), ("b", "a")}


def test_constant_differences_have_no_verdict():
    verdict = judge({"a": always(0.9), "b": always(0.8)}, higher=True)
    assert not verdict.tested
    assert verdict.constant == (("a", "b"),)
    assert verdict.leaders == ("a",)


def test_two_trials_are_too_few_for_the_default():
    verdict = judge({"a": {0: 0.9, 1: 0.8}, "b": {0: 0.1, 1: 0.2}}, higher=True)
    assert (verdict.tested, verdict.needed) == (False, 3)
