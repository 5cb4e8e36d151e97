"""Trials that are not worth their time: a learner that ran out of it is not run on larger data.

One rule for all learners, and by the data alone. With `give_up`, what is larger has no fewer rows and no fewer classes,
more of one of them, and is from the same source; under a budget, what is in the rows, times classes, decides
(`harness.budget`). Every trial that is left out has a record that says why; `--retry-failed` asks again, smaller data
first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from harness.data.arrays import read_header
from harness.progress import Progress
from harness.record import Measured, Record, Status, make_record
from harness.recording import plain_names
from harness.runner import Conditions, common_circumstances
from harness.store import Store
from harness.trials.trial import Trial

LACKED: dict[Status, str] = {"timeout": "time", "memory": "memory"}
"""What a trial had not enough of, by how it ended."""

Rule = Callable[[Trial, Trial], bool]
"""Whether a learner that ran out of time or memory in the second trial is not to be asked in the first."""


@dataclass(frozen=True)
class Exhausted:
    """A trial that is not to be run, since another one, of the same learner on less data, ended like this."""

    trial: Trial
    status: Status
    where: str
    """The data that was too large already."""

    def tell(self) -> str:
        """Why it is not run."""
        again = "already" if self.where == self.trial.dataset else f"on {self.where}, which is smaller"
        return f"not run: out of {LACKED[self.status]} {again}"


def find_exhausted(
    group: Sequence[Trial], before: Iterable[Trial], records: Mapping[str, Record], rule: Rule
) -> dict[str, Exhausted]:
    """By key, the trials of a group whose learner, as set up, ran out of time or memory on less.

    `before` are those whose records count. One that was itself left out names no other: it never ran.
    """
    ended: dict[tuple[str, str], list[Trial]] = {}
    for trial in before:
        record = records.get(trial.key)
        if record is not None and record.status in LACKED and record.total_seconds is not None:
            ended.setdefault(_set_up(trial), []).append(trial)
    found = {}
    for trial in group:
        less = next((other for other in ended.get(_set_up(trial), ()) if rule(trial, other)), None)
        if less is not None:
            found[trial.key] = Exhausted(trial, records[less.key].status, less.dataset)
    return found


def leave_out(hopeless: Mapping[str, Exhausted], conditions: Conditions, store: Store, progress: Progress) -> None:
    """Keep a record of each that says why it was not run."""
    for one in hopeless.values():
        now = datetime.now(UTC).isoformat(timespec="seconds")
        circumstances = replace(common_circumstances(conditions), started=now)
        record = make_record(plain_names(one.trial), Measured(status=one.status, message=one.tell()), circumstances)
        store.append(record, None)
        progress.on_record(record)


def is_larger_of_its_kind(trial: Trial, other: Trial) -> bool:
    """Whether the one is on larger data than the other, from the same source."""
    if _source(trial) != _source(other):
        return False
    rows, classes = _size(trial)
    fewer_rows, fewer_classes = _size(other)
    return rows >= fewer_rows and classes >= fewer_classes and (rows, classes) != (fewer_rows, fewer_classes)


def _source(trial: Trial) -> tuple[str, Mapping[str, str]]:
    """Where its data is from: a file, or what is sampled from, is named by a text among the parameters."""
    named = {name: value for name, value in trial.dataset_params.items() if isinstance(value, str)}
    return trial.dataset_source, named


def _set_up(trial: Trial) -> tuple[str, str]:
    return trial.label, trial.representation


def _size(trial: Trial) -> tuple[int, int]:
    """Rows and classes of the data."""
    header = read_header(Path(trial.data_folder))
    assert header is not None  # it was read when trials were planned
    return header.rows, header.classes
