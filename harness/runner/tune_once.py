"""Tuning in a stage of its own: each learner once per dataset, on rows that no trial tests on.

`[tune] once = SHARE` asks for it. The first stage has one tuned trial of each learner on each dataset, on the reserved
share of the rows or on the training part of a split of the dataset. The second stage has the trials of the experiment
with the chosen parameters. Learners that failed in the first stage are left out of it, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from harness.data.arrays import Header
from harness.errors import DataError
from harness.experiment.plan import Pair, Plan, describe_tuning, plan
from harness.experiment.resolve import Resolved
from harness.experiment.schema import Experiment
from harness.records.record import Record
from harness.syntax.split import Split
from harness.trials.trial import REPRESENTATION

FOLDER = "tuning"
"""The folder of the first stage inside the results folder."""

Name = tuple[str, str]
"""The label of a learner and the name of a dataset."""


def tunes_once(experiment: Experiment) -> bool:
    """Return whether an experiment has a first stage for tuning."""
    return experiment.tune is not None and experiment.tune.once is not None


def plan_tuning(resolved: Resolved, headers: Mapping[str, Header]) -> Plan:
    """Return the trials of the first stage: one of each learner on each dataset, tuned on reserved rows.

    Parameters
    ----------
    resolved : Resolved
        The experiment.
    headers : mapping of str to Header
        Facts about the stored form of each dataset, by name.

    Raises
    ------
    DataError
        If a split cannot reserve rows.
    """
    experiment = resolved.experiment.model_copy(update={"trials": 1, "curves": False})
    share = _reserved_share(resolved)
    return plan(
        replace(resolved, experiment=experiment),
        headers,
        lambda pair: replace(pair, split=_stage_splits(pair, share)[0]),
    )


def plan_chosen(resolved: Resolved, headers: Mapping[str, Header], tuning: Plan, records: Mapping[str, Record]) -> Plan:
    """Return the trials of the second stage, with the parameters that the first stage chose.

    Parameters
    ----------
    resolved : Resolved
        The experiment.
    headers : mapping of str to Header
        Facts about the stored form of each dataset, by name.
    tuning : Plan
        The first stage.
    records : mapping of str to Record
        The records of the first stage, by key.
    """
    found = {(trial.label, trial.dataset): records.get(trial.key) for trial in tuning.trials}
    slow = _far_behind(found, resolved)
    share = _reserved_share(resolved)

    def settle(pair: Pair) -> Pair:
        record = found.get((pair.label.text, pair.dataset.name))
        if record is None or record.status != "ok":
            return replace(pair, trials=0)
        trials = 1 if pair.label.text in slow else None
        kept = replace(pair, split=_stage_splits(pair, share)[1], trials=trials)
        return _with_chosen(kept, record, resolved) if record.tuning else kept

    planned = plan(resolved, headers, settle)
    failed = [
        _describe_failure(name, record) for name, record in found.items() if record is None or record.status != "ok"
    ]
    return replace(planned, incompatible=(*planned.incompatible, *failed))


def _stage_splits(pair: Pair, share: float) -> tuple[Split, Split]:
    """Return the splits of both stages; DataError if the dataset is too small for one of them."""
    try:
        splits = pair.split.for_tuning(share)
        for split in splits:
            split.sizes(pair.header.rows, pair.header.splits)
    except DataError as error:
        raise error.about(f"dataset {pair.dataset.name!r}") from None
    return splits


def _reserved_share(resolved: Resolved) -> float:
    tuning = resolved.experiment.tune
    assert tuning is not None
    assert tuning.once is not None
    return tuning.once


def _with_chosen(pair: Pair, record: Record, resolved: Resolved) -> Pair:
    """Return the pair with the parameters and the representation that tuning chose, and nothing left to tune."""
    chosen = dict(record.tuned)
    name = chosen.pop(REPRESENTATION, None)
    representation = next((tried for tried in pair.tried if tried.name == name), pair.representation)
    learner = replace(pair.learner, ref=replace(pair.learner.ref, tune={}))
    search = f"{describe_tuning(pair, resolved)}; once, on {record.split}"
    return replace(
        pair,
        learner=learner,
        params={**pair.params, **chosen},
        representation=representation,
        tried=(),
        tuned_before=search,
    )


def _describe_failure(name: Name, record: Record | None) -> str:
    """Return why a learner has no trials on a dataset after the first stage."""
    label, dataset = name
    why = "the time budget was exhausted" if record is None else f"{record.status}, {record.message}"
    return f"learner {label!r} has no trials on {dataset!r}: tuning failed ({why})"


def _far_behind(found: Mapping[Name, Record | None], resolved: Resolved) -> set[str]:
    """Return the labels of learners that are far behind the best validation score on every dataset."""
    tuning, judge = resolved.experiment.tune, resolved.judge
    if tuning is None or judge is None or tuning.far_behind is None:
        return set()
    sign = 1 if judge.direction == "higher" else -1
    scores: dict[Name, float] = {}
    for name, record in found.items():
        value = None if record is None else record.scores.get(judge.name)
        if value is not None:
            scores[name] = sign * value
    best: dict[str, float] = {}
    for (_, dataset), score in scores.items():
        best[dataset] = max(score, best.get(dataset, score))
    near = {label for (label, dataset), score in scores.items() if score >= best[dataset] - tuning.far_behind}
    return {label for label, _ in scores} - near
