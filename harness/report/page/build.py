"""Build the content of the page from lines: rows, verdicts, failures, tuning, confusions, figures and ranks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING

from harness.errors import HarnessError
from harness.host.contract import MetricSpec
from harness.report.answer import Pick, describe_verdict, pick_learners
from harness.report.conditions import comparable
from harness.report.figures.drawing import Panel, Panels, Series
from harness.report.figures.kinds import FIGURE_KINDS, FigureRequest
from harness.report.figures.panels import SIZES, AnswersByTrial, swept_parameters
from harness.report.lines import Line, Prepared, flat_first, notices_of, rank_learners
from harness.report.page.document import (
    Numbers,
    PageConfusion,
    PageDataset,
    PageFailure,
    PageFigure,
    PageGrid,
    PageLine,
    PageMetric,
    PagePick,
    PageRanks,
    PageSeries,
    PageTuning,
    Part,
)
from harness.report.tables.footnotes import failure_notes
from harness.report.tables.layout import format_value
from harness.report.tables.render import Grid, heading_of
from harness.report.tables.table import Cell, ComparisonTable, Row, make_table
from harness.report.verdicts import RowHits
from harness.stats import AUTO, Summary
from harness.syntax.expression import describe_params
from harness.system.machine import Machine
from harness.text import counted, in_a_line

if TYPE_CHECKING:
    from harness.records.record import Candidate, Record

FIGURES = 4
"""Significant digits of values of single trials and of points in figures."""
MEAN_FIGURES = (5, 8)
"""Significant digits of a mean: the first number that gives the same text as all digits is used."""


def rounded(value: float, figures: int = FIGURES) -> float:
    """Return a number rounded to `figures` significant digits."""
    return float(f"{value:.{figures}g}")


def rounded_or_none(value: float | None, figures: int = FIGURES) -> float | None:
    """Return a rounded number, or None."""
    if value is None:
        return None
    return rounded(value, figures)


def rounded_all(values: Iterable[float]) -> tuple[float, ...]:
    """Return the values with as many digits as the page shows."""
    return tuple(map(rounded, values))


def shortened(summary: Summary, metric: MetricSpec) -> Summary:
    """Return mean and spread with as few digits as give the same text as in the terminal table."""
    words = format_value(summary, metric)
    for figures in MEAN_FIGURES:
        short = Summary(rounded(summary.mean, figures), rounded_or_none(summary.sd, figures), summary.n)
        if format_value(short, metric) == words:
            return short
    return summary


LONGEST_TEXT = 4000
"""Number of characters shown from the end of a traceback or output; records have the full text."""


def facts_of(line: Line, machines: Mapping[str, Machine]) -> dict[str, str]:
    """Return parameters, origin, machines and versions of a line as texts, with all values if trials differ."""
    configuration = line.configuration
    facts = {
        "learner": {configuration.learner: None},
        "parameters": {configuration.params_text: None},
        "tuning": {configuration.tuned: None},
        "from": {configuration.origin: None},
        "threads": {},
        "machine": {},
        "versions": {},
    }
    for record in line.records:
        facts["threads"][str(record.threads)] = None
        facts["machine"][str(machines.get(record.machine, Machine(record.machine)))] = None
        facts["versions"][_describe_versions(record)] = None
    return {name: "; ".join(words) for name, words in facts.items()}


def _describe_versions(record: Record) -> str:
    return ", ".join(map(" ".join, record.versions.items()))


def notices_on(line: Line) -> tuple[str, ...]:
    """Return each warning of a line once, with the number of trials that gave it."""
    often: Counter[str] = Counter()
    for record in line.finished:
        often.update(notices_of(record))
    notes = []
    for notice, count in often.items():
        notes.append(f"{notice} ({count} of {counted(len(line.finished), 'trial')})")
    return tuple(notes)


def failures_of(line: Line) -> tuple[PageFailure, ...]:
    """Return the failures of a line, grouped by status, message, traceback and output."""
    seeds: dict[tuple[str, str, str, str], list[int]] = {}
    for record in line.records:
        if record.status != "ok":
            way = record.status, record.message, _end_of(record.traceback), _end_of(record.output)
            seeds.setdefault(way, []).append(record.seed)
    failures = []
    for ended, of_way in seeds.items():
        failures.append(PageFailure(tuple(of_way), *ended))
    return tuple(failures)


def _end_of(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    return f"...{text[-LONGEST_TEXT:]}"


def tunings_of(line: Line) -> tuple[PageTuning, ...]:
    """Return the candidates and the choice of each tuned trial."""
    found = []
    for record in line.finished:
        if record.tuning:
            tried = tuple(map(_describe_candidate, record.tuning))
            found.append(PageTuning(record.seed, describe_params(record.tuned), tried))
    return tuple(found)


def _describe_candidate(candidate: Candidate) -> tuple[str, float | None, str]:
    return describe_params(candidate.params), rounded_or_none(candidate.score), candidate.trouble


MOST_CONFUSIONS = 12
LONGEST_NAME = 120


def confusions_of(line: Line, answers: AnswersByTrial) -> tuple[PageConfusion, ...]:
    """Return the most frequent confusions of a line, over all trials with saved ranks."""
    rows: Counter[tuple[str, str]] = Counter()
    of: Counter[str] = Counter()
    for record in line.finished:
        by_class = answers[record.key].by_class if record.key in answers else None
        if by_class is not None:
            of.update(by_class.class_rows)
            for confusion in by_class.confusions:
                rows[confusion.truth, confusion.answer] += confusion.rows
    found = []
    for (truth, answer), count in rows.most_common(MOST_CONFUSIONS):
        found.append(PageConfusion(in_a_line(truth, LONGEST_NAME), in_a_line(answer, LONGEST_NAME), count, of[truth]))
    return tuple(found)


def describe_unread(lines: Sequence[Line], answers: AnswersByTrial) -> str:
    """Return a sentence on trials without saved ranks or data; empty if there are none."""
    finished = unread = 0
    for line in lines:
        for record in line.finished:
            finished += 1
            unread += record.key not in answers
    if not unread:
        return ""
    which = "all trials" if unread == finished else f"{unread:,} of {counted(finished, 'trial')}"
    return (
        f"No confusions and confidence curves for {which}: saved ranks or data are missing on this machine. Make the "
        "page where both are available."
    )


def figures_of(lines: Sequence[Line], metrics: Sequence[MetricSpec], answers: AnswersByTrial) -> Iterable[PageFigure]:
    """Yield all figures for which the lines have data."""
    for kind, x, judged in _figure_choices(lines, metrics):
        for metric in judged:
            try:
                drawing = FIGURE_KINDS[kind].draw(FigureRequest(lines, metric, x, answers=answers))
            except HarnessError:  # the lines have no data for this kind: leave it out
                continue
            if isinstance(drawing, Panels):
                for panel in drawing.panels:
                    yield _page_figure(kind, metric, panel)


def _figure_choices(
    lines: Sequence[Line], metrics: Sequence[MetricSpec]
) -> Iterable[tuple[str, str, Sequence[MetricSpec]]]:
    """Yield each kind of figure with each choice of x and its metrics."""
    yield "curve", "", metrics
    for parameter in swept_parameters(lines):
        yield "sweep", parameter, metrics
    for size in SIZES:
        yield "scaling", size, metrics
    for name, kind in FIGURE_KINDS.items():
        if kind.shows_answers:
            yield name, "", metrics[:1]  # these figures show accuracy and do not depend on the metric


def _page_figure(kind: str, metric: MetricSpec, panel: Panel) -> PageFigure:
    return PageFigure(
        kind=kind,
        metric=metric.name,
        title=panel.title,
        x_title=panel.x_title,
        y_title=panel.y_title,
        x_scale=panel.x_scale,
        y_scale=panel.y_scale,
        x_unit=panel.x_unit,
        y_unit=panel.y_unit,
        integer_x=panel.integer_x,
        series=tuple(map(_page_series, panel.series)),
    )


def _page_series(one: Series) -> PageSeries:
    numbers = rounded_all(one.x), rounded_all(one.y), rounded_all(one.spread)
    return PageSeries(one.label, one.kind, one.note, *numbers)


def ranks_of_learners(lines: Sequence[Line], metrics: Sequence[MetricSpec]) -> Iterable[PageRanks]:
    """Yield average ranks by each metric that has enough learners and datasets."""
    for metric in metrics:
        left_out = _not_everywhere(lines, metric)
        ranked = [line for line in lines if line.title not in left_out]
        try:
            found = rank_learners(ranked, metric)
        except HarnessError:
            continue
        yield PageRanks(metric.name, found.ranks, found.difference, found.n_datasets, found.p_value, tuple(left_out))


def _not_everywhere(lines: Sequence[Line], metric: MetricSpec) -> dict[str, None]:
    """Return the learners without a value on a dataset where others have one."""
    finished: dict[str, set[Prepared]] = {}
    everywhere: set[Prepared] = set()
    for line in lines:
        on_data = finished.setdefault(line.title, set())
        if line.values(metric.name):
            on_data.add(line.prepared)
            everywhere.add(line.prepared)
    lacking = [title for title, on_data in finished.items() if on_data < everywhere]
    return dict.fromkeys(lacking)


GroupName = tuple[str, str]
"""A group of the table: the name of a dataset and the description of its preparation."""


@dataclass(frozen=True)
class PartRequest:
    """The input of `make_part`."""

    title: str
    lines: Sequence[Line]
    shown: Sequence[MetricSpec]
    """Columns that are shown first."""
    more: Sequence[MetricSpec]
    """Further columns to choose from."""
    machines: Mapping[str, Machine]
    answers: AnswersByTrial
    """For confusions, and for the figures that show saved ranks."""
    published: Sequence[Grid] = ()
    notes: Sequence[str] = ()
    test: str = AUTO
    hits: RowHits | None = None
    """Hits on test rows, for McNemar's test."""
    folder: str = ""
    """The results folder, for footnotes that give a command."""
    mixed_machines: bool = False


def make_part(request: PartRequest) -> Part:
    """Return a part of the page; rows, marks and notes are those of `harness table` for the same lines."""
    metrics = [*request.shown, *request.more]
    compared = comparable(flat_first(request.lines), metrics, request.machines, mixed_machines=request.mixed_machines)
    lines = compared.lines
    table = make_table(
        flat_first(request.lines),
        metrics,
        mixed_machines=request.mixed_machines,
        machines=request.machines,
        test=request.test,
        hits=request.hits,
        notes=request.notes,
        folder=request.folder,
    )
    shown = [metric for metric in request.shown if metric in table.columns]
    by_group = _lines_by_group(lines)
    return Part(
        title=request.title,
        headline=_headline_of(lines),
        metrics=tuple(map(_page_metric, table.columns)),
        shown=tuple(map(attrgetter("name"), shown)),
        datasets=tuple(_datasets_of(table, by_group, shown, request)),
        lines=tuple(_page_lines(table, by_group, request)),
        figures=tuple(figures_of(lines, shown, request.answers)),
        ranks=tuple(ranks_of_learners(lines, shown)),
        notes=_notes_of(table, lines),
        published=tuple(map(_page_grid, request.published)),
        unread=describe_unread(lines, request.answers),
    )


def _notes_of(table: ComparisonTable, lines: Sequence[Line]) -> tuple[str, ...]:
    """Return the footnotes of the table without failures, which the page shows with their tracebacks."""
    shown_above = set(failure_notes(lines))
    return tuple(note for note in table.footnotes if note not in shown_above)


def _page_metric(metric: MetricSpec) -> PageMetric:
    return PageMetric(metric.name, heading_of(metric), metric.summary, metric.unit, metric.direction)


def _page_grid(grid: Grid) -> PageGrid:
    return PageGrid(grid.title, grid.columns, grid.rows, grid.footnotes)


def _headline_of(lines: Sequence[Line]) -> str:
    """Return a sentence on the learners, datasets and trials compared."""
    learners, datasets = set(), set()
    trials = failed = 0
    for line in lines:
        learners.add(line.title)
        datasets.add(line.dataset)
        trials += len(line.records)
        failed += len(line.records) - len(line.finished)
    text = f"{counted(len(learners), 'learner')} on {counted(len(datasets), 'dataset')}, {counted(trials, 'trial')}"
    if not failed:
        return f"{text}."
    return f"{text}, {failed:,} of them failed."


# -- datasets --------------------------------------------------------------------------------------------------------


def _datasets_of(
    table: ComparisonTable,
    by_group: Mapping[GroupName, Sequence[Line]],
    shown: Sequence[MetricSpec],
    request: PartRequest,
) -> Iterable[PageDataset]:
    """Yield a dataset for each group of the table, with the verdict and the picks by the first shown metric."""
    often = Counter(group.title for group in table.groups)
    for group in table.groups:
        competitors = by_group[group.title, group.detail]
        verdict: tuple[str, ...] = ()
        picks: tuple[Pick, ...] = ()
        if shown:
            verdict = describe_verdict(competitors, shown[0], request.test, request.hits)
            picks = pick_learners(competitors, shown, request.more)
        title = group.title
        if often[title] > 1:
            title = f"{title} ({group.detail})"
        yield PageDataset(group.title, title, group.detail, verdict, tuple(map(_page_pick, picks)))


def _page_pick(pick: Pick) -> PagePick:
    return PagePick(pick.need, pick.line.title, pick.line.kind, pick.reason, pick.quality, dict(pick.costs))


# -- rows ------------------------------------------------------------------------------------------------------------


def _lines_by_group(lines: Iterable[Line]) -> dict[GroupName, list[Line]]:
    """Return the lines of each group of the table, in the order of its rows."""
    found: dict[GroupName, list[Line]] = {}
    for line in lines:
        found.setdefault((line.dataset, line.detail), []).append(line)
    return found


def _page_lines(
    table: ComparisonTable, by_group: Mapping[GroupName, Sequence[Line]], request: PartRequest
) -> Iterable[PageLine]:
    """Yield a line for each row of the table, dataset by dataset."""
    for place, group in enumerate(table.groups):
        for line, row in zip(by_group[group.title, group.detail], group.rows, strict=True):
            yield _page_line(line, row, place, table.columns, request)


def _page_line(line: Line, row: Row, place: int, columns: Sequence[MetricSpec], request: PartRequest) -> PageLine:
    means: list[float | None] = []
    spreads: list[float | None] = []
    best: list[int] = []
    failed = ""
    for position, (cell, metric) in enumerate(zip(row.cells, columns, strict=True)):
        mean, spread = _numbers_in(cell, metric)
        means.append(mean)
        spreads.append(spread)
        if cell.best:
            best.append(position)
        failed = cell.failed  # the same in all cells of a line; empty if a trial finished
    return PageLine(
        title=line.title,
        family=line.family,
        kind=line.kind,
        representation=line.representation,
        dataset=place,
        trials=row.trials,
        failed=failed,
        seeds=tuple(map(attrgetter("seed"), line.finished)),
        values=tuple(_values_of(line, metric) for metric in columns),
        means=tuple(means),
        spreads=tuple(spreads),
        best=tuple(best),
        facts=facts_of(line, request.machines),
        notices=notices_on(line),
        failures=failures_of(line),
        tuning=tunings_of(line),
        confusions=confusions_of(line, request.answers),
    )


def _numbers_in(cell: Cell, metric: MetricSpec) -> tuple[float | None, float | None]:
    """Return mean and spread of a cell; None for each that is missing."""
    if cell.summary is None:
        return None, None
    short = shortened(replace(cell.summary, sd=cell.spread), metric)
    return short.mean, short.sd


def _values_of(line: Line, metric: MetricSpec) -> Numbers:
    """Return a value for each finished trial; empty if no trial has one."""
    by_seed = line.values(metric.name)
    if not by_seed:
        return ()
    return tuple(rounded_or_none(by_seed.get(record.seed)) for record in line.finished)
