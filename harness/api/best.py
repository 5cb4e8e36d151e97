"""The winner of a comparison, ready to be fitted: its learner, the parameters that tuning chose, its representation."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.api.session import Session
from harness.contract import MetricSpec
from harness.errors import HarnessError
from harness.expression import Expression
from harness.groups import Line
from harness.params import Params
from harness.record import Record
from harness.wording import counted

if TYPE_CHECKING:
    from harness.api.fitting import FitRequest
    from harness.api.model import Model
    from harness.api.results import Results


@dataclass(frozen=True)
class Best:
    """The best learner on a data set, by a metric."""

    line: Line
    metric: MetricSpec
    known_from: str
    """Its mean and where that was measured, in words."""
    session: Session

    @property
    def learner(self) -> str:
        """The learner as an experiment names it, with the parameters that were set and those that tuning chose."""
        record = self.line.finished[0]
        return str(Expression(record.learner, None, {**record.params, **chosen_params(self.line.finished)}))

    @property
    def data(self) -> str:
        """The data set that it was compared on, as an experiment names it."""
        record = self.line.finished[0]
        return str(Expression(record.dataset_source or record.dataset, None, dict(record.dataset_params)))

    def request(self, data: str | None = None) -> FitRequest:
        """What fitting it on some data, or on those that it was compared on, means."""
        from harness.api.fitting import FitRequest  # noqa: PLC0415 (brings what training needs, and most need none)
        from harness.models.manifest import Expected  # noqa: PLC0415 (as above)

        found = self.line.summary("accuracy") or self.line.summary("r1")
        record = self.line.finished[0]
        expected = Expected(
            accuracy=None if found is None else found.mean, rows=record.n_test or 0, known_from=self.known_from
        )
        return FitRequest(
            learner=self.learner,
            data=data or self.data,
            representation=record.representation,
            seed=record.seed,
            expected=expected,
        )

    def fit(self, data: Any = None, *, out: str | PathLike[str] | None = None) -> Model:
        """Train it on all rows of some data, those that it was compared on unless others are given."""
        from harness.api.fitting import fit_request, one_data_set  # noqa: PLC0415 (brings what training needs)

        named = None if data is None else one_data_set(data)
        return fit_request(self.request(named), self.session, None if out is None else Path(out))

    def __str__(self) -> str:
        return f"{self.line.title}: {self.known_from}"


def find_best(results: Results, metric: MetricSpec, dataset: str | None) -> Best:
    """The line with the best mean; HarnessError where none has a value, or where it is not said on which data."""
    lines = [line for line in results.lines() if dataset in (None, line.dataset)]
    judged = []
    for line in lines:
        found = line.summary(metric.name)
        if found is not None:
            judged.append((found.mean, line))
    if not judged:
        raise HarnessError(f"no finished trial has a value for {metric.name!r}", culprit=_where(results))
    names = sorted({line.dataset for _, line in judged})
    if len(names) > 1:
        raise HarnessError(
            f"learners were compared on {', '.join(names)}: which one is meant?",
            culprit=_where(results),
            next_step="say dataset=NAME, or --dataset NAME",
        )
    sign = 1 if metric.direction == "higher" else -1
    mean, line = max(judged, key=lambda pair: sign * pair[0])
    trials = f"{counted(len(line.finished), 'trial')} ({line.finished[0].split}) in {_where(results)}"
    told = f"{metric.title or metric.name} {mean:.4g}, the mean of {trials}"
    return Best(line, metric, told, results.session)


def chosen_params(records: tuple[Record, ...]) -> Params:
    """What tuning chose most often, the earliest of those that tie; nothing where nothing was tuned."""
    choices = Counter(json.dumps(dict(record.tuned), sort_keys=True) for record in records)
    most, _ = choices.most_common(1)[0]
    chosen: Params = json.loads(most)
    return chosen


def _where(results: Results) -> str:
    return ", ".join(map(str, results.folders))
