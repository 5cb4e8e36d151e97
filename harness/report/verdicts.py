"""Verdicts: choose the test that fits a split, compare learners on a dataset by a metric, and write the footnotes.

On resampled splits the default is the corrected resampled t-test over trials. On a fixed split all trials share one
test set, and repeated seeds are not independent. The default there is McNemar's test over the test rows of one trial.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.host.contract import MetricSpec
from harness.report.lines import Line, Prepared, correction_ratio_of, lines_by_dataset, shared_seeds
from harness.stats import (
    AUTO,
    TEST_NAMES,
    TESTS,
    Interval,
    TrialValues,
    Verdict,
    detectable_difference,
    detectable_share,
    expected_detectable_difference,
    find_leaders,
    judge,
    mean_difference,
    pair_trials,
    share_difference,
)
from harness.text import choose, counted

if TYPE_CHECKING:
    from harness.records.record import Record
    from harness.syntax.split import Split

FIXED_SPLITS = ("given", "time")
"""Kinds of split with the same test rows for every seed."""
ENOUGH_TRIALS = 10
"""The number of trials that a footnote suggests if there are too few."""
MOST_NAMES = 4
"""Maximum number of datasets that a footnote names."""
RowHits = Mapping[tuple[str, int], Sequence[bool]]
"""By a record's key and a depth: whether each test row has a true class among its first `depth` ranks."""
MarkedCell = tuple[Prepared, str, str]
"""A cell of a table: the prepared dataset, the title of the line and the name of the metric."""

NO_VERDICT = Verdict()
FEW, CONSTANT, FIXED, NO_RANKS, NO_SHARE, UNSHARED = range(6)
"""Reasons for a missing verdict, in the order of their footnotes."""


@dataclass(frozen=True)
class MetricVerdict:
    """The verdict on the lines of one dataset by one metric, and the samples behind it."""

    metric: MetricSpec
    test: str
    """A name in `TESTS`."""
    samples: Mapping[str, TrialValues]
    """By title: a value in each shared trial, or a hit or miss on each test row. Empty for fewer than two learners."""
    verdict: Verdict = NO_VERDICT
    ratio: float = 0.0
    """The result of `harness.stats.correction_ratio`, for the corrected t-test."""
    missing: int | None = None
    """The reason why nothing was tested, such as `FEW`; None if pairs were tested or there was nothing to test."""
    has_unequal_trials: bool = False
    """True if some lines have trials that others lack. These trials are left out."""

    @property
    def n(self) -> int:
        """The number of paired trials or test rows."""
        return min(map(len, self.samples.values()), default=0)

    @property
    def is_higher_better(self) -> bool:
        """True if larger values of `samples` are better: always for hits, otherwise by the metric."""
        return TESTS[self.test].by_rows or self.metric.direction == "higher"

    @property
    def marked(self) -> frozenset[str]:
        """The titles that a table marks.

        Without a verdict there are none, except for the tests with `marks_untested`, which mark the best mean.
        """
        is_marked = self.verdict.tested or (TESTS[self.test].marks_untested and self.missing != UNSHARED)
        return self.verdict.best if is_marked else frozenset()

    @property
    def lacks_rows(self) -> bool:
        """True if the test needs hits on test rows, but `samples` has values of trials."""
        return TESTS[self.test].by_rows and self.missing is not None

    def difference(self, first: str, second: str) -> Interval | None:
        """Return the first learner's mean minus the second's, with its 95% interval.

        The difference is that of the metric itself: if lower is better, a negative difference is an advantage. None if
        there is no interval, for instance if McNemar's test lacks saved ranks.
        """
        if self.lacks_rows:
            return None
        one, other = pair_trials(self.samples[first], self.samples[second], higher=True)
        if not TESTS[self.test].by_rows:
            return mean_difference(one, other, self.ratio)
        found = share_difference(one, other)
        return found if found is None or self.metric.direction == "higher" else found.negated()

    def detectable(self, first: str, second: str) -> float | None:
        """Return the smallest difference of two learners that the test would detect with 80% power.

        None if it cannot be computed, for instance if McNemar's test lacks saved ranks.
        """
        if self.lacks_rows:
            return None
        one, other = pair_trials(self.samples[first], self.samples[second], higher=True)
        pairs = math.comb(len(self.samples), 2)
        if TESTS[self.test].by_rows:
            return detectable_share(one, other, pairs)
        return detectable_difference(one, other, self.ratio, pairs)


def judge_metric(
    competitors: Sequence[Line],
    metric: MetricSpec,
    test: str = AUTO,
    hits: RowHits | None = None,
    *,
    all_pairs: bool | None = None,
) -> MetricVerdict:
    """Compare the lines of one dataset by one metric.

    Parameters
    ----------
    competitors : sequence of Line
        Lines on the same dataset, prepared in the same way.
    metric : MetricSpec
        The metric to compare by.
    test : str, default=AUTO
        A name in `harness.stats.TEST_NAMES`; "auto" chooses by the split.
    hits : RowHits, optional
        Hits on the test rows of the records that `first_shared_records` returns, as far as their ranks are saved.
    all_pairs : bool, optional
        Whether to test all pairs of learners. By default the test decides.
    """
    name = choose_test(test, competitors[0].prepared.split)
    seeds = shared_seeds(competitors, metric.name)
    by_title = {line.title: values for line in competitors if (values := line.values(metric.name))}
    samples = {title: {seed: values[seed] for seed in seeds} for title, values in by_title.items()}
    found = MetricVerdict(
        metric,
        name,
        samples,
        ratio=correction_ratio_of(competitors),
        has_unequal_trials=any(len(values) > len(seeds) for values in by_title.values()),
    )
    if len(samples) < 2:
        return replace(found, samples={})
    if not seeds:
        return replace(found, missing=UNSHARED)
    if TESTS[name].by_rows:
        return _judge_rows(found, competitors, min(seeds), hits or {})
    return _judge_trials(found, competitors[0].prepared.split, all_pairs)


def choose_test(test: str, split: Split) -> str:
    """Return the name of the test for a split: `test` itself, or the default of the split for "auto".

    Raises
    ------
    HarnessError
        If there is no test of this name.
    """
    chosen = choose({name: name for name in TEST_NAMES}, test, "test")
    if chosen != AUTO:
        return chosen
    return "mcnemar" if is_fixed(split) else "ttest"


def is_fixed(split: Split) -> bool:
    """Return whether a split has the same test rows for every seed."""
    return split.kind in FIXED_SPLITS


def first_shared_records(lines: Iterable[Line], metrics: Sequence[MetricSpec], test: str) -> list[tuple[Record, int]]:
    """Return the records whose saved ranks McNemar's test needs, each with the depth of a metric.

    The test compares one trial: the one with the smallest seed that all lines of a dataset share. Empty if another test
    is used.
    """
    wanted: dict[tuple[str, int], tuple[Record, int]] = {}
    for prepared, competitors in lines_by_dataset(lines).items():
        if not TESTS[choose_test(test, prepared.split)].by_rows:
            continue
        for metric in metrics:
            seeds = shared_seeds(competitors, metric.name)
            if metric.unit != "share" or metric.depth < 1 or not seeds:
                continue
            for line in competitors:
                record = _record_of(line, min(seeds))
                if record is not None:
                    wanted[record.key, metric.depth] = (record, metric.depth)
    return list(wanted.values())


def _judge_trials(found: MetricVerdict, split: Split, all_pairs: bool | None) -> MetricVerdict:
    higher = found.metric.direction == "higher"
    verdict = judge(found.samples, higher=higher, test=found.test, ratio=found.ratio, all_pairs=all_pairs)
    if is_fixed(split):
        # Repeated seeds on one test set are not independent: keep the means, drop the claims.
        return replace(found, verdict=Verdict(verdict.leaders), missing=FIXED)
    if verdict.tested or (not verdict.needed and not verdict.constant):  # equal means: nothing to test
        return replace(found, verdict=verdict)
    return replace(found, verdict=verdict, missing=FEW if verdict.needed else CONSTANT)


def _judge_rows(found: MetricVerdict, competitors: Sequence[Line], seed: int, hits: RowHits) -> MetricVerdict:
    """Return the verdict of a test on the test rows of the trial with this seed."""
    metric = found.metric
    untested = replace(found, verdict=Verdict(find_leaders(found.samples, higher=metric.direction == "higher")))
    if metric.unit != "share" or metric.depth < 1:
        return replace(untested, missing=NO_SHARE)
    samples = {}
    for line in competitors:
        record = _record_of(line, seed)
        if line.title not in found.samples or record is None:
            continue
        row_hits = hits.get((record.key, metric.depth))
        if row_hits is None:
            return replace(untested, missing=NO_RANKS)
        if not _is_share_of(row_hits, record.scores[metric.name]):
            return replace(untested, missing=NO_SHARE)
        samples[line.title] = {row: float(hit) for row, hit in enumerate(row_hits)}
    return replace(found, samples=samples, verdict=judge(samples, higher=True, test=found.test))


def _record_of(line: Line, seed: int) -> Record | None:
    return next((record for record in line.finished if record.seed == seed), None)


def _is_share_of(row_hits: Sequence[bool], score: float | None) -> bool:
    """Return whether a score equals the share of hits or of misses.

    Otherwise the metric is not a mean over test rows, and a test of hits would not be a test of the metric.
    """
    if score is None or not len(row_hits):
        return False
    share = sum(row_hits) / len(row_hits)
    return math.isclose(share, score, abs_tol=1e-9) or math.isclose(1 - share, score, abs_tol=1e-9)


# -- marks -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Marks:
    """The marked cells of a table and their footnotes."""

    cells: frozenset[MarkedCell]
    description: str
    """The meaning of a mark, as the second half of the first footnote."""
    notes: tuple[str, ...] = ()
    """Footnotes on missing verdicts with their reasons, and on detectable differences."""

    def has(self, line: Line, metric: MetricSpec) -> bool:
        """Return whether the cell of a line and a metric is marked."""
        return (line.prepared, line.title, metric.name) in self.cells


def mark_best(
    lines: Iterable[Line],
    columns: Sequence[MetricSpec],
    test: str = AUTO,
    hits: RowHits | None = None,
    *,
    folder: str = "",
) -> Marks:
    """Mark the best learner of each column on each dataset, and every learner that does not differ from it.

    Parameters
    ----------
    lines : iterable of Line
        The lines of the table.
    columns : sequence of MetricSpec
        The metrics of the table.
    test : str, default=AUTO
        A name in `harness.stats.TEST_NAMES`.
    hits : RowHits, optional
        Hits on test rows, for McNemar's test: see `first_shared_records`.
    folder : str, default=""
        The results folder, for the command in a footnote that adds trials.
    """
    cells: set[MarkedCell] = set()
    found: list[tuple[Prepared, MetricVerdict]] = []
    for prepared, competitors in lines_by_dataset(lines).items():
        for metric in columns:
            judged = judge_metric(competitors, metric, test, hits)
            cells.update((prepared, title, metric.name) for title in judged.marked)
            found.append((prepared, judged))
    unmarked = [(prepared, judged) for prepared, judged in found if not judged.marked or judged.missing is None]
    notes = [*missing_notes(unmarked, folder), *_power_notes(found, columns)]
    return Marks(frozenset(cells), _describe_marks([judged for _, judged in found]), tuple(notes))


def _describe_marks(found: Sequence[MetricVerdict]) -> str:
    parts = []
    for name, test in TESTS.items():
        sizes = [judged.n for judged in found if judged.test == name and judged.verdict.tested]
        if sizes:
            unit = "test row of one trial" if test.by_rows else "paired trial"
            plural = "test rows of one trial" if test.by_rows else "paired trials"
            n = counted(max(sizes), unit, plural)
            over = n if min(sizes) == max(sizes) else f"{min(sizes):,} to {n}"
            parts.append(f"{test.description} over {over}")
    text = ""
    if parts:
        text = f"; marked: the best, and all that do not differ from it by {', or '.join(parts)}"
        if any(judged.marked and judged.missing is not None for judged in found):
            text += "; elsewhere the best mean"
    elif any(judged.marked for judged in found):
        needed = max((judged.verdict.needed for judged in found), default=0)
        few = f" (fewer than {needed} paired trials are too few to test)" if needed else ""
        text = f"; marked: the best mean{few}"
    if any(judged.has_unequal_trials for judged in found):
        text += "; learners have unequal trials: marks compare those that all have"
    return text


def missing_notes(found: Iterable[tuple[Prepared, MetricVerdict]], folder: str) -> list[str]:
    """Return one footnote for each reason for a missing verdict, with the metrics and datasets concerned.

    `folder` is the results folder for the command in a footnote; empty if it is unknown.
    """
    by_reason: dict[int, list[tuple[Prepared, MetricVerdict]]] = {}
    for prepared, judged in found:
        if judged.missing is not None:
            by_reason.setdefault(judged.missing, []).append((prepared, judged))
        elif judged.verdict.constant:
            by_reason.setdefault(CONSTANT, []).append((prepared, judged))
    notes = []
    for reason, cases in sorted(by_reason.items(), key=lambda item: item[0]):
        metrics = dict.fromkeys(judged.metric.title or judged.metric.name for _, judged in cases)
        datasets = dict.fromkeys(prepared.dataset for prepared, _ in cases)
        where = f"{', '.join(metrics)} on {_first_few(list(datasets))}"
        notes.append(f"No verdict for {where}: {_explain(reason, [judged for _, judged in cases], folder)}")
    return notes


def _first_few(names: Sequence[str]) -> str:
    if len(names) <= MOST_NAMES + 1:
        return ", ".join(names)
    return f"{', '.join(names[:MOST_NAMES])} and {counted(len(names) - MOST_NAMES, 'other')}"


def _explain(reason: int, cases: Sequence[MetricVerdict], folder: str) -> str:
    if reason == FEW:
        n, needed = min(judged.n for judged in cases), max(judged.verdict.needed for judged in cases)
        return explain_few_trials(n, needed, [folder])
    if reason == CONSTANT:
        pairs = dict.fromkeys(" and ".join(pair) for judged in cases for pair in judged.verdict.constant)
        subject = next(iter(pairs), "learners")
        more = f" (and {counted(len(pairs) - 1, 'more pair')})" if len(pairs) > 1 else ""
        return f"{subject}{more} differ by the same amount in every trial: there is no variance to test with."
    if reason == NO_RANKS:
        return (
            "the split is fixed, and McNemar's test needs saved ranks and data that are not available here. "
            f"`harness run {folder or 'FOLDER'}/experiment.toml --out NEW_FOLDER` saves them."
        )
    if reason == NO_SHARE:
        return "the split is fixed, and McNemar's test needs a metric that is a share of test rows, such as R1."
    if reason == FIXED:
        return "the split is fixed, and repeated seeds on one test set are not independent trials (--test mcnemar)."
    return "no trial is shared by all learners."


def explain_few_trials(n: int, needed: int, folders: Iterable[str]) -> str:
    """Return a sentence on missing trials with the commands that add them to results folders."""
    trials = max(needed, ENOUGH_TRIALS)
    places = [folder or "FOLDER" for folder in folders]
    commands = [f"`harness run {place}/experiment.toml --out {place} --trials {trials}`" for place in places]
    verb = "adds" if len(commands) == 1 else "add"
    return f"{counted(n, 'paired trial')}, {needed} are needed. {' and '.join(commands)} {verb} trials."


def _power_notes(found: Sequence[tuple[Prepared, MetricVerdict]], columns: Sequence[MetricSpec]) -> list[str]:
    """Return a footnote on detectable differences in the first column where some learner ties with the best."""
    notes: dict[str, list[float]] = {}
    for _, judged in found:
        if not judged.verdict.tested or judged.metric.unit != "share" or TESTS[judged.test].marks_untested:
            continue
        leader = judged.verdict.leaders[0]
        equal = [title for title in judged.verdict.best if title not in judged.verdict.leaders]
        sizes = [size for title in equal if (size := judged.detectable(leader, title)) is not None]
        if sizes:
            notes.setdefault(judged.metric.name, []).append(statistics.median(sizes))
    first = next((metric for metric in columns if metric.name in notes), None)
    if first is None:
        return []
    name, sizes = first.title or first.name, notes[first.name]
    low, high = 100 * min(sizes), 100 * max(sizes)
    points = f"{low:.1f}" if f"{low:.1f}" == f"{high:.1f}" else f"{low:.1f} to {high:.1f}"
    return [f"Differences in {name} below about {points} points may go undetected with these trials (80% power)."]


# -- power before a run ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlannedComparison:
    """The size of a comparison that has not been run."""

    dataset: str
    split: Split
    learners: int
    trials: int
    n_train: int
    """Number of training rows of a trial."""
    n_test: int


def describe_expected_power(planned: Iterable[PlannedComparison], test: str = AUTO) -> list[str]:
    """Return notes on the smallest difference in R1 that a run is likely to detect.

    The estimate uses the number of test rows and the test that the run will use. A single learner has no note, and
    neither have the tests "sign" and "wins", whose power is not computed.
    """
    found: dict[str, str] = {}
    few: list[PlannedComparison] = []
    for one in planned:
        if one.learners < 2 or TESTS[choose_test(test, one.split)].marks_untested:
            continue
        size = expected_detectable_difference(
            one.n_train,
            one.n_test,
            one.trials,
            math.comb(one.learners, 2),
            fixed=is_fixed(one.split),
            folds=bool(one.split.folds),
        )
        if size is None:
            few.append(one)
        else:
            found[one.dataset] = f"{100 * size:.1f}"
    notes = []
    if found:
        sizes = _first_few([f"{points} on {dataset}" for dataset, points in found.items()])
        notes.append(f"Detectable differences in R1, in points (80% power, estimated from the test rows): {sizes}.")
    if few:
        where, trials = _first_few([one.dataset for one in few]), counted(max(one.trials for one in few), "trial")
        verb = "is" if trials == "1 trial" else "are"
        notes.append(f"{trials} {verb} too few for a verdict on {where}: --trials {ENOUGH_TRIALS} gives one.")
    return notes
