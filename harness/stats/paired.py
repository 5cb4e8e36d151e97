"""Summaries, confidence intervals and paired tests of learners; `judge` decides which learners differ.

Every test compares two learners on the same trials, or on the same test rows. Equal samples never differ: all tests
return p = 1 for them. See docs/explanation/statistics.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

CONFIDENCE = 0.95
SIGNIFICANCE = 0.05
AUTO = "auto"
"""The default of `--test`: `ttest` for resampled splits, `mcnemar` for a fixed test set."""
FEWEST_PAIRS = 6
"""With fewer pairs, an exact two-sided sign test cannot reach 0.05 for any values."""
FEWEST_DIFFERENCES = 3
"""With fewer differences, the standard deviation is too uncertain for a t-test."""
WINS_NEEDED, WINS_OF = 9, 10
"""The rule of the KDD 2008 paper: at least nine wins in ten trials."""
OVERLAP_MARGIN = 1.3
"""Factor of the ratio of test to training rows if the test sets of different trials overlap.

Nadeau and Bengio's ratio covers rows that two trials both test on. Learners that depend on few training rows, such as
1-NN, also correlate where one trial tests on rows that the other trains on: the ratio that fits 1-NN is 1.4 to 1.8
times as large. results/benchmarks/verdicts has the error rates with this factor.
"""
MAX_EXACT_TOSSES = 1000
"""Up to this number of tosses, binomial probabilities are summed as integers."""
ROUNDING = 1e-9
"""Differences that vary by less than this share of the values vary by rounding only."""

TrialValues = Mapping[int, float]
"""A learner's value in each trial by seed, or in each test row by its number."""
PairedValues = tuple[Sequence[float], Sequence[float]]
"""Two samples of equal length; values at the same position belong to the same trial or test row."""
Pair = tuple[str, str]
"""Two learners by name; the first has the better mean."""


# -- summaries and intervals -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Summary:
    """Mean and sample standard deviation of n values; sd is None for one value."""

    mean: float
    sd: float | None
    n: int


@dataclass(frozen=True)
class Interval:
    """An estimate with its 95% confidence interval."""

    estimate: float
    low: float
    high: float

    def negated(self) -> Interval:
        """Return the interval of the opposite difference."""
        return Interval(-self.estimate, -self.high, -self.low)


def summarise(values: Sequence[float]) -> Summary | None:
    """Return mean, sample standard deviation and number of some values, or None if there are none.

    Parameters
    ----------
    values : sequence of float
        Such as a metric in each trial of a learner.

    Examples
    --------
    >>> summarise([1.0, 2.0, 3.0])
    Summary(mean=2.0, sd=1.0, n=3)
    """
    n = len(values)
    if n == 0:
        return None
    mean = mean_of(values)
    if n == 1:
        return Summary(mean, None, 1)
    squares = math.fsum((value - mean) ** 2 for value in values)
    return Summary(mean, math.sqrt(squares / (n - 1)), n)


def mean_of(values: Collection[float]) -> float:
    """Return the mean, corrected for rounding.

    The mean of equal values is exactly that value; otherwise learners with equal results might not tie.

    Parameters
    ----------
    values : collection of float
        At least one number.
    """
    rough = math.fsum(values) / len(values)
    return rough + math.fsum(value - rough for value in values) / len(values)


def t_half_width(summary: Summary) -> float | None:
    """Return half the width of Student's 95% interval of the mean; None for one value.

    Parameters
    ----------
    summary : Summary
        Mean, standard deviation and number of values.
    """
    if summary.sd is None:
        return None
    return _t_quantile(summary.n - 1, (1 + CONFIDENCE) / 2) * summary.sd / math.sqrt(summary.n)


def binomial_half_width(share: float, n: int) -> float:
    """Return half the width of the papers' 95% interval of a share of n test rows: 1.96 sqrt(e (1 - e) / n).

    Parameters
    ----------
    share : float
        The observed share, from 0 to 1.
    n : int
        Number of test rows.
    """
    return 1.96 * math.sqrt(share * (1 - share) / n)


def mean_difference(first: Sequence[float], second: Sequence[float], ratio: float) -> Interval | None:
    """Return the mean difference with the interval that belongs to the corrected resampled t-test.

    Parameters
    ----------
    first, second : sequence of float
        The values of two learners in the same trials.
    ratio : float
        See `correction_ratio`.

    Returns
    -------
    Interval or None
        None for fewer than `FEWEST_DIFFERENCES` trials, and if the difference is the same in every trial.
    """
    summary = summarise([a - b for a, b in zip(first, second, strict=True)])
    if summary is None or summary.sd is None or summary.n < FEWEST_DIFFERENCES or is_constant(first, second):
        return None
    width = _t_quantile(summary.n - 1, (1 + CONFIDENCE) / 2) * summary.sd * math.sqrt(1 / summary.n + ratio)
    return Interval(summary.mean, summary.mean - width, summary.mean + width)


def share_difference(first: Sequence[float], second: Sequence[float]) -> Interval | None:
    """Return the difference of two shares of the same test rows, with the interval of Bonett and Price (2012).

    Parameters
    ----------
    first, second : sequence of float
        Hit (1) or miss (0) of two learners on each test row.

    Returns
    -------
    Interval or None
        None without test rows. The estimate is the plain difference; the bounds are those of an estimate that is
        shrunk towards 0, which keeps their coverage with few disagreements.
    """
    n = len(first)
    if n == 0:
        return None
    only_first, _, only_second = count_wins(first, second)
    up, down = (only_first + 1) / (n + 2), (only_second + 1) / (n + 2)
    width = 1.959964 * math.sqrt((up + down - (up - down) ** 2) / (n + 2))
    return Interval((only_first - only_second) / n, up - down - width, up - down + width)


def _t_quantile(degrees: int, share: float) -> float:
    from scipy.special import stdtrit  # noqa: PLC0415 (importing scipy is slow, and few tables need it)

    return float(stdtrit(degrees, share))


# -- tests of two learners -------------------------------------------------------------------------------------------


def pair_trials(first: TrialValues, second: TrialValues, *, higher: bool) -> PairedValues:
    """Return the values of two learners in the trials that both have.

    Values are negated if lower is better: in the result, the larger value always wins.

    Parameters
    ----------
    first, second : TrialValues
        Values of two learners by trial; trials that only one of them has are left out.
    higher : bool
        Whether larger values are better.

    Examples
    --------
    >>> pair_trials({1: 0.5, 2: 0.75}, {2: 0.25, 3: 1.0}, higher=True)
    ([0.75], [0.25])
    """
    sign = 1 if higher else -1
    shared = sorted(first.keys() & second.keys())
    return [sign * first[trial] for trial in shared], [sign * second[trial] for trial in shared]


def count_wins(first: Sequence[float], second: Sequence[float]) -> tuple[int, int, int]:
    """Return the numbers of pairs that the first wins, that tie, and that the second wins; larger values win.

    Parameters
    ----------
    first, second : sequence of float
        The values of two learners in the same trials.

    Examples
    --------
    >>> count_wins([3, 2, 1, 0], [1, 2, 3, 4])
    (1, 1, 2)
    """
    wins = ties = losses = 0
    for a, b in zip(first, second, strict=True):
        if a > b:
            wins += 1
        elif a < b:
            losses += 1
        else:
            ties += 1
    return wins, ties, losses


def correction_ratio(n_train: int, n_test: int, *, folds: bool = False) -> float:
    """Return the ratio by which the corrected resampled t-test enlarges 1/n.

    Parameters
    ----------
    n_train, n_test : int
        Number of training and of test rows of a trial.
    folds : bool, default=False
        Whether the test sets of different trials are disjoint, as those of folds.

    Examples
    --------
    >>> round(correction_ratio(800, 200), 3)
    0.325
    >>> correction_ratio(800, 200, folds=True)
    0.25
    """
    return n_test / n_train if folds else OVERLAP_MARGIN * n_test / n_train


USUAL_RATIO = correction_ratio(8, 2)
"""The ratio of a 20% holdout, used where records do not give the numbers of rows."""


def is_constant(first: Sequence[float], second: Sequence[float]) -> bool:
    """Return whether all differences are the same, apart from rounding.

    Parameters
    ----------
    first, second : sequence of float
        The values of two learners in the same trials.

    Returns
    -------
    bool
        True without any values. Differences that vary by less than `ROUNDING` of the largest value count as equal.
    """
    differences = [a - b for a, b in zip(first, second, strict=True)]
    largest = max(map(abs, [*first, *second]), default=0.0)
    return not differences or max(differences) - min(differences) <= ROUNDING * largest


def corrected_t_test(first: Sequence[float], second: Sequence[float], ratio: float) -> float:
    """Return the two-sided p-value of the corrected resampled t-test (Nadeau and Bengio 2003).

    Training sets of different trials overlap, so the plain variance of the mean is too small. The correction replaces
    1/n by 1/n + ratio.

    Parameters
    ----------
    first, second : sequence of float
        The values of two learners in the same trials.
    ratio : float
        See `correction_ratio`.

    Returns
    -------
    float
        1 where the differences do not vary: without a variance there is no evidence.
    """
    summary = summarise([a - b for a, b in zip(first, second, strict=True)])
    if summary is None or summary.sd is None or summary.mean == 0 or is_constant(first, second):
        return 1.0
    from scipy.special import stdtr  # noqa: PLC0415 (importing scipy is slow, and few tables need it)

    t = summary.mean / (summary.sd * math.sqrt(1 / summary.n + ratio))
    return min(1.0, 2 * float(stdtr(summary.n - 1, -abs(t))))


def sign_test(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the exact two-sided p-value of the paired sign test; ties are dropped.

    Parameters
    ----------
    first, second : sequence of float
        The values of two learners in the same trials; larger values win.

    Examples
    --------
    >>> sign_test([1, 1, 1, 1, 1, 1], [0, 0, 0, 0, 0, 0])
    0.03125
    """
    wins, _, losses = count_wins(first, second)
    return _binomial_p(wins, losses)


def mcnemar(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the exact two-sided p-value of McNemar's test.

    Parameters
    ----------
    first, second : sequence of float
        Hit (1) or miss (0) of two learners on each test row. Rows on which both agree have no influence.
    """
    only_first, _, only_second = count_wins(first, second)
    return _binomial_p(only_first, only_second)


def clearly_wins(first: Sequence[float], second: Sequence[float]) -> bool:
    """Return whether the first wins at least nine in ten trials, of ten or more; a tie is not a win.

    Parameters
    ----------
    first, second : sequence of float
        The values of two learners in the same trials; larger values win.
    """
    wins, _, _ = count_wins(first, second)
    return len(first) >= WINS_OF and wins * WINS_OF >= WINS_NEEDED * len(first)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p-values, in the same order, with Holm's step-down correction for multiple tests.

    Parameters
    ----------
    p_values : sequence of float
        Uncorrected p-values of tests that are interpreted together.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    corrected = [0.0] * len(p_values)
    highest = 0.0
    smallest_first = sorted(range(len(p_values)), key=p_values.__getitem__)
    for rank, place in enumerate(smallest_first):
        left = len(p_values) - rank
        highest = max(highest, min(1.0, left * p_values[place]))
        corrected[place] = highest
    return corrected


def _binomial_p(heads: int, tails: int) -> float:
    """Return the probability that a fair coin falls at least as unevenly as this, in either direction."""
    tosses, extreme = heads + tails, max(heads, tails)
    if tosses == 0:
        return 1.0
    if tosses > MAX_EXACT_TOSSES:
        from scipy.special import bdtrc  # noqa: PLC0415 (importing scipy is slow, and few tables need it)

        return min(1.0, 2 * float(bdtrc(extreme - 1, tosses, 0.5)))
    # Integers keep the sum exact.
    ways = of_this = math.comb(tosses, extreme)
    for more in range(extreme, tosses):
        of_this = of_this * (tosses - more) // (more + 1)  # C(n, k + 1) = C(n, k) (n - k) / (k + 1)
        ways += of_this
    all_ways: int = 2**tosses
    return min(1.0, 2 * ways / all_ways)


# -- tests by name ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PairedTest:
    """A test that a user can choose by name."""

    description: str
    """The test as footnotes name it."""
    valid: str
    """The conditions under which the test is valid, for the help of `--test`."""
    p_value: Callable[[Sequence[float], Sequence[float], float], float]
    """The uncorrected p-value of two samples, given the ratio that `correction_ratio` returns."""
    fewest: Callable[[int], int]
    """Takes the number of comparisons; returns the smallest number of paired values that can be tested."""
    all_pairs: bool = True
    """True to test all pairs of learners, False to test only the best learner against each other one."""
    corrected: bool = True
    """True to apply Holm's correction over the tested pairs."""
    by_rows: bool = False
    """True if samples are hits on the test rows of one trial, False if they are values of several trials."""
    needs_variance: bool = False
    """True if a pair with a constant difference cannot be tested."""
    marks_untested: bool = False
    """True to mark the best mean even if nothing could be tested, as the papers do."""


def _fewest_signs(comparisons: int) -> int:
    """Return how many pairs, all won, make a sign test significant after Holm's correction."""
    return math.ceil(math.log2(2 * max(comparisons, 1) / SIGNIFICANCE))


def _rule_of_wins(first: Sequence[float], second: Sequence[float], _: float) -> float:
    return 0.0 if clearly_wins(first, second) else 1.0


TESTS: dict[str, PairedTest] = {
    "ttest": PairedTest(
        "the corrected resampled t-test (Nadeau and Bengio 2003; 5%, Holm over all pairs)",
        "repeated holdouts and folds, at least 3 trials",
        corrected_t_test,
        lambda _: FEWEST_DIFFERENCES,
        needs_variance=True,
    ),
    "mcnemar": PairedTest(
        "McNemar's test (exact; 5%, Holm over all pairs)",
        "any split, from the saved ranks of one trial; only for shares of test rows such as R1",
        lambda first, second, _: mcnemar(first, second),
        lambda _: 1,
        by_rows=True,
    ),
    "sign": PairedTest(
        "a paired sign test (exact, ties dropped; 5%, Holm over the competitors of the best)",
        "independent trials only; on overlapping holdouts it claims too many differences",
        lambda first, second, _: sign_test(first, second),
        _fewest_signs,
        all_pairs=False,
        marks_untested=True,
    ),
    "wins": PairedTest(
        "the rule of nine wins in ten trials (no correction)",
        "for tables of the papers that use this rule; it is not a test",
        _rule_of_wins,
        lambda _: WINS_OF,
        all_pairs=False,
        corrected=False,
        marks_untested=True,
    ),
}
TEST_NAMES = (AUTO, *TESTS)
"""The values that `--test` accepts."""


# -- verdicts --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Verdict:
    """The result of a test of several learners: the best ones, and the pairs that differ significantly."""

    leaders: tuple[str, ...] = ()
    """The learners with the best mean: one, unless means are equal."""
    p_values: Mapping[Pair, float] = field(default_factory=dict)
    """Corrected p-values of the tested pairs."""
    wins: frozenset[Pair] = frozenset()
    """The tested pairs whose first learner is significantly better."""
    constant: tuple[Pair, ...] = ()
    """Pairs that cannot be tested because their difference is the same in every trial."""
    needed: int = 0
    """The number of paired trials that the test needs, if there were fewer; otherwise 0."""

    @property
    def tested(self) -> bool:
        """Whether at least one pair was tested."""
        return bool(self.p_values)

    @property
    def best(self) -> frozenset[str]:
        """The leaders, and every learner that was tested against the first of them and is not significantly worse."""
        if not self.leaders:
            return frozenset()
        found = set(self.leaders)
        for pair in self.p_values:
            if self.leaders[0] in pair and pair not in self.wins:
                found.update(pair)
        return frozenset(found)


def judge(
    samples: Mapping[str, TrialValues],
    *,
    higher: bool,
    test: str = "ttest",
    ratio: float = USUAL_RATIO,
    all_pairs: bool | None = None,
) -> Verdict:
    """Compare learners by a paired test.

    Parameters
    ----------
    samples : mapping of str to TrialValues
        For each learner its value in each trial, or its hit or miss on each test row.
    higher : bool
        Whether larger values are better.
    test : str, default="ttest"
        A name in `TESTS`.
    ratio : float, default=USUAL_RATIO
        For the corrected t-test: see `correction_ratio`.
    all_pairs : bool, optional
        Whether to test all pairs of learners. By default the test decides.

    Returns
    -------
    Verdict
        Without p-values if nothing could be tested.
    """
    chosen, ordered, leaders = TESTS[test], _best_first(samples, higher), find_leaders(samples, higher=higher)
    if chosen.all_pairs if all_pairs is None else all_pairs:
        pairs = list(combinations(ordered, 2))
    else:
        pairs = [(leaders[0], name) for name in ordered if name not in leaders]
    values = {pair: pair_trials(samples[pair[0]], samples[pair[1]], higher=higher) for pair in pairs}
    return _test_pairs(leaders, values, chosen, ratio)


def find_leaders(samples: Mapping[str, TrialValues], *, higher: bool) -> tuple[str, ...]:
    """Return the learners with the best mean: one, or several with equal means; empty without any values.

    Parameters
    ----------
    samples : mapping of str to TrialValues
        For each learner its value in each trial.
    higher : bool
        Whether larger values are better.
    """
    ordered = _best_first(samples, higher)
    top = [mean_of(samples[name].values()) for name in ordered[:1]]
    return tuple(name for name in ordered if [mean_of(samples[name].values())] == top)


def _best_first(samples: Mapping[str, TrialValues], higher: bool) -> list[str]:
    """Return the learners that have values, best mean first; equal means keep the order of `samples`."""
    means = {name: mean_of(values.values()) for name, values in samples.items() if values}
    return sorted(means, key=means.__getitem__, reverse=higher)


def _test_pairs(
    leaders: tuple[str, ...], values: Mapping[Pair, PairedValues], test: PairedTest, ratio: float
) -> Verdict:
    needed = test.fewest(len(values))
    if any(len(first) < needed for first, _ in values.values()):
        return Verdict(leaders, needed=needed)
    constant = []
    if test.needs_variance:
        constant = [pair for pair, (a, b) in values.items() if is_constant(a, b) and count_wins(a, b)[1] < len(a)]
    tested = {pair: paired for pair, paired in values.items() if pair not in constant}
    p_values = [test.p_value(first, second, ratio) for first, second in tested.values()]
    corrected = dict(zip(tested, holm(p_values) if test.corrected else p_values, strict=True))
    wins = set()
    for pair, (first, second) in tested.items():
        won, _, lost = count_wins(first, second)
        if corrected[pair] <= SIGNIFICANCE and won > lost:
            wins.add(pair)
    return Verdict(leaders, corrected, frozenset(wins), tuple(constant))


# -- spreads ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Spread:
    """A definition of the number after the ± of a mean."""

    description: str
    """The spread as footnotes name it."""
    half_width: Callable[[Summary, str, int | None], float | None]
    """Takes a summary, the metric's unit and the number of test rows; returns None if the spread is undefined."""


def _binomial_spread(summary: Summary, unit: str, n_test: int | None) -> float | None:
    if unit != "share":
        return summary.sd
    if not n_test or not 0 <= summary.mean <= 1:
        return None
    return binomial_half_width(summary.mean, n_test)


SPREADS: dict[str, Spread] = {
    "sd": Spread("Mean ± sample standard deviation over trials", lambda summary, unit, n_test: summary.sd),
    "t": Spread(
        "Mean ± half of Student's 95% interval over trials", lambda summary, unit, n_test: t_half_width(summary)
    ),
    "binomial": Spread(
        "Mean ± half of the binomial 95% interval, 1.96 sqrt(e (1 - e) / n) with n test rows, for shares; "
        "± sample standard deviation over trials for other metrics",
        _binomial_spread,
    ),
}
