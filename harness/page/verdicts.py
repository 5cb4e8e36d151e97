"""What the statistics support, in sentences: who is best on a data set, who cannot be told from it, and at what cost.

A sentence claims no more than the marks of the tables do: the best was tested against every rival, and nobody else
was. Where there are too few trials for a test, it says so.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.contract import MetricSpec
from harness.groups import Line, shared_seeds
from harness.quantities import say
from harness.tables.marks import MarkedColumn, mark_column
from harness.tables.words import heading_of
from harness.wording import counted

MOST_NAMES = 4
WORTH_TELLING = 1.1
"""A cost that is lower by a smaller factor than this is not spoken of."""


@dataclass(frozen=True)
class _Standing:
    """How rivals stand by one metric, in the trials that all have."""

    metric: MetricSpec
    means: Mapping[str, float]
    """By title, the best first."""
    column: MarkedColumn
    level: list[str]
    """Those that cannot be told from the first, or share its mean."""
    beaten: list[str]
    trials: int

    @property
    def first(self) -> str:
        return next(iter(self.means))

    def said(self, title: str) -> str:
        return say(self.means[title], self.metric.unit)


def tell_verdict(
    rivals: Sequence[Line], quality: MetricSpec, costs: Iterable[MetricSpec] = (), test: str = "sign"
) -> tuple[str, ...]:
    """Sentences on the lines of one data set: by quality, by costs beside it, and what failed."""
    standing = _standing_of(rivals, quality, test)
    sentences = [_tell_quality(standing)]
    for cost in costs:
        if standing.means:
            sentences.append(_tell_cost([standing.first, *standing.level], _standing_of(rivals, cost, test)))
    sentences += _tell_failed(rivals)
    return tuple(filter(None, sentences))


def _standing_of(rivals: Sequence[Line], metric: MetricSpec, test: str) -> _Standing:
    seeds = shared_seeds(rivals, metric.name)
    means: dict[str, float] = {}
    for line in rivals:
        summary = line.summary(metric.name, seeds)
        if summary is not None:
            means[line.title] = summary.mean
    best_first = sorted(means, key=means.__getitem__, reverse=metric.direction == "higher")
    column = mark_column(rivals, metric, test)
    level = [title for title in best_first[1:] if title in column.best]
    beaten = [title for title in best_first if title not in column.best]
    ordered = {title: means[title] for title in best_first}
    return _Standing(metric, ordered, column, level, beaten, len(seeds))


def _tell_quality(standing: _Standing) -> str:
    name = heading_of(standing.metric)
    if standing.column.unshared:
        return f"No trial is shared by all learners: nothing can be said of {name}."
    if not standing.means:
        return f"No trial has a value for {name}."
    if len(standing.means) == 1:
        return f"Only {standing.first} has a value for {name} ({standing.said(standing.first)})."
    if standing.column.tested:
        return _tell_tested(standing, name)
    return _tell_untested(standing, name)


def _tell_tested(standing: _Standing, name: str) -> str:
    first, level, beaten = standing.first, standing.level, standing.beaten
    trials = counted(standing.trials, "trial")
    told = f"{first} is best by {name} ({standing.said(first)}, {trials})"
    if not beaten:
        return f"{told}, but none of the others can be told from it."
    if level:
        return f"{told}; {_list_names(level)} cannot be told from it; it beats {_list_names(beaten)}."
    return f"{told}: it beats {_list_names(beaten)}."


def _tell_untested(standing: _Standing, name: str) -> str:
    first, level = standing.first, standing.level
    if not standing.beaten:
        return f"All have the same {name} ({standing.said(first)})."
    leaders = _list_names([first, *level])
    trials = counted(standing.trials, "paired trial is", "paired trials are")
    return f"The best mean {name} is that of {leaders} ({standing.said(first)}); {trials} too few to test that."


def _tell_cost(leaders: Sequence[str], standing: _Standing) -> str:
    """Who costs least, beside what the best costs; nothing where that cannot be said or is not worth it.

    Of several that are best alike, the one that costs least of them is compared.
    """
    costs = [title for title in standing.means if title in leaders]
    if len(standing.means) < 2 or not costs or standing.column.unshared:
        return ""
    name, cheapest, best = heading_of(standing.metric), standing.first, costs[0]
    factor = _factor(standing.means[best], standing.means[cheapest])
    if best not in standing.beaten or factor < WORTH_TELLING:
        return ""
    told = f"By {name}, {cheapest} ({standing.said(cheapest)}) is {_said(factor)} times {_ahead(standing.metric)}"
    told += f" than {best} ({standing.said(best)}"
    told += ", the least of these)" if len(leaders) > 1 else ")"
    if not standing.column.tested:
        told += ", judged by means alone"
    return f"{told}."


def _said(factor: float) -> str:
    """Three figures: 2.35, 43,800."""
    return f"{float(f'{factor:.3g}'):,.6g}"


def _ahead(metric: MetricSpec) -> str:
    """What the better one is, in the word that people use of such a cost."""
    if metric.direction == "higher":
        return "higher"
    return "faster" if metric.unit == "seconds" else "smaller"


def _factor(one: float, other: float) -> float:
    """How many times the larger is the smaller; 1, which says nothing, where a ratio has no meaning."""
    least, most = min(one, other), max(one, other)
    if least <= 0:
        return 1.0
    return most / least


def _tell_failed(rivals: Iterable[Line]) -> list[str]:
    """A sentence for those that failed equally often."""
    alike: dict[tuple[int, int], list[str]] = {}
    for line in rivals:
        failed = len(line.records) - len(line.finished)
        if failed:
            alike.setdefault((failed, len(line.records)), []).append(line.title)
    told = []
    for (failed, trials), titles in alike.items():
        told.append(f"{_list_names(titles)} failed in {failed} of {counted(trials, 'trial')}.")
    return told


def _list_names(titles: Sequence[str]) -> str:
    """Names as a sentence has them, the first few where they are many; one with a comma inside is quoted."""
    words = [f'"{title}"' if "," in title else title for title in titles]
    if len(words) > MOST_NAMES + 1:
        words = [*words[:MOST_NAMES], counted(len(words) - MOST_NAMES, "other")]
    *before, last = words
    if not before:
        return last
    return f"{', '.join(before)} and {last}"
