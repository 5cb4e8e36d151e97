"""Resolved experiment to trials: pairs of learner and dataset, grids of parameters, tuning candidates, and keys.

The key of a trial is a hash of everything that decides its result, and of nothing else. Tuning candidates are listed
before anything runs: they are part of the key.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from harness.data.split import part_data
from harness.errors import DataError, SpecError
from harness.experiment.load import RawExperiment, build
from harness.experiment.references import (
    TEXTS,
    Representation,
    as_blueprints,
    as_declared,
    describe_unfit,
    find_representation,
    plan_representation,
)
from harness.experiment.resolve import (
    MINIMUM_DEPTH,
    Resolved,
    ResolvedDataset,
    ResolvedLearner,
    code_group,
    environment_of,
    resolve,
)
from harness.experiment.schema import MOST_CANDIDATES, MOST_TRIALS, Experiment, TuneTable
from harness.files.home import represented_name, represented_root
from harness.host.catalog import call_of
from harness.host.contract import LearnerSpec
from harness.host.discovery import Session
from harness.host.introspection import REQUIRED, read_floats
from harness.syntax.expression import Params, describe_params
from harness.syntax.split import ONE_LABEL, Split
from harness.syntax.values import Label, grid_label
from harness.trials.trial import REPRESENTATION, Blueprint, RepresentationPlan, Trial, TuningPlan

if TYPE_CHECKING:
    from harness.data.arrays import Header  # brings scipy, which planning does without

NO_TAXONOMY = "has no taxonomy, which the learner needs"


@dataclass(frozen=True)
class Pair:
    """A configured learner and a dataset as prepared for it."""

    learner: ResolvedLearner
    label: Label
    params: Params
    dataset: ResolvedDataset
    header: Header
    split: Split
    counting: Representation | None
    """The representation that counts the texts of the dataset, if its header names one."""
    representation: Representation | None
    """The representation; None for plain texts."""
    tried: tuple[Representation, ...] = ()
    """Representations that tuning chooses from; `representation` is the first of them."""
    trouble: str = ""
    """Why the learner cannot run on the data; such a pair has no trials."""
    trials: int | None = None
    """The number of trials, if it differs from that of the experiment."""
    tuned_before: str = ""
    """The search that chose the parameters before these trials."""


def pairs_on(dataset: ResolvedDataset, header: Header, resolved: Resolved) -> list[Pair]:
    """Return every configured learner that is to run on a dataset, with the dataset."""
    split = _checked_split(dataset, header, dataset.ref.split or resolved.experiment.split, resolved.experiment)
    counting = find_representation(header.counting, resolved.catalog) if header.counting else None
    pairs = []
    for learner in resolved.learners:
        if learner.ref.on is not None and dataset.name not in learner.ref.on:
            continue
        for label, params in _set_ups(learner, dataset.name):
            spec = learner.spec_with(params)
            for seen in _seen_by(spec, dataset, has_texts=header.text_bytes is not None):
                tried = dataset.tried if seen is not None else ()
                trouble = next(filter(None, (_incompatible(spec, header, one) for one in tried or (seen,))), "")
                if trouble == NO_TAXONOMY:
                    trouble += _ways_to_a_taxonomy(learner, dataset)
                pairs.append(Pair(learner, label, params, dataset, header, split, counting, seen, tried, trouble))
    return pairs


def check_size(resolved: Resolved) -> None:
    """Raise SpecError if an experiment has more trials than can be planned."""
    total = 0
    for dataset in resolved.datasets:
        for learner in resolved.learners:
            grid = _grid(_params_on(learner, dataset.name))
            ways = len(_seen_by(learner.entry.spec, dataset, has_texts=False))
            total += math.prod(map(len, grid.values())) * ways * resolved.experiment.trials
    if total > MOST_TRIALS:
        raise SpecError(
            f"{total:,} trials, and at most {MOST_TRIALS:,} can be run at a time",
            next_step="Use fewer trials, or a smaller grid of parameters.",
        )


def _seen_by(spec: LearnerSpec, dataset: ResolvedDataset, *, has_texts: bool) -> tuple[Representation | None, ...]:
    """Return the representations that a learner gets; None, once, for a learner of plain texts.

    If tuning chooses the representation, only the first one counts.
    """
    if "text" in spec.needs or ("text" in spec.supports and has_texts):
        return (None,)
    return dataset.tried[:1] or dataset.representations


def _describe_incompatible(pairs: Sequence[Pair]) -> tuple[str, ...]:
    """Return a line for all learners that cannot run on the same datasets, with the reason and the next step."""
    datasets: dict[tuple[str, str], list[str]] = {}
    for pair in pairs:
        if pair.trouble:
            datasets.setdefault((pair.label.text, pair.trouble), []).append(pair.dataset.name)
    learners: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for (label, trouble), where in datasets.items():
        learners.setdefault((trouble, tuple(where)), []).append(label)
    return tuple(_incompatibility(labels, where, trouble) for (trouble, where), labels in learners.items())


def _incompatibility(labels: Sequence[str], datasets: Sequence[str], trouble: str) -> str:
    titles = ", ".join(map(repr, labels))
    names = ", ".join(map(repr, datasets))
    learners = "learner" if len(labels) == 1 else "learners"
    where = f"dataset {names}: it" if len(datasets) == 1 else f"datasets {names}: each"
    return (
        f"{learners} {titles} cannot run on {where} {trouble}. Leave one of them out, or list the "
        "datasets of the learner in an experiment file: on = [...] in its [[learners]] table."
    )


def _incompatible(spec: LearnerSpec, header: Header, seen: Representation | None) -> str:
    """Return why a learner cannot take the data, as far as is known before training; empty if it can."""
    if header.multilabel and "multilabel" not in spec.supports:
        return "has several labels a row, and the learner takes one"
    unfit = _unfit(spec, header, seen)
    if unfit:
        return unfit
    if header.taxonomy_depth is None and "taxonomy" in spec.needs:
        return NO_TAXONOMY
    return ""


def _ways_to_a_taxonomy(learner: ResolvedLearner, dataset: ResolvedDataset) -> str:
    """Return ways to a taxonomy that the parameters of the dataset or the learner offer."""
    ways = ["labels that are paths (Food/Bakery) give one"]
    if "taxonomy" in dataset.params:
        ways.append(f"so does a file of the tree, {dataset.ref.source}(taxonomy=FILE)")
    if "taxonomy" in learner.defaults:
        ways.append("the learner's parameter taxonomy makes one, see `harness explain NAME`")
    return f" ({'; '.join(ways)})"


def _unfit(spec: LearnerSpec, header: Header, seen: Representation | None) -> str:
    """Return why a learner cannot take the data in this representation; empty if it can."""
    if seen is None:
        return "" if header.text_bytes is not None else "has no texts, which the learner needs"
    if "nonnegative" in spec.needs and seen.may_be_negative(header.negative):
        return f"has negative values (representation {seen.name!r}), which the learner forbids"
    return describe_unfit(seen, header)


def _set_ups(learner: ResolvedLearner, dataset: str) -> Iterator[tuple[Label, dict[str, Any]]]:
    """Yield each combination of parameters that were given as lists, labelled by its values."""
    params = _params_on(learner, dataset)
    _check_complete(learner, params)
    grid = _grid(params)
    for name, values in grid.items():
        if not values:
            raise SpecError(f"learner {learner.ref.label!r}: the list of values for {name!r} is empty")
    for combination in itertools.product(*grid.values()):
        chosen = dict(zip(grid, combination, strict=True))
        yield grid_label(learner.ref.label, chosen), {**params, **chosen}


def _params_on(learner: ResolvedLearner, dataset: str) -> dict[str, Any]:
    return {**learner.ref.params, **learner.ref.by_dataset.get(dataset, {})}


def _grid(params: Params) -> dict[str, list[Any]]:
    """The parameters that were given as lists."""
    return {name: value for name, value in params.items() if isinstance(value, list)}


def _check_complete(learner: ResolvedLearner, params: Params) -> None:
    label, spec = learner.ref.label, learner.entry.spec
    for name, default in learner.defaults.items():
        if default is REQUIRED and name not in params:
            raise SpecError(f"learner {label!r} needs a value for {name!r}: --set {spec.name}.{name}=VALUE")
    if spec.wraps and params.get(spec.wraps) is None:
        raise SpecError(f"learner {label!r} wraps another learner. Name it, as in {spec.name}(NAME).")


def identity_of(learner: ResolvedLearner, params: Params) -> dict[str, Any]:
    """Return the identity of a configured learner: its code and parameters, and those of wrapped learners."""
    spec, origin, wrapped = learner.entry.spec, learner.entry.origin, learner.wrapped_with(params)
    complete = {**learner.defaults, **params}
    if wrapped:
        complete[spec.wraps] = learner.place_wrapped([identity_of(each, each.ref.params) for each in wrapped])
    return {
        "learner": spec.name,
        "load": spec.load,
        "distribution": origin.distribution,
        "version": origin.version,
        "code": learner.code,
        "params": as_declared(complete, read_floats(spec.load)),
    }


def code_behind(learner: ResolvedLearner, params: Params) -> str:
    """Return the code digests of a learner and of the learners that it wraps."""
    return "+".join(dict.fromkeys(each.code for each in learner.chain_with(params)))


def decisive_tuning(tuning: TuningPlan) -> dict[str, Any]:
    """Return the parts of a tuning plan that decide its outcome."""
    return {
        "split": str(tuning.split),
        "metric": tuning.judge.name,
        "compute": tuning.judge.compute,
        "parameters": dict(tuning.judge.params),
        "direction": tuning.direction,
        "candidates": list(tuning.candidates),
        "seconds": tuning.seconds,
    }


def key_of(decisive: Params) -> str:
    """Return a hash of the values as `canonical_text` writes them."""
    return hashlib.sha256(canonical_text(decisive).encode()).hexdigest()[:20]


def canonical_text(value: Any) -> str:
    """Return a value as Python writes it, with dictionaries sorted.

    Parameters
    ----------
    value : object
        A parameter, or a structure of dictionaries, lists and tuples.
    """
    if isinstance(value, dict):
        items = [f"{key!r}: {canonical_text(item)}" for key, item in value.items()]
        return "{" + ", ".join(sorted(items)) + "}"
    if isinstance(value, list | tuple):
        return f"{type(value).__name__}({', '.join(map(canonical_text, value))})"
    return repr(value)


def list_candidates(label: str, ranges: Params, tuning: TuneTable, seed: int) -> list[dict[str, Any]]:
    """Return the candidates of tuning: all combinations, or a random sample without repeats.

    Each representation comes once before any parameter has a second value. A random search begins with the learner as
    configured, once for each representation.

    Parameters
    ----------
    label : str
        Label of the learner in error messages.
    ranges : Params
        For each tuned parameter, a list of values or a range.
    tuning : TuneTable
        The table [tune] of the experiment.
    seed : int
        Seed of a random search.

    Raises
    ------
    SpecError
        If a grid has a range in place of a list, or more than `MOST_CANDIDATES` combinations.
    """
    if tuning.search == "random":
        return _draw(label, ranges, tuning.candidates or 0, random.Random(seed))
    for name, values in ranges.items():
        if not isinstance(values, list):
            raise SpecError(f"tune: {label}.{name} is a range, which needs search = 'random'. Or list values.")
    total = math.prod(map(len, ranges.values()))
    if total > MOST_CANDIDATES:
        raise SpecError(
            f"tune: {label} has {total:,} combinations, more than {MOST_CANDIDATES:,}. Use search = 'random'."
        )
    return [dict(zip(ranges, values, strict=True)) for values in itertools.product(*ranges.values())]


def _draw(label: str, ranges: Params, count: int, chance: random.Random) -> list[dict[str, Any]]:
    representations = ranges.get(REPRESENTATION, [])
    if len(representations) > count:
        raise SpecError(
            f"tune: {label} has {count} candidates for {len(representations)} representations",
            next_step=f"Raise candidates to at least {len(representations)}: each representation is tried.",
        )
    drawn: list[dict[str, Any]] = [{REPRESENTATION: name} for name in representations] or [{}]
    for _ in range(20 * count):  # a small grid may not have as many different ones
        candidate = {name: _value_at(values, chance.random()) for name, values in ranges.items()}
        if len(drawn) == count:
            break
        if candidate not in drawn:
            drawn.append(candidate)
    return drawn


def _value_at(values: Any, share: float) -> Any:
    """Return the value at this share of a list or range; `random()` alone is the same in every Python version."""
    if isinstance(values, list):
        return values[int(share * len(values))]
    low, high = values["low"], values["high"]
    if values.get("log"):
        value = low * (high / low) ** share
    else:
        value = low + (high - low) * share
    if isinstance(low, int) and isinstance(high, int):
        return round(value)
    return float(f"{value:.4g}")


@dataclass(frozen=True)
class Plan:
    """The trials of an experiment, and the learners that cannot run on some of the data."""

    experiment: Experiment
    trials: tuple[Trial, ...]
    """By dataset, then trial, then learner: early results compare learners."""
    incompatible: tuple[str, ...] = ()
    """Learners that cannot run on some of the data, a line each."""
    sizes: Mapping[str, int] = field(default_factory=dict)
    """By dataset, the values or text bytes in its rows, times classes: an estimate of the work of a trial."""

    def check(self) -> None:
        """Raise DataError where no learner can run on any dataset."""
        if not self.trials and self.incompatible:
            raise DataError("\n".join(self.incompatible))


def plan(resolved: Resolved, headers: Mapping[str, Header], settle: Callable[[Pair], Pair] | None = None) -> Plan:
    """Return all trials of an experiment.

    Parameters
    ----------
    resolved : Resolved
        The experiment, with the plugins behind its names.
    headers : mapping of str to Header
        Facts about the stored form of each dataset, by name.
    settle : callable, optional
        Returns each pair as a stage of the experiment runs it.

    Raises
    ------
    HarnessError
        If a split does not fit a dataset.
    """
    experiment = resolved.experiment
    trials: list[Trial] = []
    pairs: list[Pair] = []
    for dataset in resolved.datasets:
        here = pairs_on(dataset, headers[dataset.name], resolved)
        if settle is not None:
            here = [pair if pair.trouble else settle(pair) for pair in here]
        for number in range(experiment.trials):
            due = [pair for pair in here if not pair.trouble and (pair.trials is None or number < pair.trials)]
            trials += [_trial(pair, number, resolved) for pair in due]
        pairs += here
    sizes = {dataset.name: work_of(headers[dataset.name]) for dataset in resolved.datasets}
    return Plan(experiment, _without_repeats(trials), _describe_incompatible(pairs), sizes)


def work_of(header: Header) -> int:
    """Return the values in the rows of a dataset, or the bytes of its texts, times classes.

    The number of rows is not a measure: a thousand titles are less than a hundred pages.
    """
    content = header.text_bytes if header.nonzeros is None else header.nonzeros
    return (content or 0) * header.classes


def _checked_split(dataset: ResolvedDataset, header: Header, split: Split, experiment: Experiment) -> Split:
    """Return the split under its full name; DataError if a part is empty or the training set has a single class."""
    culprit = f"dataset {dataset.name!r}"
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
    """Raise DataError for a seed whose training set has a single class."""
    from harness.data.arrays import open_dataset  # noqa: PLC0415 (brings scipy, seldom needed here)

    data = open_dataset(Path(header.folder))
    for seed in range(experiment.seed, experiment.seed + experiment.trials):
        train, _ = part_data(split, data, seed)
        labels = data.y[train]
        if (labels == labels[0]).all():
            raise DataError(
                f"split '{split}' with seed {seed} trains on a single class, {data.class_names[labels[0]]!r}",
                culprit=f"dataset {dataset.name!r}",
                next_step="Choose another share or seed.",
            )


def _trial(pair: Pair, number: int, resolved: Resolved) -> Trial:
    dataset, header, split = pair.dataset, pair.header, pair.split
    learner, params = pair.learner, pair.params
    spec, origin = learner.spec_with(params), learner.entry.origin
    # One seed for split and learner: trial n of every learner has the same split, as paired tests need.
    seed = resolved.experiment.seed + number
    depth = min(resolved.depth, max(MINIMUM_DEPTH, header.classes))  # there are no more classes to rank
    if "random_state" in learner.defaults and "random_state" not in params:
        params = {**params, "random_state": seed}
    curves = resolved.experiment.curves
    seen = _seen(pair)
    tuning = _tuning_plan(pair, seed, resolved)
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
        represented_folder="" if pair.tried else _represented_folder(pair, seed, seen),
        split=split,
        number=number,
        seed=seed,
        depth=depth,
        curves=curves,
        tuning_plan=tuning,
        to_tune=describe_tuning(pair, resolved) if tuning else pair.tuned_before,
    )


@dataclass(frozen=True)
class _Seen:
    """The name, plan and identity of a representation."""

    name: str
    plan: RepresentationPlan
    identity: list[Any]


def _seen(pair: Pair) -> _Seen:
    if pair.representation is None:
        return _Seen(TEXTS, RepresentationPlan(None, takes_text=True), [])
    identity = list(pair.representation.identity)
    if pair.counting is not None:
        identity.append(pair.counting.identity)
    plan = plan_representation(pair.representation, pair.header, pair.counting)
    if not pair.tried:
        return _Seen(pair.representation.name, plan, identity)
    identity += [tried.identity for tried in pair.tried]
    return _Seen(f"one of {', '.join(tried.name for tried in pair.tried)}", plan, identity)


def _represented_folder(pair: Pair, seed: int, seen: _Seen) -> str:
    """Return the folder of the represented parts; empty for texts."""
    if seen.plan.blueprint is None:
        return ""
    name, fingerprint = pair.dataset.entry.spec.name, pair.header.fingerprint
    folder = represented_name(name, fingerprint, str(pair.split), seed, canonical_text(seen.identity))
    return str(represented_root() / folder)


def _tuning_plan(pair: Pair, seed: int, resolved: Resolved) -> TuningPlan | None:
    """Return how parameters and representation are tuned; None without tuning."""
    tuning, ranges, judge = resolved.experiment.tune, _ranges(pair), resolved.judge
    chosen = {tried.name: tried for tried in pair.tried}
    if tuning is None or judge is None or not ranges:
        return None
    return TuningPlan(
        split=tuning.split,
        judge=call_of(judge),
        direction=judge.direction,
        candidates=tuple(list_candidates(pair.label.text, ranges, tuning, seed)),
        seconds=tuning.time,
        representations={
            name: plan_representation(tried, pair.header, pair.counting) for name, tried in chosen.items()
        },
    )


def _ranges(pair: Pair) -> dict[str, Any]:
    """Return the tuned parameters with their values."""
    ranges = dict(pair.learner.ref.tune)
    if pair.tried:
        ranges[REPRESENTATION] = [tried.name for tried in pair.tried]
    return ranges


def describe_tuning(pair: Pair, resolved: Resolved) -> str:
    """Return a description of the search that is the same for every seed."""
    tuning = resolved.experiment.tune
    assert tuning is not None
    details = [f"tuned {describe_params(_ranges(pair))}", f"{tuning.metric} on {tuning.split}"]
    if tuning.candidates is not None:
        details.append(f"{tuning.candidates} by chance")
    if tuning.time is not None:
        details.append(f"{tuning.time:g} s")
    return "; ".join(details)


# -- blueprints ------------------------------------------------------------------------------------------------------


def blueprint_of(learner: ResolvedLearner, params: Params) -> Blueprint:
    """Return the blueprint of a learner, with those of a wrapped learner and of estimators among its parameters."""
    built = {name: as_blueprints(value) for name, value in params.items()}
    wrapped = learner.wrapped_with(params)
    if wrapped:
        inside = [blueprint_of(each, each.ref.params) for each in wrapped]
        built[learner.entry.spec.wraps] = learner.place_wrapped(inside)
    return Blueprint(learner.entry.spec.load, built)


# -- repeats ---------------------------------------------------------------------------------------------------------


def _without_repeats(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Return the trials; SpecError if two have the same key, since they would share one record."""
    seen: dict[str, Trial] = {}
    for trial in trials:
        other = seen.setdefault(trial.key, trial)
        if other is trial:
            continue
        if other.dataset != trial.dataset:
            raise SpecError(
                f"datasets {_sourced(other)} and {_sourced(trial)} have the same content and representation. Leave "
                "one out, or check the file names."
            )
        raise SpecError(
            f"{other.label!r} and {trial.label!r} are the same learner with the same parameters on "
            f"{trial.dataset!r}. Leave one out."
        )
    return tuple(trials)


def _sourced(trial: Trial) -> str:
    """Return the name of a dataset, with its file or source if that differs."""
    source = trial.dataset_source
    if source in ("", trial.dataset):
        return repr(trial.dataset)
    return f"{trial.dataset!r} ({source})"


def read_experiment(raw: RawExperiment, session: Session) -> Resolved:
    """Return an experiment with every name looked up."""
    resolved = resolve(build(raw.table, raw.source, session.catalog), session.catalog)
    check_size(resolved)
    return resolved
