"""Comparison of two results folders: the lines that both have, the changes between them, and differing settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from harness.host.contract import MetricSpec
from harness.records.record import Record
from harness.report.lines import Line, correction_ratio_of, flat_first, pair_values, shared_seeds
from harness.report.tables.layout import format_bounds, format_difference, format_p, format_value
from harness.report.tables.render import Grid, Values, heading_of
from harness.report.verdicts import explain_few_trials, is_fixed
from harness.stats import (
    FEWEST_DIFFERENCES,
    SIGNIFICANCE,
    Interval,
    Summary,
    corrected_t_test,
    count_wins,
    detectable_difference,
    detectable_share,
    holm,
    mcnemar,
    mean_difference,
    pair_trials,
    share_difference,
)
from harness.syntax.expression import describe_params
from harness.system.machine import Machine

NOT_TESTED = "not tested"
"""The verdict on a change for which no test is possible; a footnote has the reason."""
ReadHits = Callable[[Record], Sequence[bool] | None]
"""Function that returns, for each test row of a record, whether its first-ranked class is true; None without ranks."""
DataPlace = tuple[str, str, str]
"""A prepared dataset, as matched between two folders: name, representation and split."""


# -- lines of both folders -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LinePairs:
    """The lines of two folders: pairs that both have, and lines that only one has."""

    both: tuple[tuple[Line, Line], ...]
    only_first: tuple[Line, ...]
    only_second: tuple[Line, ...]

    def describe_unpaired(self) -> list[str]:
        """Return a text for each line of one folder only."""
        texts = [f"only in the first: {_describe_line(line)}" for line in self.only_first]
        return texts + [f"only in the second: {_describe_line(line)}" for line in self.only_second]


def pair_lines(first: Iterable[Line], second: Iterable[Line], learners: tuple[str, str] | None = None) -> LinePairs:
    """Pair the lines of two folders that have the same learner, dataset, representation and split.

    Parameters
    ----------
    first, second : iterable of Line
        The lines of the two folders.
    learners : tuple of 2 str, optional
        Titles of a learner of the first and of one of the second folder, which are paired with each other. By default
        learners with the same title are paired.
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
    """Return lines by dataset and title, or only those of one learner by dataset."""
    found = {}
    for line in flat_first(lines):
        if learner is None:
            found[_place_of(line), line.title] = line
        elif line.title == learner:
            found[_place_of(line), ""] = line
    return found


def describe_lines(lines: Iterable[Line]) -> list[str]:
    """Return a text for each prepared dataset, with its learners."""
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


# -- changes ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Change:
    """One metric of one learner on one dataset, before and after."""

    dataset: str
    learner: str
    metric: MetricSpec
    before: Summary
    after: Summary
    wins: tuple[int, int, int]
    """Numbers of paired trials in which the second folder is better, equal and worse."""
    interval: Interval | None
    """The value after minus the value before, with its 95% interval; None if it cannot be estimated."""
    p_value: float | None
    """The p-value of the corrected t-test, or of McNemar's test on a fixed split; None if nothing can be tested."""
    instances_p: float | None = None
    """The p-value of McNemar's test on the test rows of the first shared trial; None if it was not requested."""
    comparable: bool = True
    """False for times that were measured on different machines or with different numbers of threads."""
    detectable: float | None = None
    """The smallest difference that the test detects with 80% power; None if nothing can be tested."""
    is_fixed: bool = False
    """True if the split has the same test rows for every seed."""

    @property
    def pairs(self) -> int:
        """The number of paired trials."""
        return sum(self.wins)

    @property
    def difference(self) -> float:
        """The mean after minus the mean before."""
        return self.after.mean - self.before.mean

    def verdict(self, p_value: float | None) -> str:
        """Return the verdict as text, given the corrected p-value, or None if nothing was tested."""
        won, _, lost = self.wins
        if not self.comparable:
            return "other machine"
        if won == lost == 0 and self.pairs:
            return "same"
        if p_value is None:
            return NOT_TESTED
        if p_value > SIGNIFICANCE:
            return "not significant"
        improvement = self.difference if self.metric.direction == "higher" else -self.difference
        return "better" if improvement > 0 else "worse"


def find_changes(
    pairs: Iterable[tuple[Line, Line]],
    metrics: Sequence[MetricSpec],
    hits: tuple[ReadHits, ReadHits] | None = None,
    *,
    instances: bool = False,
) -> list[Change]:
    """Return a change for each metric of each pair, if both lines of the pair have a value.

    Parameters
    ----------
    pairs : iterable of tuple of 2 Line
        Lines before and after.
    metrics : sequence of MetricSpec
        The metrics to compare.
    hits : tuple of 2 Hits, optional
        Functions that read the hits on test rows of a record of the first and of the second folder, for McNemar's test.
    instances : bool, default=False
        Whether to add McNemar's test to changes that have another test.
    """
    changes = []
    pairs = list(pairs)
    n_tests = len(pairs) * len(metrics)
    for first, second in pairs:
        by_rows = _test_rows(first, second, hits, n_tests) if hits else None
        for metric in metrics:
            change = _change_in(first, second, metric, by_rows, instances, n_tests)
            if change is not None:
                changes.append(change)
    return changes


@dataclass(frozen=True)
class _Tested:
    """A test of one difference: p-value, interval and detectable difference; None where undefined."""

    p_value: float | None = None
    interval: Interval | None = None
    detectable: float | None = None


def _change_in(
    first: Line, second: Line, metric: MetricSpec, by_rows: _Tested | None, instances: bool, pairs: int
) -> Change | None:
    seeds = shared_seeds((first, second), metric.name) or None  # without shared seeds, compare the means of all trials
    before, after = first.summary(metric.name, seeds), second.summary(metric.name, seeds)
    if before is None or after is None:
        return None
    learner = first.title if first.title == second.title else f"{first.title} -> {second.title}"
    rows = by_rows if metric.unit == "share" and metric.depth == 1 and metric.direction == "higher" else None
    fixed = is_fixed(first.prepared.split)
    if fixed:
        tested = rows or _Tested()
    else:
        tested = _test_trials(first, second, metric, pairs)
    return Change(
        dataset=first.dataset,
        learner=learner,
        metric=metric,
        before=before,
        after=after,
        wins=count_wins(*pair_values(second, first, metric)),
        interval=tested.interval,
        p_value=tested.p_value,
        instances_p=rows.p_value if rows and instances else None,
        comparable=not metric.timed or _measured_alike(first, second),
        detectable=tested.detectable,
        is_fixed=fixed,
    )


def _test_trials(first: Line, second: Line, metric: MetricSpec, pairs: int) -> _Tested:
    """Return the corrected t-test on the paired trials, with the power of Holm's correction over `pairs` tests."""
    new, old = pair_trials(second.values(metric.name), first.values(metric.name), higher=True)
    ratio = correction_ratio_of((first, second))
    interval = mean_difference(new, old, ratio)
    if interval is None:
        return _Tested()
    return _Tested(corrected_t_test(new, old, ratio), interval, detectable_difference(new, old, ratio, pairs))


def _measured_alike(first: Line, second: Line) -> bool:
    conditions = {(record.machine, record.threads) for record in (*first.finished, *second.finished)}
    return len(conditions) == 1


def _test_rows(first: Line, second: Line, hits: tuple[ReadHits, ReadHits], pairs: int) -> _Tested | None:
    """Return McNemar's test on the first trial that both lines have; None without the same data or saved ranks."""
    if first.prepared.fingerprint != second.prepared.fingerprint:
        return None
    later = {record.seed: record for record in second.finished}
    for record in first.finished:
        if record.seed in later:
            before, after = hits[0](record), hits[1](later[record.seed])
            if before is None or after is None:
                return None
            return _Tested(
                mcnemar(before, after), share_difference(after, before), detectable_share(after, before, pairs)
            )
    return None


# -- the grid --------------------------------------------------------------------------------------------------------


def changes_grid(
    changes: Sequence[Change], title: str, *, instances: bool = False, folders: Sequence[str] = ()
) -> Grid:
    """Return the changes as a grid with a verdict in each row; Holm's correction covers all rows that are tested.

    `folders` are the results folders for the commands in a footnote that add trials.
    """
    columns = ["dataset", "learner", "metric", "first", "second", "change", "95% interval", "won/tied/lost", "p"]
    columns.append("detectable")
    footnotes = [
        "Mean ± sample standard deviation over the trials that both have; won/tied/lost: paired trials in which the "
        "second is better, equal, worse.",
        "p: corrected resampled t-test (Nadeau and Bengio 2003), on a fixed split McNemar's test from saved ranks; "
        "Holm-corrected over the rows. Detectable: the smallest difference that would be detected with 80% power.",
    ]
    if instances:
        columns.append("McNemar p")
        footnotes.append("McNemar p: exact, on hit or miss of each test row in the first shared trial; not corrected.")
    rows, values = [], []
    for change, p_value in zip(changes, _correct(changes), strict=True):
        rows.append(_texts_of_change(change, p_value, instances))
        values.append(_values_of_change(change, p_value, instances))
    footnotes += _missing_notes([change for change in changes if change.verdict(change.p_value) == NOT_TESTED], folders)
    return Grid(title, (*columns, "verdict"), tuple(rows), tuple(values), tuple(footnotes))


def _missing_notes(untested: Sequence[Change], folders: Sequence[str]) -> list[str]:
    """Return one footnote for each reason why changes were not tested."""
    fixed = [change for change in untested if change.is_fixed]
    few = [change for change in untested if not change.is_fixed and change.pairs < FEWEST_DIFFERENCES]
    constant = [change for change in untested if not change.is_fixed and change.pairs >= FEWEST_DIFFERENCES]
    notes = []
    if few:
        reason = explain_few_trials(min(change.pairs for change in few), FEWEST_DIFFERENCES, folders or [""])
        notes.append(f"Not tested: {_name_changes(few)}: {reason}")
    if constant:
        notes.append(f"Not tested: {_name_changes(constant)}: the same difference in every trial, hence no variance.")
    if fixed:
        notes.append(
            f"Not tested: {_name_changes(fixed)}: on a fixed split, McNemar's test needs a metric that is the share of "
            "test rows with the right class first (R1), and saved ranks in both folders (`harness run` saves them)."
        )
    return notes


def _name_changes(changes: Sequence[Change]) -> str:
    metrics = dict.fromkeys(heading_of(change.metric) for change in changes)
    return f"{', '.join(metrics)} on {', '.join(dict.fromkeys(change.dataset for change in changes))}"


def _correct(changes: Sequence[Change]) -> list[float | None]:
    """Return the corrected p-value of each change; None for changes that were not tested."""
    tested: dict[int, float] = {}
    for place, change in enumerate(changes):
        if change.p_value is not None and change.comparable:
            tested[place] = change.p_value
    corrected = dict(zip(tested, holm(list(tested.values())), strict=True))
    return [corrected.get(place) for place in range(len(changes))]


def _texts_of_change(change: Change, p_value: float | None, instances: bool) -> tuple[str, ...]:
    metric = change.metric
    won, tied, lost = change.wins
    texts = [
        change.dataset,
        change.learner,
        heading_of(metric),
        format_value(change.before, metric),
        format_value(change.after, metric),
        format_difference(change.difference, metric),
        format_bounds(change.interval, metric),
        f"{won}/{tied}/{lost}",
        format_p(p_value),
        "-" if change.detectable is None else format_difference(change.detectable, metric)[1:],
    ]
    if instances:
        texts.append(format_p(change.instances_p))
    return (*texts, change.verdict(p_value))


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
        "difference_low": None if change.interval is None else change.interval.low,
        "difference_high": None if change.interval is None else change.interval.high,
        "won": won,
        "tied": tied,
        "lost": lost,
        "p": p_value,
        "detectable": change.detectable,
    }
    if instances:
        values["mcnemar_p"] = change.instances_p
    return values | {"verdict": change.verdict(p_value)}


# -- settings --------------------------------------------------------------------------------------------------------


def settings_grid(pairs: Iterable[tuple[Line, Line]], machines: Mapping[str, Machine]) -> Grid:
    """Return the settings that differ between the first and the second lines of the pairs."""
    first: list[Record] = []
    second: list[Record] = []
    for before, after in pairs:
        first += before.records
        second += after.records
    return _differences(_settings_of(first, machines), _settings_of(second, machines))


def _differences(before: Mapping[str, str], after: Mapping[str, str]) -> Grid:
    rows, values = [], []
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name, "-"), after.get(name, "-")
        if old != new:
            rows.append((name, old, new))
            values.append({"setting": name, "first": old, "second": new})
    footnotes = () if rows else ("Versions, machine, threads, data and parameters are the same.",)
    return Grid("Settings that differ", ("setting", "first", "second"), tuple(rows), tuple(values), footnotes)


def _settings_of(records: Iterable[Record], machines: Mapping[str, Machine]) -> dict[str, str]:
    """Return each setting with all its values in these records."""
    found: dict[str, set[str]] = {}
    for record in records:
        for name, words in _settings_of_trial(record, machines).items():
            found.setdefault(name, set()).add(words)
    return {name: "; ".join(sorted(words)) for name, words in found.items()}


def _settings_of_trial(record: Record, machines: Mapping[str, Machine]) -> dict[str, str]:
    settings = {
        "machine": str(machines.get(record.machine, Machine(record.machine))),
        "threads": str(record.threads),
        "jobs": str(record.jobs),
        "commit": record.commit or "-",
    }
    for name, version in record.versions.items():
        settings[f"version of {name}"] = version
    settings[f"data of {record.dataset}"] = f"{record.fingerprint[:12]} {record.dataset_revision}".rstrip()
    origin = f"{record.learner_distribution} {record.learner_version}"
    settings[f"learner {record.label}"] = f"{record.learner} of {origin}"
    settings[f"parameters of {record.label} on {record.dataset}"] = _describe_own_params(record)
    return settings


def _describe_own_params(record: Record) -> str:
    """Describe all parameters except a random_state that follows the seed."""
    params = {**record.params, **record.tuned}
    if params.get("random_state") == record.seed:
        del params["random_state"]
    return describe_params(params)
