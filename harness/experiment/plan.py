"""Resolved experiment -> trials. A trial's key is the hash of all that decides its result, and of nothing else."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import DataError, SpecError
from harness.experiment.candidates import list_candidates
from harness.experiment.pairs import Pair, pairs_on, representation_of, tell_incompatible
from harness.experiment.resolve import MINIMUM_DEPTH, Resolved, ResolvedDataset, ResolvedLearner
from harness.experiment.spec import Experiment
from harness.trials.split import ONE_LABEL, settle_split, split_rows, split_sizes

if TYPE_CHECKING:
    from harness.data.arrays import Header  # brings scipy, which planning does without


@dataclass(frozen=True)
class Trial:
    """One trial, whole: what to train, on what, how, and under which key its record is kept."""

    key: str
    label: str
    learner: str
    learner_load: str
    learner_kind: str
    learner_distribution: str
    learner_version: str
    params: Mapping[str, Any]
    inner: Mapping[str, Any] | None
    """The learner inside, for one round another: the parameter it stands for, load, params and what is in it again."""
    wants_dense: bool
    wants_taxonomy: bool
    dataset: str
    dataset_params: Mapping[str, Any]
    data_folder: str
    fingerprint: str
    representation: str
    split: str
    number: int
    seed: int
    depth: int
    dataset_source: str = ""
    """The registered data set or the file, which may go by another name in `dataset`."""
    curves: bool = False
    """Whether the test part is ranked after each pass as well."""
    tune: Mapping[str, Any] | None = None
    """How parameters are chosen first: split of the training part, metric, candidates, seconds."""


def plan(resolved: Resolved, headers: Mapping[str, Header]) -> tuple[Trial, ...]:
    """All trials of an experiment, by data set, then trial, then learner, so that early results compare learners.

    Pairs that cannot run have none, see `tell_incompatible`; DataError when no pair can.
    """
    experiment = resolved.experiment
    trials: list[Trial] = []
    for dataset in resolved.datasets:
        header = headers[dataset.choice.name]
        split = _checked_split(dataset, header, dataset.choice.split or experiment.split, experiment)
        pairs = [pair for pair in pairs_on(dataset, header, resolved) if not pair.trouble]
        for number in range(experiment.trials):
            trials += [_trial(pair, header, dataset, split, number, resolved) for pair in pairs]
    incompatible = () if trials else tell_incompatible(resolved, headers)
    if incompatible:
        raise DataError("\n".join(incompatible))
    return _without_repeats(trials)


def _checked_split(dataset: ResolvedDataset, header: Header, split: str, experiment: Experiment) -> str:
    """The split under its full name; DataError when a part of it would be empty, or train on a single class."""
    try:
        train, _ = split_sizes(split, header.rows, header.splits)
    except DataError as error:
        raise DataError(f"data set {dataset.choice.name!r}: {error}") from None
    if header.multilabel and split.startswith("stratified"):
        raise DataError(f"data set {dataset.choice.name!r}: split {split!r} {ONE_LABEL}")
    if not header.multilabel and train <= header.largest_class:
        _check_classes(dataset, header, split, experiment)
    return settle_split(split, header.splits)


def _check_classes(dataset: ResolvedDataset, header: Header, split: str, experiment: Experiment) -> None:
    """Draw the splits that will be used: only one class has rows enough to fill a training part, so it is cheap."""
    from harness.data.arrays import open_dataset

    data = open_dataset(Path(header.folder))
    for seed in range(experiment.seed, experiment.seed + experiment.trials):
        labels = data.y[split_rows(split, header.rows, seed, data.splits, data.y)[0]]
        if (labels == labels[0]).all():
            raise DataError(
                f"data set {dataset.choice.name!r}: split {split!r} with seed {seed} trains on a single class, "
                f"{data.class_names[labels[0]]!r}: choose another share or seed"
            )


def _trial(pair: Pair, header: Header, dataset: ResolvedDataset, split: str, number: int, resolved: Resolved) -> Trial:
    learner, label, params = pair.learner, pair.label, pair.params
    spec, origin, representation = learner.spec_with(params), learner.entry.origin, representation_of(dataset)
    # One seed for split and learner: trial n of every learner meets the same split, so that trials can be paired.
    seed = resolved.experiment.seed + number
    depth = min(resolved.depth, max(MINIMUM_DEPTH, header.classes))  # beyond the classes there is nothing to rank
    if "random_state" in learner.defaults and "random_state" not in params:
        params = {**params, "random_state": seed}
    decisive = {
        **_identity(learner, params),
        "data": header.fingerprint,
        "representation": representation,
        "split": split,
        "seed": seed,
        "depth": depth,
    }
    curves, tuning = resolved.experiment.curves, _tuning(learner, label, seed, resolved)
    decisive |= ({"curves": True} if curves else {}) | ({"tune": tuning} if tuning else {})
    return Trial(
        key=key_of(decisive),
        label=label,
        learner=spec.name,
        learner_load=spec.load,
        learner_kind=spec.kind,
        learner_distribution=origin.distribution,
        learner_version=origin.version,
        params=params,
        inner=_blueprint(learner, params),
        wants_dense="dense" in spec.needs,
        wants_taxonomy="taxonomy" in spec.needs,
        dataset=dataset.choice.name,
        dataset_source=dataset.choice.wanted,
        dataset_params=dict(dataset.choice.params),
        data_folder=header.folder,
        fingerprint=header.fingerprint,
        representation=representation,
        split=split,
        number=number,
        seed=seed,
        depth=depth,
        curves=curves,
        tune=tuning,
    )


def _tuning(learner: ResolvedLearner, label: str, seed: int, resolved: Resolved) -> dict[str, Any] | None:
    """How this learner's parameters are chosen, where any are."""
    tuning, ranges, judge = resolved.experiment.tune, learner.choice.tune, resolved.judge
    if tuning is None or judge is None or not ranges:
        return None
    return {
        "split": tuning.split,
        "metric": judge.name,
        "compute": judge.compute,
        "direction": judge.direction,
        "candidates": list_candidates(label, ranges, tuning, seed),
        "seconds": tuning.seconds,
    }


def _identity(learner: ResolvedLearner, params: Mapping[str, Any]) -> dict[str, Any]:
    """What tells one learner, as set up, from another: its code and all its parameters, the learner inside included."""
    spec, origin, inside = learner.entry.spec, learner.entry.origin, learner.inside(params)
    whole = {**learner.defaults, **params}
    if inside is not None:
        whole[spec.wraps] = _identity(inside, inside.choice.params)
    return {
        "learner": spec.name,
        "load": spec.load,
        "distribution": origin.distribution,
        "version": origin.version,
        "params": whole,
    }


def _blueprint(learner: ResolvedLearner, params: Mapping[str, Any]) -> dict[str, Any] | None:
    """How to build the learner inside."""
    inside = learner.inside(params)
    if inside is None:
        return None
    own = inside.choice.params
    return {
        "parameter": learner.entry.spec.wraps,
        "load": inside.entry.spec.load,
        "params": dict(own),
        "inner": _blueprint(inside, own),
    }


def key_of(decisive: dict[str, Any]) -> str:
    """A short hash of the values as Python writes them, dictionaries in order: what differs is written differently."""
    return hashlib.sha256(_written(decisive).encode()).hexdigest()[:20]


def _written(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(sorted([f"{key!r}: {_written(item)}" for key, item in value.items()])) + "}"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__}({', '.join(map(_written, value))})"
    return repr(value)


def _without_repeats(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Two names for one and the same trial would race for one record: refuse them."""
    seen: dict[str, Trial] = {}
    for trial in trials:
        other = seen.setdefault(trial.key, trial)
        if other is trial:
            continue
        if other.dataset != trial.dataset:
            raise SpecError(
                f"data sets {_sourced(other)} and {_sourced(trial)} have the same content, prepared alike: leave one "
                "out, or check that they are the files you meant"
            )
        raise SpecError(
            f"{other.label!r} and {trial.label!r} are the same learner with the same parameters on "
            f"{trial.dataset!r}: leave one out"
        )
    return tuple(trials)


def _sourced(trial: Trial) -> str:
    """A data set's name, with the file it is read from where that is another."""
    source = trial.dataset_source
    return repr(trial.dataset) + (f" ({source})" if source not in ("", trial.dataset) else "")


def as_payload(trial: Trial) -> dict[str, Any]:
    """The trial as JSON-ready values, for the process that runs it."""
    return asdict(trial)
