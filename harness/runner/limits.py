"""Limits of a run: the order of trials, and the trials to skip because their learner exceeded a limit on less data.

Without limits, every trial runs. With `give_up`, a learner that exceeded the time or memory limit is skipped on larger
data from the same source. Larger data has at least as many rows and classes, and more of one of them.

With a `[budget]`, trials run in rounds. Every learner has its first trial on every dataset before any learner has its
second, and small datasets come before large ones. A learner that exceeded a limit is skipped on that dataset and on
larger ones in the same representation. Trials beyond `budget.trials` run only on datasets where every trial was quick.
A round starts only if there is time left, and always runs to its end.

All decisions depend on data and records only, so a resumed run makes the same ones. Every skipped trial gets a record
with the reason. `--retry-failed` runs it again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path

from harness.data.arrays import read_header
from harness.experiment.resolve import Progress
from harness.experiment.schema import BudgetTable
from harness.records.record import Circumstances, Measured, Record, Status, make_record
from harness.records.store import Store
from harness.runner.execute import plain_names
from harness.trials.trial import Trial

EXCEEDED: dict[Status, str] = {"timeout": "time", "memory": "memory"}
"""The name of the limit that a trial exceeded, by the status of its record."""


@dataclass(frozen=True)
class Skipped:
    """A trial that is not run, because its learner exceeded a limit on the same data or on less."""

    trial: Trial
    status: Status
    dataset: str
    """The dataset on which the learner exceeded the limit."""

    @property
    def reason(self) -> str:
        """The message of the trial's record."""
        where = "already" if self.dataset == self.trial.dataset else f"on {self.dataset}, which is smaller"
        return f"not run: out of {EXCEEDED[self.status]} {where}"


@dataclass(frozen=True)
class Round:
    """The trials to run next, and the trials to skip."""

    trials: list[Trial]
    skipped: list[Skipped]


@dataclass(frozen=True)
class Limits:
    """The limits of a planned experiment."""

    trials: Sequence[Trial]
    """All trials of the plan."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """The estimated work of a trial by dataset, as in `Plan`."""
    budget: BudgetTable | None = None
    give_up: bool = False

    def rounds(self, todo: Sequence[Trial], records: Mapping[str, Record], at_once: int = 1) -> Iterator[Round]:
        """Yield the trials to run and to skip in rounds. Each round depends on the records of the rounds before.

        Parameters
        ----------
        todo : sequence of Trial
            The trials that have no record, or that run again.
        records : mapping
            Records by key. The caller adds those of each round before it starts the next.
        at_once : int
            The number of trials that run at the same time.
        """
        waiting = {trial.key for trial in todo}  # the record of a trial that runs again does not count
        for group in self._groups(todo, records, at_once):
            ended = [trial for trial in self.trials if trial.key not in waiting]
            skipped = self._find_skipped(group, ended, records)
            yield Round([trial for trial in group if trial.key not in skipped], list(skipped.values()))
            waiting -= {trial.key for trial in group}

    def is_spent(self, records: Mapping[str, Record]) -> bool:
        """Return whether the budget has no time for another round."""
        if self.budget is None or self.budget.hours is None:
            return False
        return sum(record.total_seconds or 0.0 for record in self._own(records)) >= 3600 * self.budget.hours

    def describe_unrun(self, records: Mapping[str, Record]) -> list[str]:
        """Return a line for each learner that never ran on some datasets because the budget was exhausted."""
        if self.budget is None:
            return []
        ran = {(record.label, record.dataset) for record in self._own(records)}
        unrun: dict[str, dict[str, None]] = {}
        for trial in self.trials:
            if (trial.label, trial.dataset) not in ran:
                unrun.setdefault(trial.label, {})[trial.dataset] = None
        why = "the hours of the budget were spent"
        return [f"{label!r} was not run on {', '.join(where)}: {why}" for label, where in unrun.items()]

    # -- groups of trials

    def _groups(self, todo: Sequence[Trial], records: Mapping[str, Record], at_once: int) -> Iterator[list[Trial]]:
        if self.budget is not None:
            yield from self._budgeted(todo, records)
        elif at_once > 1 and not self.give_up:
            yield list(todo)  # no trial has to wait for others
        else:
            for _, group in groupby(todo, key=lambda trial: (trial.dataset, trial.number)):
                yield list(group)

    def _budgeted(self, todo: Sequence[Trial], records: Mapping[str, Record]) -> Iterator[list[Trial]]:
        in_order = sorted(todo, key=self._turn)
        for _, group in groupby(in_order, key=self._turn):
            if self.is_spent(records):
                return
            yield [trial for trial in group if self._is_due(trial, records)]

    def _turn(self, trial: Trial) -> tuple[int, int, str]:
        return trial.number, self.sizes[trial.dataset], trial.dataset

    def _is_due(self, trial: Trial, records: Mapping[str, Record]) -> bool:
        """Return whether a trial is within `budget.trials`, or all trials on its dataset so far were quick."""
        assert self.budget is not None
        if trial.number < self.budget.trials:
            return True
        there = [record.total_seconds or 0.0 for record in self._own(records) if record.dataset == trial.dataset]
        return max(there, default=0.0) <= self.budget.quick

    def _own(self, records: Mapping[str, Record]) -> list[Record]:
        return [records[trial.key] for trial in self.trials if trial.key in records]

    # -- skipped trials

    def _find_skipped(
        self, group: Sequence[Trial], ended: Iterable[Trial], records: Mapping[str, Record]
    ) -> dict[str, Skipped]:
        """Return the trials to skip by key: their learner exceeded a limit in the same representation on less data.

        Records of skipped trials have no time and are ignored: nothing was measured there.
        """
        if self.budget is None and not self.give_up:
            return {}
        exceeded: dict[tuple[str, str], list[Trial]] = {}
        for trial in ended:
            record = records.get(trial.key)
            if record is not None and record.status in EXCEEDED and record.total_seconds is not None:
                exceeded.setdefault((trial.label, trial.representation), []).append(trial)
        found = {}
        for trial in group:
            others = exceeded.get((trial.label, trial.representation), ())
            less = next((other for other in others if self._is_beyond(trial, other)), None)
            if less is not None:
                found[trial.key] = Skipped(trial, records[less.key].status, less.dataset)
        return found

    def _is_beyond(self, trial: Trial, other: Trial) -> bool:
        """Return whether to skip `trial` if its learner exceeded a limit in `other`."""
        if self.budget is not None:
            return trial.dataset == other.dataset or self.sizes[trial.dataset] > self.sizes[other.dataset]
        return _is_larger(trial, other)


def record_skipped(skipped: Iterable[Skipped], circumstances: Circumstances, store: Store, progress: Progress) -> None:
    """Store a record of each skipped trial, with the reason.

    Parameters
    ----------
    skipped : iterable of Skipped
        Trials that are not run, with the limit that was exceeded.
    circumstances : Circumstances
        The circumstances that all trials of the run share.
    store : Store
        The results folder.
    progress : Progress
        Is notified of each record.
    """
    for one in skipped:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        measured = Measured(status=one.status, message=one.reason)
        record = make_record(plain_names(one.trial), measured, replace(circumstances, started=now))
        store.append(record)
        progress.on_record(record)


def _is_larger(trial: Trial, other: Trial) -> bool:
    """Return whether a trial has larger data than another one, from the same source."""
    if _source(trial) != _source(other):
        return False
    rows, classes = _rows_and_classes(trial)
    fewer_rows, fewer_classes = _rows_and_classes(other)
    return rows >= fewer_rows and classes >= fewer_classes and (rows, classes) != (fewer_rows, fewer_classes)


def _source(trial: Trial) -> tuple[str, Mapping[str, str]]:
    """Return the source of a trial's data. Text parameters belong to it: a file, or the dataset that is sampled."""
    named = {name: value for name, value in trial.dataset_params.items() if isinstance(value, str)}
    return trial.dataset_source, named


def _rows_and_classes(trial: Trial) -> tuple[int, int]:
    header = read_header(Path(trial.data_folder))
    assert header is not None  # planning has read it
    return header.rows, header.classes
