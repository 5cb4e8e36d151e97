"""Statistics compared with statsmodels and scikit-posthocs, which are used in these tests only."""

from itertools import combinations

import numpy as np
import pandas as pd
import pytest
import scikit_posthocs
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from statsmodels.stats import contingency_tables, descriptivestats
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.power import TTestPower
from statsmodels.stats.proportion import proportion_confint
from statsmodels.stats.weightstats import DescrStatsW

from internals import (
    SIGNIFICANCE,
    average_ranks,
    binomial_half_width,
    corrected_t_test,
    critical_difference,
    detectable_difference,
    detectable_share,
    expected_detectable_difference,
    holm,
    mcnemar,
    mean_difference,
    share_difference,
    sign_test,
    summarise,
    t_half_width,
)

shares = st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.7, 0.9, 1.0])
samples = st.lists(st.floats(-100, 100), min_size=3, max_size=20)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20))
def test_holm_equals_statsmodels(p_values):
    assert holm(p_values) == pytest.approx(multipletests(p_values, method="holm")[1].tolist())


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=200))
def test_mcnemar_equals_the_exact_test_of_statsmodels(rows):
    table = np.zeros((2, 2), dtype=int)
    for first, second in rows:
        table[int(first), int(second)] += 1
    assume(table[0, 1] + table[1, 0])
    expected = contingency_tables.mcnemar(table, exact=True).pvalue
    assert mcnemar([first for first, _ in rows], [second for _, second in rows]) == pytest.approx(expected)


@given(st.lists(st.tuples(shares, shares), min_size=1, max_size=40))
def test_the_sign_test_equals_statsmodels(pairs):
    first, second = np.array(pairs).T
    assume((first != second).any())
    expected = descriptivestats.sign_test(first - second)[1]
    assert sign_test(first.tolist(), second.tolist()) == pytest.approx(expected)


@given(samples)
def test_without_correction_the_t_test_equals_statsmodels(differences):
    assume(np.std(differences) > 1e-3)
    expected = DescrStatsW(differences).ttest_mean(0)[1]
    assert corrected_t_test(differences, [0.0] * len(differences), 0) == pytest.approx(expected, abs=1e-12)


@given(samples)
def test_the_t_interval_equals_statsmodels(values):
    assume(np.std(values) > 1e-3)
    low, high = DescrStatsW(values).tconfint_mean(SIGNIFICANCE)
    assert t_half_width(summarise(values)) == pytest.approx((high - low) / 2)


@given(samples)
def test_without_correction_the_interval_of_a_difference_equals_statsmodels(differences):
    assume(np.std(differences) > 1e-3)
    found = mean_difference(differences, [0.0] * len(differences), 0)
    assert (found.low, found.high) == pytest.approx(DescrStatsW(differences).tconfint_mean(SIGNIFICANCE))


@given(samples, st.floats(0.05, 1))
def test_a_difference_is_significant_where_its_interval_excludes_zero(differences, ratio):
    assume(np.std(differences) > 1e-3)
    zeros = [0.0] * len(differences)
    found, p = mean_difference(differences, zeros, ratio), corrected_t_test(differences, zeros, ratio)
    assume(abs(p - SIGNIFICANCE) > 1e-6)
    assert (p < SIGNIFICANCE) == (found.low > 0 or found.high < 0)


@given(st.integers(4, 30), st.floats(0.01, 2), st.integers(1, 10))
def test_the_detectable_difference_has_the_power_that_statsmodels_computes(trials, sd, pairs):
    values = [sd * (-1) ** trial for trial in range(trials)]
    found = detectable_difference(values, [0.0] * trials, 0.0, pairs)
    effect = found / np.std(values, ddof=1)
    # One side at half the level: the other tail has no weight here, and statsmodels returns nan for it at times.
    expected = TTestPower().power(effect, nobs=trials, alpha=SIGNIFICANCE / pairs / 2, alternative="larger")
    assert expected == pytest.approx(0.8, abs=1e-4)


@pytest.mark.parametrize(("disagree", "n"), [(0.1, 500), (0.2, 1000), (0.4, 5000)])
def test_mcnemars_detectable_difference_is_found_in_four_of_five_simulated_test_sets(disagree, n):
    generator = np.random.default_rng(0)
    lead = expected_detectable_difference(9 * n, n, 1, disagreement=disagree, fixed=True)
    rows = generator.choice([1, -1, 0], p=[(disagree + lead) / 2, (disagree - lead) / 2, 1 - disagree], size=(300, n))
    found = [mcnemar(row > 0, row < 0) <= SIGNIFICANCE for row in rows]
    assert np.mean(found) == pytest.approx(0.8, abs=0.1)


def test_the_detectable_share_follows_from_the_rows_on_which_two_learners_disagree():
    first, second = [1.0] * 100 + [0.0] * 900, [0.0] * 100 + [1.0] * 100 + [0.0] * 800
    assert detectable_share(first, second) == expected_detectable_difference(9, 1000, 1, disagreement=0.2, fixed=True)
    assert detectable_share(first, first) is None


def test_more_trials_and_more_test_rows_detect_smaller_differences():
    few, more = (expected_detectable_difference(9000, 1000, trials, 3) for trials in (7, 10))
    assert 0.02 < more < few < 0.04
    assert expected_detectable_difference(8000, 2000, 10, 3) < more
    assert expected_detectable_difference(9000, 1000, 10, 3, folds=True) < more, "no test row is used twice"
    assert expected_detectable_difference(9000, 1000, 2) is None


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=200))
def test_the_interval_of_two_shares_contains_their_difference_and_reverses(rows):
    first, second = [first for first, _ in rows], [second for _, second in rows]
    found, back = share_difference(first, second), share_difference(second, first)
    assert found.estimate == pytest.approx(np.mean(first) - np.mean(second))
    assert found.low <= found.high
    assert (back.low, back.high) == pytest.approx((-found.high, -found.low))


@given(st.integers(10, 90), st.integers(1, 100))
def test_the_binomial_interval_equals_statsmodels(percent, hundreds):
    low, high = proportion_confint(percent * hundreds, 100 * hundreds, SIGNIFICANCE, method="normal")
    assert binomial_half_width(percent / 100, 100 * hundreds) == pytest.approx((high - low) / 2, rel=1e-4)


@st.composite
def tables(draw):
    """Draw values of each learner (columns) on each dataset (rows), with ties."""
    n_learners, n_datasets = draw(st.integers(3, 6)), draw(st.integers(4, 20))
    row = st.lists(st.integers(0, 20), min_size=n_learners, max_size=n_learners)
    return pd.DataFrame(draw(st.lists(row, min_size=n_datasets, max_size=n_datasets)))


def by_learner(table):
    return {str(name): {str(i): float(value) for i, value in column.items()} for name, column in table.items()}


@given(tables(), st.booleans())
def test_average_ranks_equal_pandas(table, higher):
    expected = table.rank(axis=1, ascending=not higher).mean()
    found = average_ranks(by_learner(table), higher=higher).ranks
    assert found == pytest.approx({str(name): rank for name, rank in expected.items()})


@settings(max_examples=30)
@given(tables())
def test_pairs_beyond_the_critical_difference_are_those_separated_by_nemenyi(table):
    p_values = scikit_posthocs.posthoc_nemenyi_friedman(table.to_numpy())
    ranks = average_ranks(by_learner(table), higher=True).ranks
    difference = critical_difference(table.shape[1], table.shape[0])
    for first, second in combinations(range(table.shape[1]), 2):
        apart = abs(ranks[str(first)] - ranks[str(second)])
        if abs(apart - difference) > 1e-3:  # at the threshold two libraries may round differently
            assert (apart > difference) == (p_values.iloc[first, second] < SIGNIFICANCE)
