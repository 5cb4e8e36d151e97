"""The winner of a comparison, ready to be fitted: its learner, the parameters that tuning chose, its representation."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.api.session import Session
from harness.contract import MetricSpec
from harness.errors import HarnessError
from harness.expression import Expression, is_estimator, parse_value
from harness.groups import Line, shared_seeds
from harness.params import Params
from harness.record import Record
from harness.trials.trial import REPRESENTATION
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
        params = {**record.params, **chosen_params(self.line.finished)}
        params.pop(REPRESENTATION, None)
        return str(Expression(record.learner, None, {name: _as_given(value) for name, value in params.items()}))

    @property
    def representation(self) -> str:
        """What it sees of the data: what tuning chose, where it was to."""
        chosen: str = chosen_params(self.line.finished).get(REPRESENTATION, self.line.finished[0].representation)
        return chosen

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
            representation=self.representation,
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


def find_best(results: Results, metric: MetricSpec, dataset: str | None, split: str | None) -> Best:
    """The line with the best mean over the trials that all have; HarnessError where none has a value, or where it is
    not said on which data, parted how."""
    lines = []
    for line in results.lines():
        is_meant = dataset in (None, line.dataset) and split in (None, str(line.prepared.split))
        if is_meant and line.summary(metric.name) is not None:
            lines.append(line)
    if not lines:
        raise HarnessError(f"no finished trial has a value for {metric.name!r}", culprit=_where(results))
    _check_rivals(lines, results)
    seeds = shared_seeds(lines, metric.name)
    if not seeds:
        raise HarnessError(f"no trial has a value for {metric.name!r} of all learners", culprit=_where(results))
    sign = 1 if metric.direction == "higher" else -1
    judged = [(found.mean, line) for line in lines if (found := line.summary(metric.name, seeds)) is not None]
    mean, line = max(judged, key=lambda pair: sign * pair[0])
    trials = f"{counted(len(seeds), 'trial')} ({line.prepared.split}) in {_where(results)}"
    told = f"{metric.title or metric.name} {mean:.4g}, the mean of {trials}"
    return Best(line, metric, told, results.session)


def _check_rivals(lines: Sequence[Line], results: Results) -> None:
    """HarnessError unless all were measured on the same rows, parted alike."""
    where = _where(results)
    names = sorted({line.dataset for line in lines})
    if len(names) > 1:
        raise HarnessError(
            f"learners were compared on {', '.join(names)}: which one is meant?",
            culprit=where,
            next_step="say dataset=NAME, or --dataset NAME",
        )
    splits = sorted({str(line.prepared.split) for line in lines})
    if len(splits) > 1:
        raise HarnessError(
            f"learners were compared on {names[0]} by the splits {', '.join(splits)}: which one is meant?",
            culprit=where,
            next_step="say split=SPLIT, or --split SPLIT",
        )
    if len({line.prepared for line in lines}) > 1:
        raise HarnessError(
            f"{names[0]} changed between these trials, so that they do not compare",
            culprit=where,
            next_step="run them again with another --out",
        )


def chosen_params(records: tuple[Record, ...]) -> Params:
    """What tuning chose most often, the earliest of those that tie; nothing where nothing was tuned."""
    choices = Counter(json.dumps(dict(record.tuned), sort_keys=True) for record in records)
    most, _ = choices.most_common(1)[0]
    chosen: Params = json.loads(most)
    return chosen


def _as_given(value: Any) -> Any:
    """A parameter as an experiment has it: JSON knows no tuples, and a list would be a grid; an estimator is a text."""
    if isinstance(value, list):
        return tuple(map(_as_given, value))
    return parse_value(value) if isinstance(value, str) and is_estimator(value) else value


def _where(results: Results) -> str:
    return ", ".join(map(str, results.folders))
