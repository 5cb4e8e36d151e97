"""Lines -> a part of the page: its table, verdicts, notes and figures, as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter

from harness.contract import MetricSpec
from harness.figures.answers import ReadAnswers
from harness.figures.kinds import FindMetric
from harness.groups import Line, flat_first
from harness.machine import Machine
from harness.page.classes import confusions_of, tell_unread
from harness.page.content import Numbers, PageDataset, PageGrid, PageLine, PageMetric, Part
from harness.page.details import facts_of, failures_of, notices_on, tunings_of
from harness.page.figures import figures_of, ranks_of_learners
from harness.page.rounding import rounded_or_none, shortened
from harness.page.verdicts import tell_verdict
from harness.tables.conditions import comparable
from harness.tables.foot import tell_failures
from harness.tables.grid import Grid
from harness.tables.table import Cell, Row, Table, make_table
from harness.tables.words import heading_of
from harness.wording import counted

GroupName = tuple[str, str]
"""A group of the table: a data set and its detail."""


@dataclass(frozen=True)
class PartRequest:
    """What a part is made of."""

    title: str
    lines: Sequence[Line]
    shown: Sequence[MetricSpec]
    """Columns until the reader chooses others."""
    more: Sequence[MetricSpec]
    """What else can be chosen."""
    machines: Mapping[str, Machine]
    find_metric: FindMetric
    read_answers: ReadAnswers
    published: Sequence[Grid] = ()
    notes: Sequence[str] = ()
    test: str = "sign"
    mixed_machines: bool = False


def make_part(asked: PartRequest) -> Part:
    """The part: rows, marks and notes are those of the table that `harness table` prints of the same lines."""
    metrics = [*asked.shown, *asked.more]
    compared = comparable(flat_first(asked.lines), metrics, asked.machines, mixed_machines=asked.mixed_machines)
    lines = compared.lines
    table = make_table(
        flat_first(asked.lines),
        metrics,
        mixed_machines=asked.mixed_machines,
        machines=asked.machines,
        test=asked.test,
        notes=asked.notes,
    )
    shown = [metric for metric in asked.shown if metric in table.columns]
    by_group = _lines_by_group(lines)
    return Part(
        title=asked.title,
        headline=_tell_headline(lines),
        metrics=tuple(map(_page_metric, table.columns)),
        shown=tuple(map(attrgetter("name"), shown)),
        datasets=tuple(_datasets_of(table, by_group, shown, asked.test)),
        lines=tuple(_page_lines(table, by_group, asked)),
        figures=tuple(figures_of(lines, shown, asked.find_metric, asked.read_answers)),
        ranks=tuple(ranks_of_learners(lines, shown)),
        notes=_notes_of(table, lines),
        published=tuple(map(_page_grid, asked.published)),
        unread=tell_unread(lines, asked.read_answers),
    )


def _notes_of(table: Table, lines: Sequence[Line]) -> tuple[str, ...]:
    """What stands below the table, less what failed: a page tells that in a place of its own, with tracebacks."""
    told = set(tell_failures(lines))
    return tuple(note for note in table.foot if note not in told)


def _page_metric(metric: MetricSpec) -> PageMetric:
    return PageMetric(metric.name, heading_of(metric), metric.summary, metric.unit, metric.direction)


def _page_grid(grid: Grid) -> PageGrid:
    return PageGrid(grid.title, grid.columns, grid.rows, grid.foot)


def _tell_headline(lines: Sequence[Line]) -> str:
    """What was compared on what."""
    learners, datasets = set(), set()
    trials = failed = 0
    for line in lines:
        learners.add(line.title)
        datasets.add(line.dataset)
        trials += len(line.records)
        failed += len(line.records) - len(line.finished)
    told = f"{counted(len(learners), 'learner')} on {counted(len(datasets), 'data set')}, {counted(trials, 'trial')}"
    if not failed:
        return f"{told}."
    return f"{told}, {failed:,} of them failed."


# -- data sets -------------------------------------------------------------------------------------------------------


def _datasets_of(
    table: Table, by_group: Mapping[GroupName, Sequence[Line]], shown: Sequence[MetricSpec], test: str
) -> Iterable[PageDataset]:
    """The table's groups, each with its verdict: by the first column, and by the first timed one beside it."""
    timed = [metric for metric in shown[1:] if metric.timed]
    often = Counter(group.title for group in table.groups)
    for group in table.groups:
        verdict: tuple[str, ...] = ()
        if shown:
            verdict = tell_verdict(by_group[group.title, group.detail], shown[0], timed[:1], test)
        title = group.title
        if often[title] > 1:
            title = f"{title} ({group.detail})"
        yield PageDataset(group.title, title, group.detail, verdict)


# -- rows ------------------------------------------------------------------------------------------------------------


def _lines_by_group(lines: Iterable[Line]) -> dict[GroupName, list[Line]]:
    """The lines of each group of the table, in the order of its rows."""
    found: dict[GroupName, list[Line]] = {}
    for line in lines:
        found.setdefault((line.dataset, line.detail), []).append(line)
    return found


def _page_lines(table: Table, by_group: Mapping[GroupName, Sequence[Line]], asked: PartRequest) -> Iterable[PageLine]:
    """A line for each row of the table, in its order: data set by data set."""
    for place, group in enumerate(table.groups):
        for line, row in zip(by_group[group.title, group.detail], group.rows, strict=True):
            yield _page_line(line, row, place, table.columns, asked)


def _page_line(line: Line, row: Row, place: int, columns: Sequence[MetricSpec], asked: PartRequest) -> PageLine:
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
        failed = cell.failed  # of a line that has no finished trial, the same in all cells
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
        facts=facts_of(line, asked.machines),
        notices=notices_on(line),
        failures=failures_of(line),
        tuning=tunings_of(line),
        confusions=confusions_of(line, asked.read_answers),
    )


def _numbers_in(cell: Cell, metric: MetricSpec) -> tuple[float | None, float | None]:
    """Mean and spread, where there are any."""
    if cell.summary is None:
        return None, None
    short = shortened(replace(cell.summary, sd=cell.spread), metric)
    return short.mean, short.sd


def _values_of(line: Line, metric: MetricSpec) -> Numbers:
    """A value for each finished trial; nothing at all where none has one."""
    by_seed = line.values(metric.name)
    if not by_seed:
        return ()
    return tuple(rounded_or_none(by_seed.get(record.seed)) for record in line.finished)
