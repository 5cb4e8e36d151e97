"""Trials that are not worth their time: a learner that ran out of it is not run on larger data of the same making.

One rule for all learners. What is larger is decided by the data alone: at least as many rows and as many classes, from
the same source. Every trial that is left out has a record that says why, and `--retry-failed` runs it after all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


@dataclass(frozen=True)
class Exhausted:
    """A trial that is not to be run, since another one, of the same learner on less data, ended like this."""

    trial: Trial
    status: Status
    smaller: str
    """The data that was too large already."""


def find_exhausted(
    group: Sequence[Trial], planned: Iterable[Trial], records: Mapping[str, Record]
) -> dict[str, Exhausted]:
    """By key, the trials of a group whose learner ran out of time or memory on less."""
    ended = [trial for trial in planned if trial.key in records and records[trial.key].status in LACKED]
    found = {}
    for trial in group:
        smaller = next((other for other in ended if _is_larger(trial, other)), None)
        if smaller is not None:
            found[trial.key] = Exhausted(trial, records[smaller.key].status, smaller.dataset)
    return found


def leave_out(hopeless: Mapping[str, Exhausted], conditions: Conditions, store: Store, progress: Progress) -> None:
    """Keep a record of each that says why it was not run."""
    for one in hopeless.values():
        message = f"not run: out of {LACKED[one.status]} on {one.smaller}, which is smaller"
        now = datetime.now(UTC).isoformat(timespec="seconds")
        circumstances = replace(common_circumstances(conditions), started=now)
        record = make_record(plain_names(one.trial), Measured(status=one.status, message=message), circumstances)
        store.append(record, None)
        progress.on_record(record)


def _is_larger(trial: Trial, other: Trial) -> bool:
    """Whether this is the same learner, as set up, on larger data from the same source."""
    alike = trial.label == other.label and trial.representation == other.representation
    if not alike or trial.dataset_source != other.dataset_source or trial.dataset == other.dataset:
        return False
    rows, classes = _size(trial)
    fewer_rows, fewer_classes = _size(other)
    return rows >= fewer_rows and classes >= fewer_classes


def _size(trial: Trial) -> tuple[int, int]:
    """Rows and classes of the data."""
    header = read_header(Path(trial.data_folder))
    assert header is not None  # it was read when trials were planned
    return header.rows, header.classes
