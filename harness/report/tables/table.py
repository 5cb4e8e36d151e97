"""Make a comparison table of lines, with learners as rows and metrics as columns, or describe one line in detail."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.errors import HarnessError
from harness.host.contract import MetricSpec
from harness.report.conditions import comparable
from harness.report.lines import Line, flat_first, has_several_representations, lines_by_dataset, notices_of
from harness.report.tables.footnotes import notes_on
from harness.report.tables.layout import format_value
from harness.report.tables.render import find_format, heading_of, table_fragment, table_frame
from harness.report.tables.select import best_lines, sort_lines
from harness.report.verdicts import Marks, RowHits, mark_best
from harness.stats import AUTO, SPREADS, Spread, Summary
from harness.syntax.expression import describe_params
from harness.system.machine import Machine
from harness.text import choose, counted, printable

if TYPE_CHECKING:
    import pandas as pd

    from harness.records.record import Record

ROW_HEADINGS = {"dataset": "learner", "learner": "dataset"}
"""The heading of the first column, by the value of `--by`."""


@dataclass(frozen=True)
class Cell:
    """One metric of one learner on one dataset. Without a summary, `failed` has the status if all trials failed."""

    summary: Summary | None
    failed: str = ""
    best: bool = False
    spread: float | None = None
    """The number after the ±: the standard deviation, or half the width of an interval."""


@dataclass(frozen=True)
class Row:
    """A row of the table."""

    title: str
    kind: str
    trials: str
    cells: tuple[Cell, ...]
    representation: str = ""
    """Empty if no dataset of the table has several representations."""

    @property
    def facts(self) -> dict[str, str]:
        """The cells between the title and the metrics, by heading."""
        facts = {"kind": self.kind, "trials": self.trials}
        return {"representation": self.representation, **facts} if self.representation else facts


@dataclass(frozen=True)
class Group:
    """Rows of one dataset, or of one learner."""

    title: str
    detail: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class ComparisonTable:
    """A comparison table, ready to be rendered in any format. Displays itself in a notebook."""

    columns: tuple[MetricSpec, ...]
    row_heading: str
    groups: tuple[Group, ...]
    footnotes: tuple[str, ...]

    def render(self, format: str = "terminal") -> str:  # noqa: A002 - the name of the command-line option
        """Return the table as text in a format of `harness.report.tables.render.FORMATS`."""
        return find_format(format).render_table(self)

    def __str__(self) -> str:
        return self.render()

    def _repr_html_(self) -> str:
        return table_fragment(self)

    def to_frame(self) -> pd.DataFrame:
        """Return a data frame with mean, `_sd`, `_n` and `_best` of each metric for each row."""
        return table_frame(self)


def make_table(
    lines: Iterable[Line],
    metrics: Sequence[MetricSpec],
    *,
    by: str = "dataset",
    mixed_machines: bool = False,
    machines: Mapping[str, Machine] | None = None,
    test: str = AUTO,
    hits: RowHits | None = None,
    spread: str = "sd",
    sort: MetricSpec | None = None,
    best: MetricSpec | None = None,
    notes: Sequence[str] = (),
    folder: str = "",
) -> ComparisonTable:
    """Make the comparison table of some lines.

    Parameters
    ----------
    lines : iterable of Line
        The lines to compare.
    metrics : sequence of MetricSpec
        The columns.
    by : str, default="dataset"
        Group rows by "dataset" or by "learner".
    mixed_machines : bool, default=False
        Whether to show times that were measured on different machines or with different threads.
    machines : mapping of str to Machine, optional
        Machines by the id that records name.
    test : str, default=AUTO
        A name in `harness.stats.TEST_NAMES`: the test that decides which cells are marked.
    hits : RowHits, optional
        Hits on test rows, for McNemar's test: see `harness.report.verdicts.first_shared_records`.
    spread : str, default="sd"
        A name in `harness.stats.SPREADS`: the number after the ±.
    sort : MetricSpec, optional
        Order rows by this metric. By default flat learners come before trees.
    best : MetricSpec, optional
        Show only the best line of each dataset by this metric, and lines that do not differ from it significantly.
        Marks still compare all lines.
    notes : sequence of str, default=()
        Additional footnotes.
    folder : str, default=""
        The results folder, for footnotes that give a command.

    Raises
    ------
    HarnessError
        Without lines, if a name is unknown, or if `sort` or `best` is a time that is not comparable.
    """
    lines = list(lines)
    if not lines:
        raise HarnessError("there are no records for a table", next_step="`harness run ... --out FOLDER` adds some.")
    row_heading = choose(ROW_HEADINGS, by, "table by")
    chosen_spread = choose(SPREADS, spread, "spread")
    machines = machines or {}
    chosen_by = [metric for metric in (sort, best) if metric is not None]
    found = comparable(lines, [*metrics, *chosen_by], machines, mixed_machines=mixed_machines)
    for metric in chosen_by:
        if metric not in found.metrics:
            raise HarnessError(f"learners cannot be sorted by {metric.name}: {found.notes[0]}")
    lines = found.lines
    columns = tuple(metric for metric in metrics if metric in found.metrics)
    marks = mark_best(flat_first(lines), columns, test, hits, folder=folder)
    footnotes = [*found.notes, f"{chosen_spread.description}{marks.description}.", *marks.notes]
    footnotes += [*notes_on(lines, columns, machines), *notes]
    shown = flat_first(lines) if sort is None else sort_lines(lines, sort)
    if best is not None:
        shown = best_lines(shown, best, test, hits)
        footnotes.append(f"Shown: the best by {heading_of(best)}, {len(shown)} of {counted(len(lines), 'line')}.")
    groups = _group_rows(shown, columns, marks, by, chosen_spread)
    return ComparisonTable(columns, row_heading, groups, tuple(footnotes))


def _group_rows(
    lines: Sequence[Line], columns: Sequence[MetricSpec], marks: Marks, by: str, spread: Spread
) -> tuple[Group, ...]:
    found: dict[tuple[str, str], list[Row]] = {}
    preparations = Counter(prepared.dataset for prepared in lines_by_dataset(lines))
    several = has_several_representations(lines)
    for line in lines:
        if by == "dataset":
            heading, title = (line.dataset, line.detail), line.name if several else line.title
        else:
            heading, title = (line.name if several else line.title, line.kind), line.dataset
            if preparations[line.dataset] > 1:
                title = f"{line.dataset} [{line.detail}]"
        row = _make_row(title, line, columns, marks, spread)
        if several:
            row = replace(row, representation=line.representation)
        found.setdefault(heading, []).append(row)
    return tuple(Group(title, detail, tuple(rows)) for (title, detail), rows in found.items())


def _make_row(title: str, line: Line, columns: Sequence[MetricSpec], marks: Marks, spread: Spread) -> Row:
    done, total = len(line.finished), len(line.records)
    failed = _describe_failures(line)
    cells = []
    for metric in columns:
        if not done:
            cells.append(Cell(None, failed))
        else:
            cells.append(_make_cell(line, metric, marks, spread))
    if done == total:
        trials = str(total)
    elif done:
        trials = f"{done}/{total}, {failed}"
    else:
        trials = f"0/{total}"
    return Row(title, line.kind, trials, tuple(cells))


def _make_cell(line: Line, metric: MetricSpec, marks: Marks, spread: Spread) -> Cell:
    summary = line.summary(metric.name)
    if summary is None:
        return Cell(None)
    half_width = spread.half_width(summary, metric.unit, _test_rows(line))
    return Cell(summary, best=marks.has(line, metric), spread=half_width)


def _describe_failures(line: Line) -> str:
    """Return the numbers of failed trials by status, such as "TIMEOUT 2/3"."""
    counts = Counter(record.status.upper() for record in line.records if record.status != "ok")
    return ", ".join(f"{status} {count}/{len(line.records)}" for status, count in counts.items())


def _test_rows(line: Line) -> int | None:
    """Return the number of test rows of the first trial that records it."""
    for record in line.finished:
        if record.n_test:
            return record.n_test
    return None


# -- one line in detail ----------------------------------------------------------------------------------------------


INDENT = "    "


def describe_line(line: Line, metrics: Sequence[MetricSpec], machines: Mapping[str, Machine]) -> str:
    """Return a text on a line: common facts, then each failed trial, then each finished trial."""
    failed = [record for record in line.records if record.status != "ok"]
    parts = [_describe_common(line, machines, len(failed))]
    seen: dict[str, int] = {}
    for record in failed:
        parts.append(_describe_failure(record, seen))
    for record in line.finished:
        parts.append(_describe_success(record, metrics))
    return "\n\n".join(parts) + "\n"


def _describe_common(line: Line, machines: Mapping[str, Machine], n_failed: int) -> str:
    first = line.records[0]
    outcome = f"{counted(len(line.records), 'trial')}, {n_failed} of them failed"
    facts = {
        "learner": f"{first.learner} ({line.kind}) of {first.learner_distribution} {first.learner_version}",
        "code": first.code,
        "parameters": describe_params(line.params),
        "trials": outcome if n_failed else counted(len(line.records), "trial"),
    }
    lines = [f"{line.title} on {line.dataset}  ({line.detail})", ""]
    for name, described in (facts | _conditions_of(line.records, machines)).items():
        if described:
            lines += textwrap.wrap(f"{name:<12}{described}", 118, subsequent_indent=" " * 12)
    return "\n".join(lines)


def _conditions_of(records: Sequence[Record], machines: Mapping[str, Machine]) -> dict[str, str]:
    """Return versions, commits and machines of some trials, each with all its values."""
    found: dict[str, dict[str, None]] = {"versions": {}, "commit": {}, "machine": {}}
    for record in records:
        versions = ", ".join(f"{name} {version}" for name, version in record.versions.items())
        found["versions"][versions] = None
        found["commit"][record.commit or ""] = None
        machine = machines.get(record.machine, Machine(record.machine))
        found["machine"][f"{machine}, {counted(record.threads, 'thread')}"] = None
    return {name: "; ".join(filter(None, described)) for name, described in found.items()}


def _describe_failure(record: Record, seen: dict[str, int]) -> str:
    """Return status, message, traceback and output of a failed trial.

    A traceback that was already shown is replaced by the seed of that trial; `seen` keeps these seeds.
    """
    lines = [f"seed {record.seed}: {record.status.upper()}: {printable(record.message)}"]
    if record.traceback in seen:
        lines.append(f"{INDENT}the traceback is that of seed {seen[record.traceback]}")
    elif record.traceback:
        seen[record.traceback] = record.seed
        lines.append(_indented(record.traceback))
    if record.output.strip():
        lines += [f"{INDENT}it printed:", _indented(record.output)]
    return "\n".join([*lines, *_describe_tuning(record)])


def _describe_success(record: Record, metrics: Sequence[MetricSpec]) -> str:
    values = []
    for metric in metrics:
        value = record.scores.get(metric.name)
        if value is not None:
            values.append(f"{metric.title or metric.name} {format_value(Summary(value, None, 1), metric)}")
    lines = [f"seed {record.seed}: {', '.join(values) or 'ok'}"]
    if record.message:
        lines.append(f"{INDENT}{printable(record.message)}")
    if record.stage_seconds is not None:
        lines.append(f"{INDENT}conversion of rows before training: {record.stage_seconds:.3g} s")
    lines += [f"{INDENT}{printable(notice)}" for notice in notices_of(record)]
    return "\n".join([*lines, *_describe_tuning(record)])


def _describe_tuning(record: Record) -> list[str]:
    """Return a text for each candidate of tuning with its score, and one for the choice."""
    lines = []
    for candidate in record.tuning:
        result = f"{candidate.score:.4f}" if candidate.score is not None else printable(candidate.trouble)
        lines.append(f"{INDENT}tuning tried {describe_params(candidate.params)}: {result}")
    if record.tuned:
        lines.append(f"{INDENT}tuning chose {describe_params(record.tuned)}")
    return lines


def _indented(text: str) -> str:
    return textwrap.indent(printable(text).rstrip(), f"{INDENT}| ", lambda _: True)
