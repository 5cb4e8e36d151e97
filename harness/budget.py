"""What of an experiment is run where there is not time for all: decided by rules that are the same for every learner.

Trials go in rounds, the first of every learner on every data set before the second of any, from the smallest data set
(what is in its rows, times classes) to the largest. A learner that reached a limit of time or memory is not asked again
on that data set, nor on a larger one in the same representation: it is given up there (`harness.api.giving_up`). Trials
beyond the number that everybody gets are run on data sets where every trial was quick. A round begins while there is
time, and is then run whole. All is decided from records, so a resumed run decides alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from harness.experiment.budget_table import BudgetTable
from harness.record import Record
from harness.trials.trial import Trial

if TYPE_CHECKING:
    from harness.data.arrays import Header  # brings scipy, which planning does without


def size_of(header: Header) -> int:
    """What is in the rows of a data set, its values or the bytes of its texts, times classes.

    Rows alone would not do: a thousand titles are less than a hundred pages.
    """
    content = header.text_bytes if header.nonzeros is None else header.nonzeros
    return (content or 0) * header.classes


@dataclass(frozen=True)
class Budgeted:
    """Trials, the size of each data set, and what may be spent on them."""

    trials: Sequence[Trial]
    sizes: Mapping[str, int]
    """By data set, as `size_of` has it."""
    budget: BudgetTable

    def rounds(self, records: Mapping[str, Record], todo: Sequence[Trial]) -> Iterator[list[Trial]]:
        """Of the trials to do those that may run, a round on a data set at a time, decided upon when its turn comes."""
        in_order = sorted(todo, key=self._turn)
        for _, group in groupby(in_order, key=self._turn):
            if self.is_spent(records):
                return
            yield [trial for trial in group if self._is_due(trial, records)]

    def is_spent(self, records: Mapping[str, Record]) -> bool:
        """Whether there are no hours left for a further round."""
        return self.budget.hours is not None and self._hours_spent(records) >= self.budget.hours

    def is_beyond(self, trial: Trial, other: Trial) -> bool:
        """Whether who ran out of time or memory in the other trial is not asked in this one."""
        return trial.dataset == other.dataset or self.sizes[trial.dataset] > self.sizes[other.dataset]

    def tell_left_out(self, records: Mapping[str, Record]) -> list[str]:
        """A line for each learner that never met some of the data sets, since the hours were spent."""
        met = {(record.label, record.dataset) for record in self._own(records)}
        left_out: dict[str, dict[str, None]] = {}
        for trial in self.trials:
            if (trial.label, trial.dataset) not in met:
                left_out.setdefault(trial.label, {})[trial.dataset] = None
        why = "the hours of the budget were spent"
        return [f"{label!r} was not run on {', '.join(where)}: {why}" for label, where in left_out.items()]

    def _turn(self, trial: Trial) -> tuple[int, int, str]:
        return trial.number, self.sizes[trial.dataset], trial.dataset

    def _own(self, records: Mapping[str, Record]) -> list[Record]:
        return [records[trial.key] for trial in self.trials if trial.key in records]

    def _hours_spent(self, records: Mapping[str, Record]) -> float:
        return sum(record.total_seconds or 0.0 for record in self._own(records)) / 3600

    def _is_due(self, trial: Trial, records: Mapping[str, Record]) -> bool:
        """Whether it is among the trials that everybody gets, or every trial on its data set was quick."""
        if trial.number < self.budget.trials:
            return True
        there = [record.total_seconds or 0.0 for record in self._own(records) if record.dataset == trial.dataset]
        return max(there, default=0.0) <= self.budget.quick_seconds
