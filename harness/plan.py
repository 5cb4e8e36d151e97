"""Experiment -> trials. A trial's key is the hash of all that decides its result, and of nothing else."""

from __future__ import annotations

import hashlib
import importlib
import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from harness.contract import Ability, DatasetSpec, LearnerSpec, Need
from harness.errors import DataError, SpecError, UnknownName
from harness.host import Catalog, Entry, Origin
from harness.signature import REQUIRED, import_parameters, import_target, read_parameters
from harness.spec import DatasetChoice, Experiment, LearnerChoice
from harness.split import settle_split, split_rows, split_sizes

if TYPE_CHECKING:
    from harness.data import Header  # brings scipy, which planning does without

MINIMUM_DEPTH = 10
"""Ranks kept a row, so that metrics thought of later can be computed without training again."""

PLAIN = "numbers, texts, true, false, none, and lists, tuples and dictionaries of these"


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
    except UnknownName:
        module, colon, attribute = name.rpartition(":")
        if not colon or any(entry.spec.name == attribute for entry in catalog.learners):
            raise
    return importable_learner(module, attribute)


def importable_learner(module: str, attribute: str) -> Entry[LearnerSpec]:
    """An entry for any importable scikit-learn style classifier; what it can do is read from its tags."""
    target = f"{module}:{attribute}"
    try:
        found = importlib.import_module(module)
    except (Exception, SystemExit) as error:
        reason = f"{type(error).__name__}: {error}"
        raise UnknownName(f"learner {target!r}: module {module!r} cannot be imported: {reason}") from error
    try:
        factory = import_target(target)
    except AttributeError:
        names = [name for name, value in vars(found).items() if _is_learner(value)]
        near = get_close_matches(attribute, names, n=3)
        hint = f"did you mean {' or '.join(near)}?" if near else f"its learners: {', '.join(names) or 'none'}"
        raise UnknownName(f"learner {target!r}: module {module!r} has no {attribute!r}; {hint}") from None
    if not _is_learner(factory):
        raise SpecError(f"learner {target!r} is not a classifier: expected a class with fit and predict")
    needs, supports = _read_tags(target, factory)
    spec = LearnerSpec(name=target, load=target, needs=needs, supports=supports, preload=(module,))
    return Entry(spec, Origin(target, *_distribution_of(found)))


def _is_learner(value: Any) -> bool:
    return isinstance(value, type) and hasattr(value, "fit") and hasattr(value, "predict")


def _read_tags(target: str, factory: Any) -> tuple[frozenset[Need], frozenset[Ability]]:
    needs: set[Need] = set()
    supports: set[Ability] = set()
    try:
        tags: Any = factory().__sklearn_tags__()
    except Exception:  # not scikit-learn's own, or not to be made without arguments: the trial will tell
        return frozenset(), frozenset()
    if tags.estimator_type != "classifier":
        raise SpecError(f"learner {target!r} is a {tags.estimator_type or 'transformer'}, not a classifier")
    if tags.input_tags.positive_only:
        needs.add("nonnegative")
    if not tags.input_tags.sparse:
        needs.add("dense")
    if tags.classifier_tags and tags.classifier_tags.multi_label:
        supports.add("multilabel")
    return frozenset(needs), frozenset(supports)


def _distribution_of(module: ModuleType) -> tuple[str, str]:
    """Name and version of what a module belongs to; for a file of one's own its name and a hash of its content."""
    from importlib.metadata import packages_distributions, version

    top = module.__name__.partition(".")[0]
    distributions = packages_distributions().get(top)
    if distributions:
        return distributions[0], version(distributions[0])
    source = Path(module.__file__ or "")
    content = source.read_bytes() if source.is_file() else b""
    return source.name or top, hashlib.sha256(content).hexdigest()[:12]


def _check_params(whose: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    for name, value in given.items():
        if name not in known:
            near = get_close_matches(name, known, n=2)
            hint = f"did you mean {' or '.join(near)}?" if near else f"it has: {', '.join(known) or 'none'}"
            raise SpecError(f"{whose} has no parameter {name!r}; {hint}")
        if not _is_plain(value):
            raise SpecError(f"{whose}: {name}={value!r} cannot be passed on; allowed: {PLAIN}")


def _is_plain(value: Any) -> bool:
    """Whether a value can be written down in a key and in a record."""
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        return all(not isinstance(key, tuple) and _is_plain(key) and _is_plain(item) for key, item in value.items())
    return value is None or isinstance(value, bool | int | float | str)


# -- making trials ---------------------------------------------------------------------------------------------------


def plan(resolved: Resolved, headers: Mapping[str, Header]) -> tuple[Trial, ...]:
    """All trials of an experiment, by data set, then trial, then learner, so that early results compare learners."""
    experiment = resolved.experiment
    trials: list[Trial] = []
    for dataset in resolved.datasets:
        header = headers[dataset.choice.name]
        representation = dataset.choice.representation or dataset.entry.spec.representation
        split = _checked_split(dataset, header, dataset.choice.split or experiment.split, experiment)
        variants = []
        for learner in resolved.learners:
            _check_fit(learner.entry.spec, learner.choice.label, dataset.choice.name, header, representation)
            variants += [(learner, *variant) for variant in _variants(learner, dataset.choice.name)]
        for number in range(experiment.trials):
            for learner, label, params in variants:
                shared = (header, dataset, representation, split, number, resolved)
                trials.append(_trial(learner, label, params, *shared))
    return _without_repeats(trials)


def _checked_split(dataset: ResolvedDataset, header: Header, split: str, experiment: Experiment) -> str:
    """The split under its full name; DataError when a part of it would be empty, or train on a single class."""
    try:
        train, _ = split_sizes(split, header.rows, header.splits)
    except DataError as error:
        raise DataError(f"data set {dataset.choice.name!r}: {error}") from None
    if not header.multilabel and train <= header.largest_class:
        _check_classes(dataset, header, split, experiment)
    return settle_split(split, header.splits)


def _check_classes(dataset: ResolvedDataset, header: Header, split: str, experiment: Experiment) -> None:
    """Draw the splits that will be used: only one class has rows enough to fill a training part, so it is cheap."""
    from harness.data import open_dataset

    data = open_dataset(Path(header.folder))
    for seed in range(experiment.seed, experiment.seed + experiment.trials):
        labels = data.y[split_rows(split, header.rows, seed, data.splits)[0]]
        if (labels == labels[0]).all():
            raise DataError(
                f"data set {dataset.choice.name!r}: split {split!r} with seed {seed} trains on a single class, "
                f"{data.class_names[labels[0]]!r}: choose another share or seed"
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
    for name, default in learner.defaults.items():
        if default is REQUIRED and name not in params:
            raise SpecError(f"learner {learner.choice.label!r} needs a value for {name!r}: --set NAME.{name}=VALUE")
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
