"""Experiment + catalog -> Resolved: every learner, data set, metric and parameter name looked up, before any work."""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType
from typing import Any

from harness.contract import Ability, DatasetSpec, LearnerSpec, MetricSpec, Need
from harness.errors import SpecError, UnknownName
from harness.experiment.dataset_ref import DatasetChoice, choice_of, is_file
from harness.experiment.file_formats import find_opener
from harness.experiment.spec import Experiment, LearnerChoice
from harness.expression import parse
from harness.host import Catalog, Entry, Origin
from harness.metric import find_metric
from harness.signature import REQUIRED, import_target, parameters_of

MINIMUM_DEPTH = 10
"""Ranks kept a row, so that metrics thought of later can be computed without training again."""

PLAIN = "numbers, texts, true, false, none, and lists, tuples and dictionaries of these"


@dataclass(frozen=True)
class ResolvedLearner:
    """A chosen learner with the plugin entry behind it and its parameters' defaults."""

    choice: LearnerChoice
    entry: Entry[LearnerSpec]
    defaults: Mapping[str, Any]
    inner: Mapping[str, ResolvedLearner] = field(default_factory=dict)
    """For a learner round another: what each text that names one stands for."""

    @property
    def preload(self) -> tuple[str, ...]:
        """The modules that its trials want warm."""
        inner = (module for inside in self.inner.values() for module in inside.preload)
        return (*self.entry.spec.preload, *inner)

    def inside(self, params: Mapping[str, Any]) -> ResolvedLearner | None:
        """The learner inside, with these parameters of the one around."""
        text = params.get(self.entry.spec.wraps)
        return self.inner[text] if text is not None else None

    def spec_with(self, params: Mapping[str, Any]) -> LearnerSpec:
        """What this learner is, needs and supports, with the learner inside taken into account.

        What it brings itself, by a parameter of that name, is no need: `hsvm(taxonomy="cluster")`.
        """
        spec, inside = self.entry.spec, self.inside(params)
        spec = replace(spec, needs=frozenset(need for need in spec.needs if params.get(need) is None))
        if inside is None:
            return spec
        other = inside.spec_with(inside.choice.params)
        return replace(
            spec,
            kind=other.kind,
            needs=spec.needs | other.needs,
            supports=spec.supports & other.supports,
        )


@dataclass(frozen=True)
class ResolvedDataset:
    """A chosen data set with the plugin entry behind it and all its parameters."""

    choice: DatasetChoice
    entry: Entry[DatasetSpec]
    params: Mapping[str, Any]
    inner: ResolvedDataset | None = None
    """The data set inside, for one made from another."""


@dataclass(frozen=True)
class Resolved:
    """An experiment whose every name has been looked up."""

    experiment: Experiment
    learners: tuple[ResolvedLearner, ...]
    datasets: tuple[ResolvedDataset, ...]
    depth: int
    metrics: tuple[Entry[MetricSpec], ...] = ()
    """What every trial computes: all metrics that cost next to nothing, and those asked for."""
    judge: MetricSpec | None = None
    """The metric that tuning goes by."""


def resolve(experiment: Experiment, catalog: Catalog) -> Resolved:
    """Look up every learner, data set, metric and parameter name; the first unknown one is an error."""
    learners = [_resolve_learner(learner, catalog) for learner in experiment.learners]
    datasets = [resolve_dataset(dataset, catalog) for dataset in experiment.datasets]
    # Almost every metric known is computed in every trial, so that choosing columns later costs nothing.
    metrics = [entry for entry in catalog.metrics if entry.spec.always]
    asked = [find_metric(name, catalog) for name in experiment.metrics or ()]
    metrics += [entry for entry in asked if entry not in metrics]
    depth = max([MINIMUM_DEPTH, *(entry.spec.depth for entry in metrics)])
    judge = find_metric(experiment.tune.metric, catalog).spec if experiment.tune else None
    return Resolved(experiment, tuple(learners), tuple(datasets), depth, tuple(metrics), judge)


def resolve_dataset(choice: DatasetChoice, catalog: Catalog) -> ResolvedDataset:
    """Look up one data set, a file's opener, or what is inside of one made from another, and all parameters."""
    if is_file(choice.wanted) and all(entry.spec.name != choice.wanted for entry in catalog.datasets):
        entry = find_opener(choice.wanted, catalog)
        choice = replace(choice, params={"path": choice.wanted, **choice.params})
    else:
        entry = _find_dataset(choice.wanted, catalog)
    known, wraps = parameters_of(entry.spec), entry.spec.wraps
    _check_params(f"data set {choice.name!r}", choice.params, known)
    params = {**known, **choice.params}
    for name, value in params.items():
        if value is REQUIRED:
            example = f"{entry.spec.name}(NAME)" if name == wraps else f"{entry.spec.name}({name}=VALUE)"
            raise SpecError(f'data set {choice.name!r} needs a value for {name!r}, as in --data "{example}"')
    if not wraps:
        return ResolvedDataset(choice, entry, params)
    inner = resolve_dataset(choice_of(str(params[wraps])), catalog)
    spec = replace(entry.spec, representation=inner.entry.spec.representation)
    return ResolvedDataset(choice, replace(entry, spec=spec), params, inner)


def _find_dataset(name: str, catalog: Catalog) -> Entry[DatasetSpec]:
    try:
        return catalog.dataset(name)
    except UnknownName as error:
        here = Path(name)
        if not here.exists():
            raise
        what = "folder" if here.is_dir() else "file"
        raise UnknownName(f"{error}; there is a {what} of that name here: to read it, write ./{name}") from None


def _resolve_learner(choice: LearnerChoice, catalog: Catalog) -> ResolvedLearner:
    entry = find_learner(choice.name, catalog)
    defaults = parameters_of(entry.spec)
    _check_params(f"tune: learner {choice.label!r}", choice.tune, defaults)
    if entry.spec.wraps in choice.tune:
        raise SpecError(f"tune: {choice.label}.{entry.spec.wraps} cannot be tuned: compare the learners side by side")
    inner: dict[str, ResolvedLearner] = {}
    for params in (choice.params, *choice.by_dataset.values()):
        _check_params(f"learner {choice.label!r}", params, defaults)
        named = params.get(entry.spec.wraps)
        for text in named if isinstance(named, list) else [named]:
            if text is not None:
                expression = parse(str(text))
                inside = LearnerChoice(expression.name, str(text), expression.params)
                inner[text] = _resolve_learner(inside, catalog)
    return ResolvedLearner(choice, entry, defaults, inner)


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
