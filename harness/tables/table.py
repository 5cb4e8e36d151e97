"""Lines -> Table: rows are learners, flat first, grouped by data set; columns are metrics. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from harness.choices import choose
from harness.contract import MetricSpec
from harness.errors import HarnessError
from harness.groups import Line, flat_first, has_several_representations, rivals_by_data
from harness.machine import Machine
from harness.stats import SPREADS, Spread, Summary
from harness.tables.choosing import best_lines, sorted_lines
from harness.tables.conditions import comparable
from harness.tables.foot import notes_on
from harness.tables.formats import find_format
from harness.tables.marks import Marks, mark_best
from harness.tables.render_html import table_fragment
from harness.wording import counted

if TYPE_CHECKING:
    import pandas as pd  # at run time only where a frame is asked for

ROW_HEADINGS = {"dataset": "learner", "learner": "data set"}
"""What rows are, by what groups them."""


@dataclass(frozen=True)
class Cell:
    """One metric of one learner on one data set; without a summary, `failed` or nothing at all."""

    summary: Summary | None
    failed: str = ""
    best: bool = False
    spread: float | None = None
    """What stands behind the ±: the standard deviation, or half of an interval."""


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    title: str
    kind: str
    trials: str
    cells: tuple[Cell, ...]
    representation: str = ""
    """What the learner sees of the data, where that is not the same in all of the table."""

    @property
    def facts(self) -> dict[str, str]:
        """What stands between its title and the metrics, by heading."""
        facts = {"kind": self.kind, "trials": self.trials}
        return {"representation": self.representation, **facts} if self.representation else facts


@dataclass(frozen=True)
class Group:
    """Rows that belong together, best marked among them."""

    title: str
    detail: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Table:
    """All that a format needs; shows itself in a notebook."""

    columns: tuple[MetricSpec, ...]
    row_heading: str
    groups: tuple[Group, ...]
    foot: tuple[str, ...]

    def render(self, format: str = "terminal") -> str:  # noqa: A002 - the command line's own word for it
        """The table as text, in one of `harness.tables.formats.FORMATS`."""
        return find_format(format).render_table(self)

    def __str__(self) -> str:
        return self.render()

    def _repr_html_(self) -> str:
        return table_fragment(self)

    def to_frame(self) -> pd.DataFrame:
        """A row for each row: for each metric its mean, `_sd`, `_n` and `_best`."""
        from harness.tables.frame import table_frame  # noqa: PLC0415 (brings pandas, which only frames need)

        return table_frame(self)


def make_table(
    lines: Iterable[Line],
    metrics: Sequence[MetricSpec],
    *,
    by: str = "dataset",
    mixed_machines: bool = False,
    machines: Mapping[str, Machine] | None = None,
    test: str = "sign",
    spread: str = "sd",
    sort: MetricSpec | None = None,
    best: MetricSpec | None = None,
    notes: Sequence[str] = (),
) -> Table:
    """The comparison table of some lines with these columns; by `sort`, or flat learners before trees.

    `by` is a name in ROW_HEADINGS, `test` and `spread` are names in `harness.stats.TESTS` and `SPREADS`. With
    `best`, only lines are shown that are the best by it or cannot be told from it; marks compare all. `notes` come last
    in its foot: what a reader must know and no record can tell.
    """
    lines = list(lines)
    if not lines:
        raise HarnessError("there are no records to make a table of")
    row_heading = choose(ROW_HEADINGS, by, "table by")
    chosen_spread = choose(SPREADS, spread, "spread")
    machines = machines or {}
    chosen_by = [metric for metric in (sort, best) if metric is not None]
    found = comparable(lines, [*metrics, *chosen_by], machines, mixed_machines=mixed_machines)
    for metric in chosen_by:
        if metric not in found.metrics:
            raise HarnessError(f"lines cannot be ordered by {metric.name}: {found.told[0]}")
    lines = found.lines
    columns = tuple(metric for metric in metrics if metric in found.metrics)
    foot = list(found.told)
    marks = mark_best(flat_first(lines), columns, test)
    foot += [f"{chosen_spread.words}{marks.words}.", *notes_on(lines, columns, machines), *notes]
    shown = flat_first(lines) if sort is None else sorted_lines(lines, sort)
    if best is not None:
        shown = best_lines(shown, best, test)
        foot.append(f"Shown: the best by {best.title or best.name}, {len(shown)} of {counted(len(lines), 'line')}.")
    groups = _group_rows(shown, columns, marks, by, chosen_spread)
    return Table(columns, row_heading, groups, tuple(foot))


def _group_rows(
    lines: Sequence[Line], columns: Sequence[MetricSpec], marks: Marks, by: str, spread: Spread
) -> tuple[Group, ...]:
    found: dict[tuple[str, str], list[Row]] = {}
    preparations = Counter(prepared.dataset for prepared in rivals_by_data(lines))
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
    """How the trials failed that did, and how many of all."""
    counts = Counter(record.status.upper() for record in line.records if record.status != "ok")
    return ", ".join(f"{status} {count}/{len(line.records)}" for status, count in counts.items())


def _test_rows(line: Line) -> int | None:
    """The test rows of the first trial that tells them."""
    for record in line.finished:
        if record.n_test:
            return record.n_test
    return None
