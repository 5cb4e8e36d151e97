"""What of an experiment is run where there is not time for all: decided by rules that are the same for every learner.

Trials go in rounds, the first of every learner on every data set before the second of any, from the smallest data set
(rows times classes) to the largest. A learner that reached a limit of time or memory is not asked again on that data
set, nor on a larger one. Trials beyond the number that everybody gets are run on data sets where every trial was quick.
A round begins while there is time, and is then run whole. All is decided from records, so a resumed run decides alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from harness.experiment.budget_table import BudgetTable
from harness.record import Record
from harness.trials.trial import Trial

LIMITS = ("timeout", "memory")
"""How a trial ends that wanted more than it may have."""


@dataclass(frozen=True)
class Budgeted:
    """Trials, the size of each data set, and what may be spent on them."""

    trials: Sequence[Trial]
    sizes: Mapping[str, int]
    """Rows times classes, by data set."""
    budget: BudgetTable

    def rounds(self, records: Mapping[str, Record], todo: Sequence[Trial]) -> Iterator[list[Trial]]:
        """Of the trials to do those that may run, a round on a data set at a time, decided upon when its turn comes."""
        in_order = sorted(todo, key=self._turn)
        for _, group in groupby(in_order, key=self._turn):
            if self.budget.hours is not None and self._hours_spent(records) >= self.budget.hours:
                return
            yield [trial for trial in group if not self._why_not(trial, records)]

    def tell_left_out(self, records: Mapping[str, Record]) -> list[str]:
        """A line for each learner that never met some of the data sets, with the reason."""
        met = {(record.label, record.dataset) for record in self._own(records)}
        left_out: dict[tuple[str, str], dict[str, None]] = {}
        for trial in self.trials:
            if (trial.label, trial.dataset) not in met:
                why = self._why_not(trial, records) or "the hours of the budget were spent"
                left_out.setdefault((trial.label, why), {})[trial.dataset] = None
        return [f"{label!r} was not run on {', '.join(where)}: {why}" for (label, why), where in left_out.items()]

    def _turn(self, trial: Trial) -> tuple[int, int, str]:
        return trial.number, self.sizes[trial.dataset], trial.dataset

    def _own(self, records: Mapping[str, Record]) -> list[Record]:
        return [records[trial.key] for trial in self.trials if trial.key in records]

    def _hours_spent(self, records: Mapping[str, Record]) -> float:
        return sum(record.total_seconds or 0.0 for record in self._own(records)) / 3600

    def _why_not(self, trial: Trial, records: Mapping[str, Record]) -> str:
        """Why a trial is not worth its time; nothing where it is."""
        own = self._own(records)
        for record in own:
            if record.label == trial.label and record.status in LIMITS:
                if record.dataset == trial.dataset:
                    return f"it reached a limit there ({record.status})"
                if self.sizes[record.dataset] < self.sizes[trial.dataset]:
                    return f"it reached a limit on {record.dataset} ({record.status}), which is smaller"
        if trial.number < self.budget.trials:
            return ""
        there = [record.total_seconds for record in own if record.dataset == trial.dataset]
        slowest = max((seconds or 0.0 for seconds in there), default=0.0)
        return f"a trial there took {slowest:.0f} s" if slowest > self.budget.quick_seconds else ""
