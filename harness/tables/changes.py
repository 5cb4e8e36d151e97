"""Two sets of lines side by side: what changed, and whether a paired test can tell. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from harness.contract import MetricSpec
from harness.groups import Line, flat_first, pair_values, shared_seeds
from harness.record import Record
from harness.stats import FEWEST_PAIRS, SIGNIFICANCE, Summary, count_wins, holm, mcnemar, sign_test
from harness.tables.grid import Grid
from harness.tables.numbers import format_difference, format_p, format_value
from harness.tables.render_data import Values
from harness.tables.words import heading_of

Hits = Callable[[Record], Sequence[bool]]
"""Whether the first-ranked class of each test row is a true one, in the order of the rows."""
DataPlace = tuple[str, str, str]
"""A data set as prepared, by what can be the same in two folders: name, representation and split."""


# -- which lines meet ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LinePairs:
    """The lines that stand on both sides, first and second, and those that stand on one of them only."""

    both: tuple[tuple[Line, Line], ...]
    only_first: tuple[Line, ...]
    only_second: tuple[Line, ...]

    def tell_alone(self) -> list[str]:
        """A text for each line that stands on one side only."""
        told = []
        for line in self.only_first:
            told.append(f"only in the first: {_describe_line(line)}")
        for line in self.only_second:
            told.append(f"only in the second: {_describe_line(line)}")
        return told


def pair_lines(first: Iterable[Line], second: Iterable[Line], learners: tuple[str, str] | None = None) -> LinePairs:
    """Lines of one learner on one data set, as prepared, from two sides.

    With `learners` the first of these on the first side is paired with the second on the second side.
    """
    one, other = learners or (None, None)
    before, after = _by_place(first, one), _by_place(second, other)
    both, only_first = [], []
    for key, line in before.items():
        if key in after:
            both.append((line, after[key]))
        else:
            only_first.append(line)
    only_second = [line for key, line in after.items() if key not in before]
    return LinePairs(tuple(both), tuple(only_first), tuple(only_second))


def _by_place(lines: Iterable[Line], learner: str | None) -> dict[tuple[DataPlace, str], Line]:
    """Lines by what must be the same of those that meet: the learner too, unless it is the only one that counts."""
    found = {}
    for line in flat_first(lines):
        if learner is None:
            found[_place_of(line), line.title] = line
        elif line.title == learner:
            found[_place_of(line), ""] = line
    return found


def tell_lines(lines: Iterable[Line]) -> list[str]:
    """What there is to compare, a text for each data set as prepared."""
    found: dict[DataPlace, list[str]] = {}
    for line in flat_first(lines):
        found.setdefault(_place_of(line), []).append(line.title)
    return [f"{', '.join(learners)} on {_describe_place(place)}" for place, learners in found.items()]


def _place_of(line: Line) -> DataPlace:
    return line.dataset, line.representation, str(line.prepared.split)


def _describe_place(place: DataPlace) -> str:
    dataset, representation, split = place
    return f"{dataset} ({representation}, {split})"


def _describe_line(line: Line) -> str:
    return f"{line.title} on {_describe_place(_place_of(line))}"


# -- what changed ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """One metric of one learner on one data set, before and after."""

    dataset: str
    learner: str
    metric: MetricSpec
    before: Summary
    after: Summary
    wins: tuple[int, int, int]
    """Paired trials in which the later is better, equal, worse."""
    p_value: float
    """Of the exact paired sign test, ties dropped, before any correction."""
    instances_p: float | None = None
    """Of McNemar's test on the test rows of the first shared trial, where it was asked for."""
    comparable: bool = True
    """False for times that were taken on two machines or with other threads."""

    @property
    def pairs(self) -> int:
        return sum(self.wins)

    @property
    def difference(self) -> float:
        return self.after.mean - self.before.mean

    def verdict(self, p_value: float | None) -> str:
        """What can be said of it; `p_value` is the corrected one, None where nothing was tested."""
        won, _, lost = self.wins
        if not self.comparable:
            return "other machine"
        if won == lost == 0 and self.pairs:
            return "same"
        if p_value is None:
            return "not tested"
        if p_value > SIGNIFICANCE:
            return "not told apart"
        return "better" if won > lost else "worse"


def find_changes(
    pairs: Iterable[tuple[Line, Line]], metrics: Sequence[MetricSpec], hits: tuple[Hits, Hits] | None = None
) -> list[Change]:
    """Every metric of every pair that both have a value for. With `hits`, McNemar's test on the first-ranked class."""
    changes = []
    for first, second in pairs:
        by_rows = _instances_p(first, second, hits) if hits else None
        for metric in metrics:
            change = _change_in(first, second, metric, by_rows)
            if change is not None:
                changes.append(change)
    return changes


def _change_in(first: Line, second: Line, metric: MetricSpec, by_rows: float | None) -> Change | None:
    seeds = shared_seeds((first, second), metric.name) or None  # without any, there is nothing to pair
    before, after = first.summary(metric.name, seeds), second.summary(metric.name, seeds)
    if before is None or after is None:
        return None
    learner = first.title if first.title == second.title else f"{first.title} -> {second.title}"
    new, old = pair_values(second, first, metric)
    judged_by_first_rank = metric.unit == "share" and metric.depth == 1
    return Change(
        dataset=first.dataset,
        learner=learner,
        metric=metric,
        before=before,
        after=after,
        wins=count_wins(new, old),
        p_value=sign_test(new, old),
        instances_p=by_rows if judged_by_first_rank else None,
        comparable=not metric.timed or _measured_alike(first, second),
    )


def _measured_alike(first: Line, second: Line) -> bool:
    conditions = {(record.machine, record.threads) for record in (*first.finished, *second.finished)}
    return len(conditions) == 1


def _instances_p(first: Line, second: Line, hits: tuple[Hits, Hits]) -> float | None:
    """McNemar's test on the first trial that both have, if it has the same test rows."""
    if first.prepared.fingerprint != second.prepared.fingerprint:
        return None
    later = {record.seed: record for record in second.finished}
    for record in first.finished:
        if record.seed in later:
            return mcnemar(hits[0](record), hits[1](later[record.seed]))
    return None


# -- the grid --------------------------------------------------------------------------------------------------------


def changes_grid(changes: Sequence[Change], title: str, *, instances: bool = False) -> Grid:
    """The changes with a verdict each; p-values are Holm-corrected over all rows that can be tested."""
    columns = ["data set", "learner", "metric", "first", "second", "change", "won/tied/lost", "p"]
    foot = [
        "Mean ± sample standard deviation over the trials that both have; won/tied/lost: paired trials in which the "
        "second is better, equal, worse.",
        f"p: exact paired sign test, ties dropped, Holm-corrected over the rows; fewer than {FEWEST_PAIRS} pairs are "
        "too few to test.",
    ]
    if instances:
        columns.append("McNemar p")
        foot.append("McNemar p: exact, on hit or miss of each test row in the first shared trial; not corrected.")
    rows, values = [], []
    for change, p_value in zip(changes, _correct(changes), strict=True):
        rows.append(_words_of_change(change, p_value, instances))
        values.append(_values_of_change(change, p_value, instances))
    return Grid(title, (*columns, "verdict"), tuple(rows), tuple(values), tuple(foot))


def _correct(changes: Sequence[Change]) -> list[float | None]:
    """The corrected p-value of each change; None of what cannot be tested."""
    testable = []
    for place, change in enumerate(changes):
        if change.pairs >= FEWEST_PAIRS and change.comparable:
            testable.append(place)
    corrected: list[float | None] = [None] * len(changes)
    p_values = holm([changes[place].p_value for place in testable])
    for place, p_value in zip(testable, p_values, strict=True):
        corrected[place] = p_value
    return corrected


def _words_of_change(change: Change, p_value: float | None, instances: bool) -> tuple[str, ...]:
    metric = change.metric
    won, tied, lost = change.wins
    words = [
        change.dataset,
        change.learner,
        heading_of(metric),
        format_value(change.before, metric),
        format_value(change.after, metric),
        format_difference(change.difference, metric),
        f"{won}/{tied}/{lost}",
        format_p(p_value),
    ]
    if instances:
        words.append(format_p(change.instances_p))
    return (*words, change.verdict(p_value))


def _values_of_change(change: Change, p_value: float | None, instances: bool) -> Values:
    won, tied, lost = change.wins
    values: Values = {
        "dataset": change.dataset,
        "learner": change.learner,
        "metric": change.metric.name,
        "before": change.before.mean,
        "before_sd": change.before.sd,
        "before_n": change.before.n,
        "after": change.after.mean,
        "after_sd": change.after.sd,
        "after_n": change.after.n,
        "difference": change.difference,
        "won": won,
        "tied": tied,
        "lost": lost,
        "p": p_value,
    }
    if instances:
        values["mcnemar_p"] = change.instances_p
    return values | {"verdict": change.verdict(p_value)}
