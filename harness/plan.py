"""Experiment -> trials. A trial's key is the hash of all that decides its result, and of nothing else."""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from harness.contract import Ability, DatasetSpec, LearnerSpec, Need
from harness.errors import DataError, SpecError, UnknownName
from harness.host import Catalog, Entry, Origin
from harness.signature import Source, import_parameters, import_target, read_parameters
from harness.spec import DatasetChoice, Experiment, LearnerChoice
from harness.split import split_sizes

if TYPE_CHECKING:
    from harness.data import Header  # brings scipy, which planning does without

MINIMUM_DEPTH = 10
"""Ranks kept a row, so that metrics thought of later can be computed without training again."""


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


@dataclass(frozen=True)
class ResolvedLearner:
    """A chosen learner with the plugin entry behind it and its parameters' defaults."""

    choice: LearnerChoice
    entry: Entry[LearnerSpec]
    defaults: Mapping[str, Any]


@dataclass(frozen=True)
class ResolvedDataset:
    """A chosen data set with the plugin entry behind it and all its parameters."""

    choice: DatasetChoice
    entry: Entry[DatasetSpec]
    params: Mapping[str, Any]


@dataclass(frozen=True)
class Resolved:
    """An experiment whose every name has been looked up."""

    experiment: Experiment
    learners: tuple[ResolvedLearner, ...]
    datasets: tuple[ResolvedDataset, ...]
    depth: int


# -- looking up names ------------------------------------------------------------------------------------------------


def resolve(experiment: Experiment, catalog: Catalog) -> Resolved:
    """Look up every learner, data set, metric and parameter name; the first unknown one is an error."""
    learners = []
    for learner in experiment.learners:
        learner_entry = find_learner(learner.name, catalog)
        defaults = parameters_of(learner_entry.spec)
        for params in (learner.params, *learner.by_dataset.values()):
            _check_params(f"learner {learner.label!r}", params, defaults)
        learners.append(ResolvedLearner(learner, learner_entry, defaults))
    datasets = []
    for dataset in experiment.datasets:
        entry = catalog.dataset(dataset.name)
        known = parameters_of(entry.spec)
        _check_params(f"data set {dataset.name!r}", dataset.params, known)
        datasets.append(ResolvedDataset(dataset, entry, {**known, **dataset.params}))
    for metric in experiment.metrics or ():
        catalog.metric(metric)
    # Every metric known is computed in every trial, so that choosing columns later costs nothing.
    depth = max([MINIMUM_DEPTH, *(entry.spec.depth for entry in catalog.metrics)])
    return Resolved(experiment, tuple(learners), tuple(datasets), depth)


def parameters_of(spec: LearnerSpec | DatasetSpec) -> Mapping[str, Any]:
    """Parameters and defaults: as declared, else as the source tells, else from the imported object."""
    if spec.parameters is not None:
        return spec.parameters
    found = read_parameters(spec.load)
    if found is not None:
        return found
    try:
        return import_parameters(spec.load)
    except Exception as error:
        raise SpecError(
            f"{spec.name!r} cannot be imported from {spec.load}: {type(error).__name__}: {error}"
        ) from error


def find_learner(name: str, catalog: Catalog) -> Entry[LearnerSpec]:
    """A learner by its registered name, or any importable classifier as module:Class."""
    try:
        return catalog.learner(name)
    except UnknownName as unknown:
        if ":" not in name:
            raise
        module, _, attribute = name.partition(":")
        try:
            return importable_learner(name)
        except ImportError as error:
            raise UnknownName(f"learner {name!r}: module {module!r} cannot be imported: {error}") from error
        except AttributeError:
            names = [n for n in dir(__import__(module, fromlist=["_"])) if n[:1].isupper()]
            near = get_close_matches(attribute, names, n=3)
            hint = f"did you mean {' or '.join(near)}?" if near else str(unknown)
            raise UnknownName(f"learner {name!r}: module {module!r} has no {attribute!r}; {hint}") from None


def importable_learner(target: str) -> Entry[LearnerSpec]:
    """An entry for any importable scikit-learn style classifier; what it can do is read from its tags."""
    from importlib.metadata import packages_distributions, version

    factory = import_target(target)
    if not (isinstance(factory, type) and hasattr(factory, "fit") and hasattr(factory, "predict")):
        raise SpecError(f"learner {target!r} is not a classifier: expected a class with fit and predict")
    needs: set[Need] = set()
    supports: set[Ability] = set()
    try:
        tags = factory().__sklearn_tags__()
        if tags.input_tags.positive_only:
            needs.add("nonnegative")
        if not tags.input_tags.sparse:
            needs.add("dense")
        if tags.classifier_tags and tags.classifier_tags.multi_label:
            supports.add("multilabel")
        if tags.estimator_type != "classifier":
            raise SpecError(f"learner {target!r} is a {tags.estimator_type or 'transformer'}, not a classifier")
    except (AttributeError, TypeError):
        pass  # not scikit-learn's own, or not to be made without arguments: the trial will tell
    top = target.partition(".")[0].partition(":")[0]
    distribution = packages_distributions().get(top, [top])[0]
    try:
        found = version(distribution)
    except ImportError:
        found = "unknown"
    module = target.partition(":")[0]
    spec = LearnerSpec(
        name=target,
        load=target,
        needs=frozenset(needs),
        supports=frozenset(supports),
        preload=(module,),
    )
    return Entry(spec, Origin(target, distribution, found))


def _check_params(whose: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=2)
            hint = f"did you mean {' or '.join(near)}?" if near else f"it has: {', '.join(known) or 'none'}"
            raise SpecError(f"{whose} has no parameter {name!r}; {hint}")


# -- making trials ---------------------------------------------------------------------------------------------------


def plan(resolved: Resolved, headers: Mapping[str, Header]) -> tuple[Trial, ...]:
    """All trials of an experiment, by data set, then trial, then learner, so that early results compare learners."""
    experiment = resolved.experiment
    trials: list[Trial] = []
    for dataset in resolved.datasets:
        header = headers[dataset.choice.name]
        representation = dataset.choice.representation or dataset.entry.spec.representation
        split = dataset.choice.split or experiment.split
        _check_split(dataset, header, split)
        variants = []
        for learner in resolved.learners:
            _check_fit(learner.entry.spec, learner.choice.label, dataset.choice.name, header, representation)
            variants += [(learner, *variant) for variant in _variants(learner, dataset.choice.name)]
        for number in range(experiment.trials):
            for learner, label, params in variants:
                shared = (header, dataset, representation, split, number, resolved)
                trials.append(_trial(learner, label, params, *shared))
    return _without_repeats(trials)


def _check_split(dataset: ResolvedDataset, header: Header, split: str) -> None:
    try:
        train, _ = split_sizes(split, header.rows, header.splits)
    except DataError as error:
        raise DataError(f"data set {dataset.choice.name!r}: {error}") from None
    if not header.multilabel and train <= header.largest_class:
        raise DataError(
            f"data set {dataset.choice.name!r}: split {split!r} trains on {train} rows, and one class has "
            f"{header.largest_class}: the training part could hold a single class"
        )


def _check_fit(spec: LearnerSpec, label: str, dataset: str, header: Header, representation: str) -> None:
    """Whether this learner can take this data at all, from what is known before any training."""
    trouble = None
    if header.multilabel and "multilabel" not in spec.supports:
        trouble = "has several labels a row, and the learner takes one"
    elif header.negative and representation != "binary" and "nonnegative" in spec.needs:
        trouble = f"has negative values (representation {representation!r}), which the learner forbids"
    elif header.taxonomy_depth is None and "taxonomy" in spec.needs:
        trouble = "has no taxonomy, which the learner needs"
    if trouble:
        raise DataError(f"learner {label!r} cannot run on data set {dataset!r}: it {trouble}; leave one of them out")


def _variants(learner: ResolvedLearner, dataset: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every combination of the parameters that were given as lists, labelled by those parameters."""
    params = {**learner.choice.params, **learner.choice.by_dataset.get(dataset, {})}
    grid = {name: value for name, value in params.items() if isinstance(value, list)}
    for name, values in grid.items():
        if not values:
            raise SpecError(f"learner {learner.choice.label!r}: the list of values for {name!r} is empty")
    for combination in itertools.product(*grid.values()):
        chosen = dict(zip(grid, combination, strict=True))
        suffix = ", ".join(f"{name}={value}" for name, value in chosen.items())
        yield (f"{learner.choice.label}({suffix})" if suffix else learner.choice.label), {**params, **chosen}


def _trial(
    learner: ResolvedLearner,
    label: str,
    params: dict[str, Any],
    header: Header,
    dataset: ResolvedDataset,
    representation: str,
    split: str,
    number: int,
    resolved: Resolved,
) -> Trial:
    spec, origin = learner.entry.spec, learner.entry.origin
    # One seed for split and learner: trial n of every learner meets the same split, so that trials can be paired.
    seed = resolved.experiment.seed + number
    if "random_state" in learner.defaults and "random_state" not in params:
        params = {**params, "random_state": seed}
    decisive = {
        "learner": spec.name,
        "load": spec.load,
        "distribution": origin.distribution,
        "version": origin.version,
        "params": {**learner.defaults, **params},
        "data": header.fingerprint,
        "representation": representation,
        "split": split,
        "seed": seed,
        "depth": resolved.depth,
    }
    return Trial(
        key=key_of(decisive),
        label=label,
        learner=spec.name,
        learner_load=spec.load,
        learner_kind=spec.kind,
        learner_distribution=origin.distribution,
        learner_version=origin.version,
        params=params,
        wants_dense="dense" in spec.needs,
        wants_taxonomy="taxonomy" in spec.needs,
        dataset=dataset.choice.name,
        dataset_params=dict(dataset.choice.params),
        data_folder=header.folder,
        fingerprint=header.fingerprint,
        representation=representation,
        split=split,
        number=number,
        seed=seed,
        depth=resolved.depth,
    )


def key_of(decisive: Mapping[str, Any]) -> str:
    """A short hash of canonical JSON."""
    text = json.dumps(decisive, sort_keys=True, default=_plain)
    return hashlib.sha256(text.encode()).hexdigest()[:20]


def _plain(value: object) -> str:
    return value.text if isinstance(value, Source) else repr(value)


def _without_repeats(trials: Sequence[Trial]) -> tuple[Trial, ...]:
    """Two labels for one and the same trial would race for one record: refuse them."""
    seen: dict[str, Trial] = {}
    for trial in trials:
        other = seen.setdefault(trial.key, trial)
        if other is not trial:
            raise SpecError(
                f"{other.label!r} and {trial.label!r} are the same learner with the same parameters on "
                f"{trial.dataset!r}: leave one out"
            )
    return tuple(trials)


def as_payload(trial: Trial) -> dict[str, Any]:
    """The trial as JSON-ready values, for the process that runs it."""
    return asdict(trial)
