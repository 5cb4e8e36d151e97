"""Live progress of a run: a bar at a terminal, plain lines elsewhere. Speaks on stderr; the table is for stdout."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from harness.contract import MetricSpec
from harness.experiment.plan import Trial
from harness.record import Record
from harness.stats import Summary
from harness.tables.numbers import format_value

MARKS = {"ok": "[green]✓[/green]", "error": "[red]✗[/red]"}


class RunProgress:
    """Tells what is running and what has finished."""

    def __init__(self, columns: Sequence[MetricSpec]) -> None:
        self.console = Console(stderr=True, highlight=False, soft_wrap=True)
        self.columns = [metric for metric in columns if not metric.timed][:2] + [m for m in columns if m.timed][:1]
        self.bar = Progress(
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

    def __enter__(self) -> RunProgress:
        self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.bar.stop()

    def say(self, text: str) -> None:
        """A line that stays."""
        self.console.print(escape(text))

    def begin(self, total: int) -> None:
        self.total = total
        self.bar.update(self.task, total=total)

    def on_data(self, name: str) -> None:
        self.say(f"reading data set {name} (kept for the next time)")

    def on_phase(self, trial: Trial, phase: str) -> None:
        self.running[trial.key] = escape(f"{trial.label} on {trial.dataset}, trial {trial.number + 1}: {phase}")
        self._describe()

    def on_record(self, record: Record) -> None:
        self.done += 1
        self.running.pop(record.key, None)
        self._describe()
        self.bar.advance(self.task)
        mark = MARKS.get(record.status, MARKS["error"])
        head = f"{self.done:>{len(str(self.total))}}/{self.total}"
        what = f"{record.label} on {record.dataset}, trial {record.number + 1}"
        text = self._scores(record) if record.status == "ok" else f"{record.status.upper()}: {record.message}"
        self.console.print(f"{mark} {head}  {escape(what)}: {escape(text)}")

    def _scores(self, record: Record) -> str:
        parts = []
        for metric in self.columns:
            value = record.scores.get(metric.name)
            if value is not None:
                parts.append(f"{metric.title or metric.name} {format_value(Summary(value, None, 1), metric)}")
        return ", ".join(parts)

    def _describe(self) -> None:
        self.bar.update(self.task, description="; ".join(self.running.values()))
