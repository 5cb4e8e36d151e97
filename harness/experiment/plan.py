"""Resolved experiment -> trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.errors import DataError, SpecError
from harness.experiment.candidates import list_candidates
from harness.experiment.keys import code_behind, decisive_tuning, identity_of, key_of, written
from harness.experiment.pairs import Pair, pairs_on, tell_incompatible
from harness.experiment.parameters import as_blueprints
from harness.experiment.representations import TEXTS, Representation, find_representation, plan_representation
from harness.experiment.resolve import (
    MINIMUM_DEPTH,
    Resolved,
    ResolvedDataset,
    ResolvedLearner,
    code_group,
    environment_of,
)
from harness.experiment.schema import Experiment
from harness.home import represented_name, represented_root
from harness.metric import call_of
from harness.params import Params, describe_params
from harness.split import ONE_LABEL, Split
from harness.trials.blueprint import Blueprint
from harness.trials.splitting import part_data
from harness.trials.trial import REPRESENTATION, RepresentationPlan, Trial, TuningPlan

if TYPE_CHECKING:
    from harness.data.arrays import Header  # brings scipy, which planning does without


@dataclass(frozen=True)
class _Ground:
    """A data set that trials are planned on; what they see of it is kept below `root`."""

    dataset: ResolvedDataset
    header: Header
    split: Split
    counting: Representation | None
    """How its texts become counts, where it says so; looked up once, since that reads all code behind it."""
    root: Path


def plan(resolved: Resolved, headers: Mapping[str, Header]) -> tuple[Trial, ...]:
    """All trials of an experiment, by data set, then trial, then learner, so that early results compare learners.

    Pairs that cannot run have none, see `tell_incompatible`; DataError when no pair can.
    """
    experiment = resolved.experiment
    trials: list[Trial] = []
    root = represented_root()
    for dataset in resolved.datasets:
        header = headers[dataset.name]
        split = _checked_split(dataset, header, dataset.ref.split or experiment.split, experiment)
        counting = find_representation(header.counting, resolved.catalog) if header.counting else None
        ground = _Ground(dataset, header, split, counting, root)
        pairs = [pair for pair in pairs_on(dataset, header, resolved) if not pair.trouble]
        for number in range(experiment.trials):
            trials += [_trial(pair, ground, number, resolved) for pair in pairs]
    if not trials:
        incompatible = tell_incompatible(resolved, headers)
        if incompatible:
            raise DataError("\n".join(incompatible))
    return _without_repeats(trials)


def _checked_split(dataset: ResolvedDataset, header: Header, split: Split, experiment: Experiment) -> Split:
    """The split under its full name; DataError when a part of it would be empty, or train on a single class."""
    culprit = f"data set {dataset.name!r}"
    try:
        n_train, _ = split.sizes(header.rows, header.splits)
        split.check_columns(header.groups, header.times, header.text_bytes is not None)
    except DataError as error:
        raise error.about(culprit) from None
    if header.multilabel and split.is_stratified:
        raise DataError(f"split '{split}' {ONE_LABEL}", culprit=culprit)
    if not header.multilabel and (split.by_column or n_train <= header.largest_class):
        _check_classes(dataset, header, split, experiment)
    return split.settle(header.splits)


def _check_classes(dataset: ResolvedDataset, header: Header, split: Split, experiment: Experiment) -> None:
    """Draw the splits that will be used: only one class has rows enough to fill a training part, so it is cheap."""
    from harness.data.arrays import open_dataset  # noqa: PLC0415 (brings scipy, seldom needed here)

    data = open_dataset(Path(header.folder))
    for seed in range(experiment.seed, experiment.seed + experiment.trials):
        train, _ = part_data(split, data, seed)
        labels = data.y[train]
        if (labels == labels[0]).all():
            raise DataError(
                f"split '{split}' with seed {seed} trains on a single class, {data.class_names[labels[0]]!r}",
                culprit=f"data set {dataset.name!r}",
                next_step="choose another share or seed",
            )


def _trial(pair: Pair, ground: _Ground, number: int, resolved: Resolved) -> Trial:
    dataset, header, split = ground.dataset, ground.header, ground.split
    learner, params = pair.learner, pair.params
    spec, origin = learner.spec_with(params), learner.entry.origin
    # One seed for split and learner: trial n of every learner meets the same split, so that trials can be paired.
    seed = resolved.experiment.seed + number
    depth = min(resolved.depth, max(MINIMUM_DEPTH, header.classes))  # beyond the classes there is nothing to rank
    if "random_state" in learner.defaults and "random_state" not in params:
        params = {**params, "random_state": seed}
    curves = resolved.experiment.curves
    seen = _seen(pair, ground)
    tuning = _tuning_plan(pair, ground, seed, resolved)
    decisive = {
        **identity_of(learner, params),
        "data": header.fingerprint,
        "representation": seen.identity,
        "split": str(split),
        "seed": seed,
        "depth": depth,
    }
    chain = learner.chain_with(params)
    environment = environment_of(chain)
    packages = resolved.environments[environment.name].packages if environment else {}
    if packages:
        decisive["packages"] = dict(packages)
    if curves:
        decisive["curves"] = True
    if tuning:
        decisive["tune"] = decisive_tuning(tuning)
    return Trial(
        key=key_of(decisive),
        label=pair.label.text,
        family=pair.label.family,
        learner=spec.name,
        learner_kind=spec.kind,
        learner_distribution=origin.distribution,
        learner_version=origin.version,
        params=params,
        code=code_behind(learner, params),
        code_group=code_group(chain),
        packages=packages,
        blueprint=blueprint_of(learner, params),
        wants_dense="dense" in spec.needs,
        wants_taxonomy="taxonomy" in spec.needs,
        dataset=dataset.name,
        dataset_family=dataset.ref.label.family,
        dataset_source=dataset.ref.source,
        dataset_params=dict(dataset.ref.params),
        data_folder=header.folder,
        fingerprint=header.fingerprint,
        dataset_revision=header.revision,
        representation=seen.name,
        representing=seen.plan,
        represented_folder="" if pair.tried else _represented_folder(ground, seed, seen),
        split=split,
        number=number,
        seed=seed,
        depth=depth,
        curves=curves,
        tuning_plan=tuning,
        to_tune=_tell_tuning(pair, resolved) if tuning else "",
    )


@dataclass(frozen=True)
class _Seen:
    """What a learner sees of the data: what that is called, how it is made, and what tells it from another."""

    name: str
    plan: RepresentationPlan
    identity: list[Any]


def _seen(pair: Pair, ground: _Ground) -> _Seen:
    if pair.representation is None:
        return _Seen(TEXTS, RepresentationPlan(None, takes_text=True), [])
    identity = list(pair.representation.identity)
    if ground.counting is not None:
        identity.append(ground.counting.identity)
    plan = plan_representation(pair.representation, ground.header, ground.counting)
    if not pair.tried:
        return _Seen(pair.representation.name, plan, identity)
    identity += [tried.identity for tried in pair.tried]
    return _Seen(f"one of {', '.join(tried.name for tried in pair.tried)}", plan, identity)


def _represented_folder(ground: _Ground, seed: int, seen: _Seen) -> str:
    """Where both parts are kept as represented; nowhere where they are texts."""
    if seen.plan.blueprint is None:
        return ""
    name, fingerprint = ground.dataset.entry.spec.name, ground.header.fingerprint
    return str(ground.root / represented_name(name, fingerprint, str(ground.split), seed, written(seen.identity)))


def _tuning_plan(pair: Pair, ground: _Ground, seed: int, resolved: Resolved) -> TuningPlan | None:
    """How this learner's parameters, and what it sees of the data, are chosen, where any are."""
    tuning, ranges, judge = resolved.experiment.tune, _ranges(pair), resolved.judge
    chosen = {tried.name: tried for tried in pair.tried}
    if tuning is None or judge is None or not ranges:
        return None
    header, counting = ground.header, ground.counting
    return TuningPlan(
        split=tuning.split,
        judge=call_of(judge),
        direction=judge.direction,
        candidates=tuple(list_candidates(pair.label.text, ranges, tuning, seed)),
        seconds=tuning.seconds,
        representations={name: plan_representation(tried, header, counting) for name, tried in chosen.items()},
    )


def _ranges(pair: Pair) -> dict[str, Any]:
    """What is to be chosen, and from which values."""
    ranges = dict(pair.learner.ref.tune)
    if pair.tried:
        ranges[REPRESENTATION] = [tried.name for tried in pair.tried]
    return ranges


def _tell_tuning(pair: Pair, resolved: Resolved) -> str:
    """The same for every seed: how many candidates there was time for, and which were drawn, is left to chance."""
    tuning = resolved.experiment.tune
    assert tuning is not None
    told = [f"tuned {describe_params(_ranges(pair))}", f"{tuning.metric} on {tuning.split}"]
    if tuning.candidates is not None:
        told.append(f"{tuning.candidates} by chance")
    if tuning.seconds is not None:
        told.append(f"{tuning.seconds:g} s")
    return "; ".join(told)


# -- blueprints ------------------------------------------------------------------------------------------------------


def blueprint_of(learner: ResolvedLearner, params: Params) -> Blueprint:
    """How to build a learner: the one that it wraps, and estimators among its parameters, are blueprints in it."""
    built = {name: as_blueprints(value) for name, value in params.items()}
    wrapped = learner.wrapped_with(params)
    if wrapped is not None:
        built[learner.entry.spec.wraps] = blueprint_of(wrapped, wrapped.ref.params)
    return Blueprint(learner.entry.spec.load, built)


# -- repeats ---------------------------------------------------------------------------------------------------------


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
    if source in ("", trial.dataset):
        return repr(trial.dataset)
    return f"{trial.dataset!r} ({source})"
