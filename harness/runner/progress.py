"""Live progress of a run, and its status file.

A terminal shows a bar, a notebook shows a line that is updated, and any other output has plain lines.

`harness status` reads the status file in the results folder. A run replaces the file at most once a second, and removes
it at the end. A killed run leaves it behind.
"""

from __future__ import annotations

import contextlib
import html
import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from harness.experiment.resolve import NullProgress, Progress
from harness.files.atomic import is_locked, read_regular, write_file
from harness.host.catalog import Catalog
from harness.host.contract import MetricSpec
from harness.host.discovery import Session
from harness.records.record import Record
from harness.records.store import LOCK, RECORDS, read_records
from harness.report.tables.layout import format_value
from harness.report.tables.render import heading_of
from harness.report.tables.select import choose_columns
from harness.stats import Summary
from harness.text import in_a_line, printable
from harness.trials.trial import Trial

MOST_SHOWN = 3
"""Maximum number of running trials in the progress line."""
LONGEST_REPRESENTATION = 40
MARKS = {"ok": "[green]✓[/green]", "error": "[red]✗[/red]"}


def choose_progress(wanted: bool, session: Session, metrics: Sequence[str] | None = None) -> Progress:
    """Return the progress display for a terminal or a notebook.

    Parameters
    ----------
    wanted : bool
        False to return a display that shows nothing.
    session : Session
        The plugins that define the metrics.
    metrics : sequence of str, optional
        Metrics of the experiment. The display shows the first ones of each finished trial.
    """
    if not wanted:
        return NullProgress()
    columns = partial(_columns_for, session.catalog, metrics)
    return NotebookProgress(columns) if in_notebook() else TerminalProgress(columns)


Columns = Callable[[Record], Sequence[MetricSpec]]
"""Returns the metrics to show of a trial."""


def _columns_for(catalog: Catalog, metrics: Sequence[str] | None, record: Record) -> list[MetricSpec]:
    """Return the first two metrics and the first time of the table that this record alone would have."""
    columns = choose_columns(catalog, metrics, [record])
    scores = [metric for metric in columns if not metric.timed]
    times = [metric for metric in columns if metric.timed]
    return scores[:2] + times[:1]


def in_notebook() -> bool:
    """Return whether this process is the kernel of a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return type(shell).__name__ == "ZMQInteractiveShell"


def describe_record(record: Record, columns: Sequence[MetricSpec]) -> str:
    """Return the result of a trial in a line: the values of some metrics, or the error.

    Parameters
    ----------
    record : Record
        The record of a finished or failed trial.
    columns : sequence of MetricSpec
        The metrics to show.
    """
    if record.status != "ok":
        return f"{record.status.upper()}: {record.message}"
    parts = []
    for metric in columns:
        value = record.scores.get(metric.name)
        if value is not None:
            parts.append(f"{heading_of(metric)} {format_value(Summary(value, None, 1), metric)}")
    return ", ".join(parts)


def describe_trial(record: Record | Trial) -> str:
    """Return a trial in words: "pa on digits as counts, trial 1"."""
    seen = in_a_line(record.representation, LONGEST_REPRESENTATION)
    return f"{record.label} on {record.dataset} as {seen}, trial {record.number + 1}"


def describe_phase(trial: Trial, phase: str, worker: str = "") -> str:
    """Return a trial in words with its phase, and its worker unless that is empty."""
    described = f"{describe_trial(trial)}: {phase}"
    return f"{worker}: {described}" if worker else described


def summarise_running(running: Sequence[str]) -> str:
    """Return the first running trials in a line, and the number of the others.

    Examples
    --------
    >>> summarise_running(["a", "b", "c", "d", "e"])
    'a; b; c; and 2 more'
    """
    if len(running) <= MOST_SHOWN:
        return "; ".join(running)
    return f"{'; '.join(running[:MOST_SHOWN])}; and {len(running) - MOST_SHOWN} more"


def _shown(text: str) -> str:
    """Return a text with the mark-up of rich and control characters escaped."""
    return escape(printable(text))


class TerminalProgress:
    """Shows progress on stderr, since stdout is for the table."""

    def __init__(self, columns: Columns) -> None:
        # stderr may be filtered to stop control characters. The bar needs them, and writes to the stream behind it.
        stream = getattr(sys.stderr, "behind", None)
        self.console = Console(file=stream, stderr=True, highlight=False, soft_wrap=True)
        self.columns = columns
        self.bar = Bar(
            BarColumn(24),
            MofNCompleteColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
            TextColumn("left"),
            TimeRemainingColumn(),
            console=self.console,
            transient=True,
            refresh_per_second=4,  # a fast bar would take processor time from the trials
            disable=not self.console.is_terminal,
        )
        self.task = self.bar.add_task("starting", total=None)
        self.total = self.done = 0
        self.running: dict[str, str] = {}
        self.bar.start()

    def say(self, text: str) -> None:
        self.console.print(_shown(text))

    def begin(self, total: int) -> None:
        self.total, self.done = total, 0
        self.bar.update(self.task, total=total)

    def on_data(self, name: str) -> None:
        self.say(f"reading dataset {name} (cached for later runs)")

    def on_phase(self, trial: Trial, phase: str, worker: str = "") -> None:
        self.running[trial.key] = _shown(describe_phase(trial, phase, worker))
        self._describe()

    def on_record(self, record: Record) -> None:
        self.done += 1
        self.running.pop(record.key, None)
        self._describe()
        self.bar.advance(self.task)
        mark = MARKS.get(record.status, MARKS["error"])
        head = f"{self.done:>{len(str(self.total))}}/{self.total}"
        described = describe_record(record, self.columns(record))
        self.console.print(f"{mark} {head}  {_shown(describe_trial(record))}: {_shown(described)}")

    def end(self) -> None:
        self.bar.stop()

    def _describe(self) -> None:
        self.bar.update(self.task, description=summarise_running(list(self.running.values())))


class NotebookProgress:
    """Shows a line below the cell that is updated, and permanent lines for warnings and failed trials."""

    def __init__(self, columns: Columns) -> None:
        from IPython.display import HTML, display  # noqa: PLC0415 (installed only with notebooks)

        self._html = HTML
        self._display: Any = display
        self.columns = columns
        self.total = self.done = 0
        self.last = ""
        self.running: dict[str, str] = {}
        self._line = display(HTML("<i>starting</i>"), display_id=True)

    def say(self, text: str) -> None:
        self._display(self._html(f"<small>{html.escape(text)}</small>"))

    def begin(self, total: int) -> None:
        self.total, self.done = total, 0
        self._show()

    def on_data(self, name: str) -> None:
        self.say(f"reading dataset {name} (cached for later runs)")

    def on_phase(self, trial: Trial, phase: str, worker: str = "") -> None:
        self.running[trial.key] = describe_phase(trial, phase, worker)
        self._show()

    def on_record(self, record: Record) -> None:
        self.done += 1
        self.running.pop(record.key, None)
        self.last = f"{describe_trial(record)}: {describe_record(record, self.columns(record))}"
        if record.status != "ok":
            self.say(self.last)
        self._show()

    def end(self) -> None:
        self.running.clear()
        self._show()

    def _show(self) -> None:
        words = summarise_running(list(self.running.values())) or self.last
        text = html.escape(f"{self.done} of {self.total}  {words}")
        self._line.update(self._html(f"<progress value={self.done} max={max(self.total, 1)}></progress> {text}"))


STATUS = "status.json"
WRITE_SECONDS = 1.0


@dataclass(frozen=True)
class RunningTrial:
    """A running trial in words, with its phase, its worker (empty for this machine) and its start."""

    what: str
    phase: str
    worker: str
    began: float
    """In seconds since 1970, like all times in the status file."""


@dataclass(frozen=True, kw_only=True)
class RunStatus:
    """The progress of a run."""

    total: int = 0
    """The trials of this run, without those that already had a record."""
    done: int = 0
    failed: int = 0
    began: float = 0.0
    updated: float = 0.0
    running: tuple[RunningTrial, ...] = ()

    @property
    def seconds_left(self) -> float | None:
        """The estimated seconds left, from the mean time of finished trials; None before the first has finished."""
        if not self.done:
            return None
        return (self.updated - self.began) / self.done * (self.total - self.done)


@dataclass(frozen=True)
class FolderStatus:
    """The status of a results folder: its records, and the run that is active or was killed."""

    folder: Path
    kept: int
    failed: int
    is_at_work: bool
    run: RunStatus | None = None
    """None if there is no active or killed run, or if it has not started its trials."""


class StatusProgress:
    """Passes all events on to another progress display, and writes the status file."""

    def __init__(self, others: Progress, folder: Path) -> None:
        self._others, self._path = others, folder / STATUS
        self._total = self._done = self._failed = 0
        self._began = time.time()
        self._running: dict[str, RunningTrial] = {}
        self._written = 0.0
        self._writing = threading.Lock()
        self._later: threading.Timer | None = None
        """The timer of the next write; None if no write is due."""
        self._is_over = False

    def say(self, text: str) -> None:
        self._others.say(text)

    def begin(self, total: int) -> None:
        self._total, self._began = total, time.time()
        self._others.begin(total)
        self._write(at_once=True)

    def on_data(self, name: str) -> None:
        self._others.on_data(name)

    def on_phase(self, trial: Trial, phase: str, worker: str = "") -> None:
        before = self._running.get(trial.key)
        began = before.began if before and phase != "start" else time.time()
        self._running[trial.key] = RunningTrial(describe_trial(trial), phase, worker, began)
        self._others.on_phase(trial, phase, worker)
        self._write()

    def on_record(self, record: Record) -> None:
        self._done += 1
        self._failed += record.status != "ok"
        self._running.pop(record.key, None)
        self._others.on_record(record)
        self._write()

    def end(self) -> None:
        self._others.end()
        with self._writing, contextlib.suppress(OSError):
            self._is_over = True
            if self._later is not None:
                self._later.cancel()
            self._path.unlink(missing_ok=True)

    def _write(self, *, at_once: bool = False) -> None:
        """Write now, or start a timer if the last write was less than a second ago."""
        with self._writing:
            early = self._written + WRITE_SECONDS - time.time()
            if at_once or early <= 0:
                self._replace()
            elif self._later is None:
                self._later = threading.Timer(early, self._write_late)
                self._later.daemon = True
                self._later.start()

    def _write_late(self) -> None:
        with self._writing:
            self._later = None
            if not self._is_over:
                self._replace()

    def _replace(self) -> None:
        now = time.time()
        self._written = now
        status = RunStatus(
            total=self._total,
            done=self._done,
            failed=self._failed,
            began=self._began,
            updated=now,
            running=tuple(self._running.values()),
        )
        with contextlib.suppress(OSError):  # the status is a convenience; the store reports a full disk
            write_file(self._path, json.dumps(asdict(status)), sync=False)


@contextlib.contextmanager
def write_status(progress: Progress, folder: Path) -> Iterator[Progress]:
    """Yield a progress display that also writes the status file, which is removed when the block ends."""
    kept = StatusProgress(progress, folder)
    try:
        yield kept
    finally:
        kept.end()


_STATUS = TypeAdapter(RunStatus)


def read_status(folder: Path) -> FolderStatus:
    """Return the status of a results folder.

    Parameters
    ----------
    folder : Path
        The folder.

    Raises
    ------
    StoreError
        If the folder is not a results folder.
    """
    is_at_work = is_locked(folder / LOCK)
    records = read_records(folder) if (folder / RECORDS).exists() or not is_at_work else []
    try:
        run = _STATUS.validate_json(read_regular(folder / STATUS))
    except (OSError, ValidationError):  # no run is active, or it has not written a status yet
        run = None
    failed = sum(record.status != "ok" for record in records)
    return FolderStatus(folder, len(records), failed, is_at_work, run)
