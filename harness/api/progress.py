"""Live progress of a run: a bar at a terminal, plain lines elsewhere, a line that changes in a notebook."""

from __future__ import annotations

import html
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from harness.api.columns import choose_columns
from harness.api.session import Session
from harness.contract import MetricSpec
from harness.progress import Progress, Silence
from harness.record import Record
from harness.stats import Summary
from harness.tables.numbers import format_value
from harness.tables.words import heading_of
from harness.trials.trial import Trial
from harness.wording import in_a_line, printable

MOST_SHOWN = 3
"""Trials that are told of while they run."""
LONGEST_REPRESENTATION = 40
MARKS = {"ok": "[green]✓[/green]", "error": "[red]✗[/red]"}


def choose_progress(wanted: bool, session: Session, metrics: Sequence[str] | None = None) -> Progress:
    """Where this process runs decides how progress is shown."""
    if not wanted:
        return Silence()
    columns = choose_columns(session.catalog, metrics)
    return NotebookProgress(columns) if in_notebook() else TerminalProgress(columns)


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return type(shell).__name__ == "ZMQInteractiveShell"


def tell_record(record: Record, columns: Sequence[MetricSpec]) -> str:
    """What came of a trial, in a few words."""
    if record.status != "ok":
        return f"{record.status.upper()}: {record.message}"
    parts = []
    for metric in columns:
        value = record.scores.get(metric.name)
        if value is not None:
            parts.append(f"{heading_of(metric)} {format_value(Summary(value, None, 1), metric)}")
    return ", ".join(parts)


def few_columns(columns: Sequence[MetricSpec]) -> list[MetricSpec]:
    """Two metrics and one time: what fits into a line."""
    scores = [metric for metric in columns if not metric.timed]
    times = [metric for metric in columns if metric.timed]
    return scores[:2] + times[:1]


def what_of(record: Record | Trial) -> str:
    """Which trial it is; with the representation, since one learner may be run on several of one data set."""
    seen = in_a_line(record.representation, LONGEST_REPRESENTATION)
    return f"{record.label} on {record.dataset} as {seen}, trial {record.number + 1}"


def tell_phase(trial: Trial, phase: str, worker: str = "") -> str:
    """What a trial does now, and where."""
    told = f"{what_of(trial)}: {phase}"
    return f"{worker}: {told}" if worker else told


def few_of(running: Sequence[str]) -> str:
    """What runs, as much of it as fits into a line; of many workers, how many more there are."""
    if len(running) <= MOST_SHOWN:
        return "; ".join(running)
    return f"{'; '.join(running[:MOST_SHOWN])}; and {len(running) - MOST_SHOWN} more"


def _shown(text: str) -> str:
    """A text as the terminal may have it: no mark-up of rich's, nothing that moves the cursor."""
    return escape(printable(text))


class TerminalProgress:
    """Speaks on stderr; the table is for stdout."""

    def __init__(self, columns: Sequence[MetricSpec]) -> None:
        # The bar moves the cursor, which nothing else that is printed may: it has the stream behind the clean one.
        stream = getattr(sys.stderr, "behind", None)
        self.console = Console(file=stream, stderr=True, highlight=False, soft_wrap=True)
        self.columns = few_columns(columns)
        self.bar = Bar(
            BarColumn(24),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
            refresh_per_second=4,  # the bar must not take processor time from the trials
            disable=not self.console.is_terminal,
        )
        self.task = self.bar.add_task("starting", total=None)
        self.total = self.done = 0
        self.running: dict[str, str] = {}
        self.bar.start()

    def say(self, text: str) -> None:
        self.console.print(_shown(text))

    def begin(self, total: int) -> None:
        self.total = total
        self.bar.update(self.task, total=total)

    def on_data(self, name: str) -> None:
        self.say(f"reading data set {name} (kept for the next time)")

    def on_phase(self, trial: Trial, phase: str, worker: str = "") -> None:
        self.running[trial.key] = _shown(tell_phase(trial, phase, worker))
        self._describe()

    def on_record(self, record: Record) -> None:
        self.done += 1
        self.running.pop(record.key, None)
        self._describe()
        self.bar.advance(self.task)
        mark = MARKS.get(record.status, MARKS["error"])
        head = f"{self.done:>{len(str(self.total))}}/{self.total}"
        told = tell_record(record, self.columns)
        self.console.print(f"{mark} {head}  {_shown(what_of(record))}: {_shown(told)}")

    def end(self) -> None:
        self.bar.stop()

    def _describe(self) -> None:
        self.bar.update(self.task, description=few_of(list(self.running.values())))


class NotebookProgress:
    """One line below the cell that changes, and lines that stay for what must be known."""

    def __init__(self, columns: Sequence[MetricSpec]) -> None:
        from IPython.display import HTML, display  # noqa: PLC0415 (only there where there is a notebook)

        self._html = HTML
        self._display: Any = display
        self.columns = few_columns(columns)
        self.total = self.done = 0
        self.last = ""
        self.running: dict[str, str] = {}
        self._line = display(HTML("<i>starting</i>"), display_id=True)

    def say(self, text: str) -> None:
        self._display(self._html(f"<small>{html.escape(text)}</small>"))

    def begin(self, total: int) -> None:
        self.total = total
        self._show()

    def on_data(self, name: str) -> None:
        self.say(f"reading data set {name} (kept for the next time)")

    def on_phase(self, trial: Trial, phase: str, worker: str = "") -> None:
        self.running[trial.key] = tell_phase(trial, phase, worker)
        self._show()

    def on_record(self, record: Record) -> None:
        self.done += 1
        self.running.pop(record.key, None)
        self.last = f"{what_of(record)}: {tell_record(record, self.columns)}"
        if record.status != "ok":
            self.say(self.last)
        self._show()

    def end(self) -> None:
        self.running.clear()
        self._show()

    def _show(self) -> None:
        words = few_of(list(self.running.values())) or self.last
        text = html.escape(f"{self.done} of {self.total}  {words}")
        self._line.update(self._html(f"<progress value={self.done} max={max(self.total, 1)}></progress> {text}"))
