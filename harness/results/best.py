"""The best learner of a run with its tuned parameters and representation, to be fitted on other data."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import HarnessError
from harness.host.contract import MetricSpec
from harness.host.discovery import Session
from harness.records.record import Record
from harness.report.lines import Line, shared_seeds
from harness.syntax.expression import Expression, Params, is_estimator, parse_value
from harness.text import counted
from harness.trials.trial import REPRESENTATION

if TYPE_CHECKING:
    from harness.models.fit import FitRequest
    from harness.models.model import Model
    from harness.results.results import Results


@dataclass(frozen=True)
class Best:
    """The best learner on a dataset by a metric; `Results.best` returns it.

    Examples
    --------
    >>> import harness
    >>> best = harness.open_results("results/first").best("r1")  # doctest: +SKIP
    >>> model = best.fit("digits", out="digits.model")  # doctest: +SKIP
    """

    line: Line
    metric: MetricSpec
    known_from: str
    """Text with the mean, the number of trials, the split and the results folder."""
    session: Session

    @property
    def learner(self) -> str:
        """The learner in the syntax of an experiment, with the parameters that were set and those that tuning chose."""
        record = self.line.finished[0]
        params = {**record.params, **chosen_params(self.line.finished)}
        params.pop(REPRESENTATION, None)
        return str(Expression(record.learner, None, {name: _as_given(value) for name, value in params.items()}))

    @property
    def representation(self) -> str:
        """The representation: the one that tuning chose, or that of the trials if it was not tuned."""
        chosen: str = chosen_params(self.line.finished).get(REPRESENTATION, self.line.finished[0].representation)
        return chosen

    @property
    def data(self) -> str:
        """The dataset of the comparison, in the syntax of an experiment."""
        record = self.line.finished[0]
        return str(Expression(record.dataset_source or record.dataset, None, dict(record.dataset_params)))

    def request(self, data: str | None = None) -> FitRequest:
        """Return the request to fit this learner on `data`, by default on the dataset of the comparison.

        Parameters
        ----------
        data : str, optional
            Expression of a dataset, such as "titles.csv"; by default the dataset of the comparison.
        """
        from harness.models.fit import FitRequest  # noqa: PLC0415 (imports the training code, which most callers do not need)
        from harness.models.folder import Expected  # noqa: PLC0415 (as above)

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
        """Train this learner on all rows of a dataset.

        Parameters
        ----------
        data : object, optional
            The data to train on. By default the dataset of the comparison.
        out : str or PathLike, optional
            Folder to save the model in. By default the model is not saved.
        """
        from harness.models.fit import fit_request, single_dataset  # noqa: PLC0415 (imports the training code)

        named = None if data is None else single_dataset(data)
        return fit_request(self.request(named), self.session, None if out is None else Path(out))

    def __str__(self) -> str:
        return f"{self.line.title}: {self.known_from}"


def find_best(results: Results, metric: MetricSpec, dataset: str | None, split: str | None) -> Best:
    """Return the learner with the best mean over the trials that all learners share.

    Parameters
    ----------
    results : Results
        The results to choose from.
    metric : MetricSpec
        The metric to compare by.
    dataset, split : str or None
        The dataset and split to compare on. Each may be None if the results have only one.

    Raises
    ------
    HarnessError
        If no shared trial has a value for the metric, if several datasets or splits match, or if the dataset changed
        between the trials.
    """
    lines = []
    for line in results.lines():
        matches = dataset in (None, line.dataset) and split in (None, str(line.prepared.split))
        if matches and line.summary(metric.name) is not None:
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
    source = f"{metric.title or metric.name} {mean:.4g}, the mean of {trials}"
    return Best(line, metric, source, results.session)


def _check_rivals(lines: Sequence[Line], results: Results) -> None:
    """Raise HarnessError unless all lines have the same dataset, with the same content and the same split."""
    where = _where(results)
    names = sorted({line.dataset for line in lines})
    if len(names) > 1:
        raise HarnessError(
            f"learners were compared on {', '.join(names)}: which one is meant?",
            culprit=where,
            next_step="Choose one with dataset=NAME, or --dataset NAME.",
        )
    splits = sorted({str(line.prepared.split) for line in lines})
    if len(splits) > 1:
        raise HarnessError(
            f"learners were compared on {names[0]} by the splits {', '.join(splits)}: which one is meant?",
            culprit=where,
            next_step="Choose one with split=SPLIT, or --split SPLIT.",
        )
    if len({line.prepared for line in lines}) > 1:
        raise HarnessError(
            f"{names[0]} changed between these trials, so they cannot be compared",
            culprit=where,
            next_step="Run them again with another --out.",
        )


def chosen_params(records: tuple[Record, ...]) -> Params:
    """Return the parameters that tuning chose most often, of equal counts the earliest; empty without tuning."""
    choices = Counter(json.dumps(dict(record.tuned), sort_keys=True) for record in records)
    most, _ = choices.most_common(1)[0]
    chosen: Params = json.loads(most)
    return chosen


def _as_given(value: Any) -> Any:
    """Return a recorded parameter as an experiment would give it.

    Records are JSON, which stores a tuple as a list. In an experiment a list is a grid, so lists become tuples again.
    A text that describes an estimator is parsed.
    """
    if isinstance(value, list):
        return tuple(map(_as_given, value))
    return parse_value(value) if isinstance(value, str) and is_estimator(value) else value


def _where(results: Results) -> str:
    return ", ".join(map(str, results.folders))
