"""The recommendation for each dataset: the picks, and sentences on how the best learner compares with the others.

The picks are the most accurate learner, and the fastest and the smallest learner that come close to it. The sentences
claim no more than the marks of the table. Without a test they give the best mean and the reason for the missing test.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.host.contract import MetricSpec
from harness.report.lines import Line, correction_ratio_of, lines_by_dataset, shared_seeds
from harness.report.tables.layout import format_interval
from harness.report.tables.render import heading_of
from harness.report.verdicts import FEW, UNSHARED, MetricVerdict, RowHits, is_fixed, judge_metric
from harness.stats import AUTO, Interval, binomial_half_width, mean_difference
from harness.text import counted, say

TOLERANCE = 0.01
"""Largest distance from the best share, here one point, for a learner to be picked as the fastest or smallest."""
ROUNDING = 1e-9
"""Added to `TOLERANCE`: 0.90 - 0.89 is more than 0.01 in binary."""
MOST_DATASETS = 3
"""Maximum number of datasets that have sentences of their own."""
MOST_NAMES = 4
"""Maximum number of learners that a sentence names."""


@dataclass(frozen=True)
class Pick:
    """The learner that serves one need best."""

    need: str
    """The need as text, such as "Most accurate" or "Fastest within 1 point"."""
    line: Line
    reason: str
    """The value that it was picked by, such as "train 15.7 ms"."""
    quality: str
    """The quality with its 95% interval, such as "R1 0.961 (0.950 to 0.972)"."""
    costs: Mapping[str, str]
    """Costs such as training time and size: formatted values by the heading of their metric."""


def pick_learners(
    competitors: Sequence[Line], columns: Sequence[MetricSpec], offered: Sequence[MetricSpec] = ()
) -> tuple[Pick, ...]:
    """Return the picks of one dataset, most accurate first, by the trials that all learners share.

    Parameters
    ----------
    competitors : sequence of Line
        Lines on the same dataset, prepared in the same way.
    columns : sequence of MetricSpec
        The metrics of the table. The first is the quality. The first timed cost decides which learner is fastest.
    offered : sequence of MetricSpec, optional
        Further metrics of the trials. `size_column` decides by which metric a learner is smallest.

    Returns
    -------
    tuple of Pick
        Empty without a trial that all learners share. Only the most accurate learner if the quality is not a share,
        because `TOLERANCE` is defined for shares only.
    """
    quality, times = columns[0], [metric for metric in columns[1:] if _is_cost(metric) and metric.timed]
    size = size_column(competitors, columns[1:], offered)
    seeds = shared_seeds(competitors, quality.name)
    means = _means_over(seeds, competitors, quality)
    if not means:
        return ()
    choose_best = max if quality.direction == "higher" else min
    best = choose_best(means.values())
    lines = {line.title: line for line in competitors}
    leaders = [lines[title] for title, mean in means.items() if mean == best]
    make = _PickMaker(quality, [*times, *([size] if size else [])], seeds)
    cheapest = next((one for cost in times[:1] if (one := make.cheapest(leaders, cost))), None)
    picks = [make.pick("Most accurate", cheapest or leaders[0], quality)]
    if quality.unit != "share":
        return tuple(picks)
    close = [lines[title] for title, mean in means.items() if abs(mean - best) <= TOLERANCE + ROUNDING]
    for need, cost in (("Fastest", next(iter(times), None)), ("Smallest", size)):
        cheapest = make.cheapest(close, cost) if cost else None
        if cost and cheapest:
            picks.append(make.pick(f"{need} within 1 point", cheapest, cost))
    return tuple(picks)


def size_column(
    lines: Sequence[Line], columns: Sequence[MetricSpec], offered: Sequence[MetricSpec] = ()
) -> MetricSpec | None:
    """Return the size that most lines have: bytes, in a column or not, or another cost that is a column.

    Bytes are measured for every learner, weights only for learners that report them.
    """
    sizes = [metric for metric in columns if _is_cost(metric) and not metric.timed]
    sizes += [metric for metric in offered if _is_cost(metric) and not metric.timed and metric.unit == "bytes"]

    def known(metric: MetricSpec) -> tuple[int, bool]:
        return sum(bool(line.values(metric.name)) for line in lines), metric.unit == "bytes"

    return max(sizes, key=known, default=None)


def describe_answer(
    lines: Sequence[Line],
    columns: Sequence[MetricSpec],
    test: str = AUTO,
    hits: RowHits | None = None,
    offered: Sequence[MetricSpec] = (),
) -> list[str]:
    """Return two sentences for each dataset: the picks, and how the best learner compares with the others.

    More than `MOST_DATASETS` datasets have two sentences together: how often each learner leads, and how many leads are
    significant.

    Parameters
    ----------
    lines : sequence of Line
        The lines of all datasets. A dataset with only one line has no sentences.
    columns : sequence of MetricSpec
        The metrics of the table, the quality first.
    test : str, default=AUTO
        A name in `harness.stats.TEST_NAMES`.
    hits : RowHits, optional
        Hits on test rows, for McNemar's test.
    offered : sequence of MetricSpec, optional
        Further metrics of the trials, as `pick_learners` takes them.
    """
    by_dataset = [competitors for competitors in lines_by_dataset(lines).values() if len(competitors) > 1]
    if len(by_dataset) > MOST_DATASETS:
        return _describe_leads([_standing_of(competitors, columns[0], test, hits) for competitors in by_dataset])
    sentences = []
    for competitors in by_dataset:
        picks = pick_learners(competitors, columns, offered)
        if not picks:
            continue
        first, *others = picks
        named = [f"{first.need} on {competitors[0].dataset}: {first.line.title}, {first.quality}"]
        named += [f"{pick.need.lower()}: {pick.line.title}, {pick.reason}" for pick in others]
        sentences.append(f"{'; '.join(named)}.")
        sentences.append(describe_verdict(competitors, columns[0], test, hits)[0])
    return sentences


def quality_interval(line: Line, metric: MetricSpec, seeds: Collection[int] | None = None) -> Interval | None:
    """Return the mean of a share with its 95% interval.

    On resampled splits the interval is that of the corrected resampled t-test. On a fixed split, and with too few
    trials, it is the binomial interval of the test rows of one trial.

    Parameters
    ----------
    line : Line
        A learner on a dataset.
    metric : MetricSpec
        The metric, which has an interval only if it is a share.
    seeds : collection of int, optional
        Seeds of the trials to use; by default all.

    Returns
    -------
    Interval or None
        None if the metric is not a share, or if there is no value or no number of test rows.
    """
    values = [value for seed, value in line.values(metric.name).items() if seeds is None or seed in seeds]
    summary = line.summary(metric.name, seeds)
    if summary is None or metric.unit != "share":
        return None
    if not is_fixed(line.prepared.split):
        found = mean_difference(values, [0.0] * len(values), correction_ratio_of([line]))
        if found is not None:
            return Interval(found.estimate, max(found.low, 0.0), min(found.high, 1.0))
    n_test = next((record.n_test for record in line.finished if record.n_test), None)
    if n_test is None:
        return None
    width = binomial_half_width(summary.mean, n_test)
    return Interval(summary.mean, max(summary.mean - width, 0.0), min(summary.mean + width, 1.0))


def _is_cost(metric: MetricSpec) -> bool:
    """Return whether a metric is a cost: less is better, and it reads no ranks."""
    return metric.direction == "lower" and metric.depth == 0


def _means_over(seeds: Collection[int], lines: Iterable[Line], metric: MetricSpec) -> dict[str, float]:
    """Return the mean of each line over some seeds, by title; lines without a value are left out."""
    means = {}
    for line in lines:
        summary = line.summary(metric.name, seeds)
        if summary is not None:
            means[line.title] = summary.mean
    return means


@dataclass(frozen=True)
class _PickMaker:
    """Makes picks from the trials that all learners share, as the verdict and the figure do."""

    quality: MetricSpec
    costs: Sequence[MetricSpec]
    seeds: Collection[int]

    def cheapest(self, lines: Sequence[Line], cost: MetricSpec) -> Line | None:
        means = _means_over(self.seeds, lines, cost)
        return min((line for line in lines if line.title in means), key=lambda line: means[line.title], default=None)

    def pick(self, need: str, line: Line, by: MetricSpec) -> Pick:
        costs = {_cost_name(metric): self._value(line, metric) for metric in self.costs}
        reason = f"{_cost_name(by)} {self._value(line, by)}"
        return Pick(need, line, reason, self._quality(line), {name: value for name, value in costs.items() if value})

    def _value(self, line: Line, metric: MetricSpec) -> str:
        summary = line.summary(metric.name, self.seeds)
        return "" if summary is None else say(summary.mean, metric.unit)

    def _quality(self, line: Line) -> str:
        text = f"{heading_of(self.quality)} {self._value(line, self.quality)}"
        interval = quality_interval(line, self.quality, self.seeds)
        if interval is None:
            return text
        return f"{text} ({say(interval.low, self.quality.unit)} to {say(interval.high, self.quality.unit)})"


def _cost_name(metric: MetricSpec) -> str:
    """Return the name of a cost in a pick: "size" for bytes, otherwise the heading of its column."""
    return "size" if metric.unit == "bytes" and not metric.timed else heading_of(metric)


# -- verdicts in sentences -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Standing:
    """The learners of a dataset compared by one metric, over the trials that all of them have."""

    metric: MetricSpec
    means: Mapping[str, float]
    """Mean of each learner by title, best first."""
    judged: MetricVerdict
    trials: int

    @property
    def leader(self) -> str:
        return self.judged.verdict.leaders[0] if self.judged.verdict.leaders else next(iter(self.means))

    @property
    def equally_good(self) -> list[str]:
        """Learners with the best mean."""
        best = next(iter(self.means.values()))
        return [title for title, mean in self.means.items() if mean == best]

    @property
    def equal(self) -> list[str]:
        """Learners that do not differ significantly from the leader; without a test, learners with the same mean."""
        return [title for title in self.means if title != self.leader and title in self.judged.verdict.best]

    @property
    def beaten(self) -> list[str]:
        """Learners that the leader beats significantly."""
        return [title for title in self.means if (self.leader, title) in self.judged.verdict.wins]

    def value(self, title: str) -> str:
        return say(self.means[title], self.metric.unit)

    def lead(self, title: str) -> str:
        """Return a learner's title, with the leader's advantage and its interval in brackets if they are known."""
        difference = self.judged.difference(self.leader, title)
        return _quote(title) if difference is None else f"{_quote(title)} ({format_interval(difference, self.metric)})"


def describe_verdict(
    competitors: Sequence[Line],
    quality: MetricSpec,
    test: str = AUTO,
    hits: RowHits | None = None,
) -> tuple[str, ...]:
    """Return sentences on the lines of one dataset: the best learner by quality, then the learners that failed.

    Parameters
    ----------
    competitors : sequence of Line
        Lines on the same dataset, prepared in the same way.
    quality : MetricSpec
        The metric to compare by.
    test : str, default=AUTO
        A name in `harness.stats.TEST_NAMES`.
    hits : RowHits, optional
        Hits on test rows, for McNemar's test.
    """
    standing = _standing_of(competitors, quality, test, hits)
    sentences = [_describe_quality(standing)]
    sentences += _describe_failures(competitors)
    return tuple(filter(None, sentences))


def _standing_of(competitors: Sequence[Line], metric: MetricSpec, test: str, hits: RowHits | None) -> _Standing:
    seeds = shared_seeds(competitors, metric.name)
    means = _means_over(seeds, competitors, metric)
    best_first = sorted(means, key=means.__getitem__, reverse=metric.direction == "higher")
    judged = judge_metric(competitors, metric, test, hits)
    return _Standing(metric, {title: means[title] for title in best_first}, judged, len(seeds))


def _describe_quality(standing: _Standing) -> str:
    name = heading_of(standing.metric)
    if standing.judged.missing == UNSHARED:
        return f"No trial is shared by all learners, so they cannot be compared by {name}."
    if not standing.means:
        return f"No trial has a value for {name}."
    if len(standing.means) == 1:
        return f"Only {standing.leader} has a value for {name} ({standing.value(standing.leader)})."
    if len(set(standing.means.values())) == 1:
        return f"All have the same {name} ({standing.value(standing.leader)})."
    if standing.judged.verdict.tested:
        return _describe_tested(standing, name)
    return _describe_untested(standing, name)


def _describe_tested(standing: _Standing, name: str) -> str:
    leader, equal, beaten = standing.leader, standing.equal, standing.beaten
    sentence = f"{leader} is best by {name} ({standing.value(leader)}, {counted(standing.trials, 'trial')})"
    if not beaten:
        return f"{sentence}, but it does not differ significantly from the others."
    won = _list_names([standing.lead(title) for title in beaten])
    if equal:
        others = _list_names(map(_quote, equal))
        return f"{sentence}; it beats {won}, and does not differ significantly from {others}."
    return f"{sentence}: it beats {won}."


def _describe_untested(standing: _Standing, name: str) -> str:
    leaders = _list_names(map(_quote, [standing.leader, *standing.equal]))
    sentence = f"The best mean {name} is that of {leaders} ({standing.value(standing.leader)})"
    if standing.judged.missing == FEW:
        trials = counted(standing.trials, "paired trial is", "paired trials are")
        return f"{sentence}; {trials} too few to test that."
    return f"{sentence}; there is no verdict, for the reason below the table."


def _describe_leads(standings: Sequence[_Standing]) -> list[str]:
    """Return how often each learner leads, and on how many datasets the lead is significant."""
    ran = [standing for standing in standings if standing.means]
    if not ran:
        return []
    leads = Counter(title for standing in ran for title in standing.equally_good)
    ordered = sorted(leads.items(), key=lambda item: (-item[1], item[0]))
    named = _list_names(f"{_quote(title)} ({count})" for title, count in ordered)
    best = f"Best mean {heading_of(ran[0].metric)} on {counted(len(ran), 'dataset')}: {named}."
    return [best, _count_significant_leads(ran)]


def _count_significant_leads(standings: Sequence[_Standing]) -> str:
    tested = [standing for standing in standings if standing.judged.verdict.tested]
    if not tested:
        return "No dataset has a verdict, for the reasons below the table."
    over_all = sum(bool(standing.beaten) and not standing.equal for standing in tested)
    over_some = sum(bool(standing.beaten and standing.equal) for standing in tested)
    sentence = f"The best learner beats all others significantly on {over_all} of {counted(len(tested), 'dataset')}"
    sentence = f"{sentence} and some of them on {over_some}"
    without = len(standings) - len(tested)
    return f"{sentence}; {without} more have no verdict." if without else f"{sentence}."


def _describe_failures(competitors: Iterable[Line]) -> list[str]:
    """Return a sentence for each group of learners that failed equally often."""
    alike: dict[tuple[int, int], list[str]] = {}
    for line in competitors:
        failed = len(line.records) - len(line.finished)
        if failed:
            alike.setdefault((failed, len(line.records)), []).append(line.title)
    sentences = []
    for (failed, trials), titles in alike.items():
        sentences.append(f"{_list_names(map(_quote, titles))} failed in {failed} of {counted(trials, 'trial')}.")
    return sentences


def _quote(title: str) -> str:
    return f'"{title}"' if "," in title else title


def _list_names(titles: Iterable[str]) -> str:
    """Return names joined by commas and "and"; if there are many, the first `MOST_NAMES` and the number of others."""
    words = list(titles)
    if len(words) > MOST_NAMES + 1:
        words = [*words[:MOST_NAMES], counted(len(words) - MOST_NAMES, "other")]
    *before, last = words
    if not before:
        return last
    return f"{', '.join(before)} and {last}"
