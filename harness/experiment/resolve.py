"""Experiment + catalog -> Resolved: every learner, data set, metric and parameter name looked up, before any work."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from harness.catalog import Catalog, Entry
from harness.code import code_of
from harness.contract import DatasetSpec, LearnerSpec, MetricSpec
from harness.environments.environment import Environment, ReadyEnvironment, environment_for
from harness.errors import SpecError, UnknownName
from harness.experiment.dataset_ref import DatasetRef, is_file, parse_dataset
from harness.experiment.file_formats import find_address, find_file_format
from harness.experiment.importable import find_learner
from harness.experiment.learner_ref import LearnerRef, learner_refs
from harness.experiment.parameters import check_params
from harness.experiment.representations import Representation, find_representation
from harness.experiment.schema import Experiment, dataset_groups, kept_datasets
from harness.expression import parse
from harness.metric import find_metric
from harness.params import Params
from harness.signature import REQUIRED, parameters_of

MINIMUM_DEPTH = 10
"""Ranks kept a row, so that metrics thought of later can be computed without training again."""


@dataclass(frozen=True)
class ResolvedLearner:
    """A chosen learner with the plugin entry behind it and its parameters' defaults."""

    ref: LearnerRef
    """With the learner that it wraps, if any, among its parameters."""
    entry: Entry[LearnerSpec]
    defaults: Params
    code: str = ""
    """Digest of its source files."""
    known_wrapped: Mapping[str, ResolvedLearner] = field(default_factory=dict)
    """For a learner round another: what each text that names one stands for."""

    def chains(self) -> list[tuple[ResolvedLearner, ...]]:
        """The learner and those inside it, from the outside in; one such chain for each that it may wrap."""
        if not self.known_wrapped:
            return [(self,)]
        inner = [chain for wrapped in self.known_wrapped.values() for chain in wrapped.chains()]
        return [(self, *chain) for chain in inner]

    def chain_with(self, params: Params) -> tuple[ResolvedLearner, ...]:
        """The learner and those inside it, with these parameters of its own."""
        wrapped = self.wrapped_with(params)
        return (self,) if wrapped is None else (self, *wrapped.chain_with(wrapped.ref.params))

    def wrapped_with(self, params: Params) -> ResolvedLearner | None:
        """The learner that it wraps, with these parameters of its own."""
        named = params.get(self.entry.spec.wraps)
        return None if named is None else self.known_wrapped[str(named)]

    def spec_with(self, params: Params) -> LearnerSpec:
        """What this learner is, needs and supports, with the learner that it wraps taken into account.

        What it brings itself, by a parameter of that name, is no need: `hsvm(taxonomy="cluster")`.
        """
        spec = self.entry.spec
        needs = frozenset(need for need in spec.needs if params.get(need) is None)
        wrapped = self.wrapped_with(params)
        if wrapped is None:
            return spec if needs == spec.needs else replace(spec, needs=needs)
        other = wrapped.spec_with(wrapped.ref.params)
        return replace(spec, kind=other.kind, needs=needs | other.needs, supports=spec.supports & other.supports)


@dataclass(frozen=True)
class ResolvedDataset:
    """A chosen data set with the plugin entry behind it and all its parameters."""

    ref: DatasetRef
    """With the data set that it wraps, if any, among its parameters."""
    entry: Entry[DatasetSpec]
    params: Params
    wrapped: ResolvedDataset | None = None
    """The data set that it is made from, for one made from another."""
    representations: tuple[Representation, ...] = ()
    """What learners see of it: each of these in turn."""
    tried: tuple[Representation, ...] = ()
    """Or one of these, which tuning chooses."""

    @property
    def name(self) -> str:
        """What it goes by in tables."""
        return self.ref.label.text


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
    catalog: Catalog = field(default_factory=Catalog)
    """Where the representations that data sets are counted by are looked up, once their headers are read."""
    environments: Mapping[str, ReadyEnvironment] = field(default_factory=dict)
    """By name, those that its learners run in, once they are there."""

    @property
    def preload(self) -> dict[str, tuple[str, ...]]:
        """The modules that trials want warm, each once, by whose code they run together with."""
        modules: dict[str, dict[str, None]] = {}
        for learner in self.learners:
            for chain in learner.chains():
                wanted = modules.setdefault(code_group(chain), {})
                for each in chain:
                    wanted |= dict.fromkeys(each.entry.spec.preload)
        return {group: tuple(names) for group, names in modules.items() if names}

    @property
    def interpreters(self) -> dict[str, str]:
        """The Python of each group of trials that has one of its own."""
        found: dict[str, str] = {}
        for learner in self.learners:
            for chain in learner.chains():
                environment = environment_of(chain)
                if environment is not None:
                    found[code_group(chain)] = str(self.environments[environment.name].python)
        return found


def code_group(chain: Sequence[ResolvedLearner]) -> str:
    """Whose code a trial runs: trials of one group share what was imported ahead, those of different groups nothing.

    Trials that want nothing imported ahead can be of one group, since there is nothing to share; those that run in an
    environment share it at most.
    """
    entries = [learner.entry for learner in chain]
    environment = environment_of(chain)
    if environment is None and not any(entry.spec.preload for entry in entries):
        return ""
    group = "+".join(sorted({entry.origin.distribution for entry in entries}))
    return group if environment is None else f"{group} in {environment.name}"


def environment_of(chain: Iterable[ResolvedLearner]) -> Environment | None:
    """The environment of a learner and those inside it: with all that any of them asks for; None where none does."""
    asked: list[str] = []
    for learner in chain:
        asked += learner.entry.spec.environment
    return environment_for(tuple(asked))


def resolve(experiment: Experiment, catalog: Catalog) -> Resolved:
    """Look up every learner, data set, metric and parameter name; the first unknown one is an error."""
    groups = dataset_groups(experiment)
    learners = [resolve_learner(ref, catalog) for ref in learner_refs(experiment, groups)]
    datasets = [resolve_dataset(ref, catalog) for ref in kept_datasets(groups, experiment.leave_out)]
    # Almost every metric known is computed in every trial, so that choosing columns later costs nothing.
    metrics = [entry for entry in catalog.metrics if entry.spec.always]
    for name in experiment.metrics or ():
        asked = find_metric(name, catalog)
        if asked not in metrics:
            metrics.append(asked)
    depth = max([MINIMUM_DEPTH, *(entry.spec.depth for entry in metrics)])
    judge = find_metric(experiment.tune.metric, catalog).spec if experiment.tune else None
    return Resolved(experiment, tuple(learners), tuple(datasets), depth, tuple(metrics), judge, catalog)


# -- data sets -------------------------------------------------------------------------------------------------------


def resolve_dataset(ref: DatasetRef, catalog: Catalog) -> ResolvedDataset:
    """Look up one data set, the format of a file, or what another is made from, and all parameters."""
    entry = find_address(ref.source, catalog, ref.params)
    if entry is not None:
        ref = replace(ref, params={"path": ref.source.partition(":")[2], **ref.params})
    elif is_file(ref.source) and all(known.spec.name != ref.source for known in catalog.datasets):
        entry = find_file_format(ref.source, catalog, ref.params)
        ref = replace(ref, params={"path": ref.source, **ref.params})
    else:
        entry = _find_dataset(ref.source, catalog)
    culprit = f"data set '{ref.label}'"
    ref = replace(ref, params=bind_wrapped(culprit, ref.params, ref.wrapped, entry.spec.wraps))
    known = parameters_of(entry.spec)
    check_params(culprit, ref.params, known)
    params = {**known, **ref.params}
    _check_complete(culprit, params, entry.spec)
    wrapped = None
    if entry.spec.wraps:
        wrapped = resolve_dataset(parse_dataset(str(params[entry.spec.wraps])), catalog)
        entry = replace(entry, spec=replace(entry.spec, representation=wrapped.entry.spec.representation))
    named = ref.representations or (entry.spec.representation,)
    representations = tuple(find_representation(name, catalog) for name in named)
    tried = tuple(find_representation(name, catalog) for name in ref.tried)
    return ResolvedDataset(ref, entry, params, wrapped, representations, tried)


def _find_dataset(name: str, catalog: Catalog) -> Entry[DatasetSpec]:
    try:
        return catalog.dataset(name)
    except UnknownName as error:
        here = Path(name)
        if not os.path.exists(here):
            raise
        what = "folder" if here.is_dir() else "file"
        raise UnknownName(f"{error}; there is a {what} of that name here: to read it, write ./{name}") from None


def _check_complete(culprit: str, params: Params, spec: DatasetSpec) -> None:
    for name, value in params.items():
        if value is REQUIRED:
            example = f"{spec.name}(NAME)" if name == spec.wraps else f"{spec.name}({name}=VALUE)"
            raise SpecError(f'{culprit} needs a value for {name!r}, as in --data "{example}"')


# -- learners --------------------------------------------------------------------------------------------------------


def resolve_learner(ref: LearnerRef, catalog: Catalog) -> ResolvedLearner:
    """Look up one learner, those that it wraps, and all parameters."""
    entry = find_learner(ref.name, catalog)
    wraps = entry.spec.wraps
    defaults = parameters_of(entry.spec)
    culprit = f"learner {ref.label!r}"
    ref = replace(ref, params=bind_wrapped(culprit, ref.params, ref.wrapped, wraps))
    if isinstance(defaults.get(wraps), str):  # a learner by name inside of one is part of what the trial's key covers
        ref = replace(ref, params={wraps: defaults[wraps], **ref.params})
    check_params(f"tune: {culprit}", ref.tune, defaults)
    if wraps in ref.tune:
        raise SpecError(f"tune: {ref.label}.{wraps} cannot be tuned: compare the learners side by side")
    twice = sorted(ref.tune.keys() & ref.params.keys())
    if twice:
        raise SpecError(f"{ref.label}.{twice[0]} is set and tuned: leave out one of the two")
    known: dict[str, ResolvedLearner] = {}
    for params in (ref.params, *ref.by_dataset.values()):
        check_params(culprit, params, defaults)
        for text in _texts(params.get(wraps)):
            known[text] = _resolve_wrapped(text, catalog)
    return ResolvedLearner(ref, entry, defaults, code_of(entry.spec.load, entry.origin), known)


def _resolve_wrapped(text: str, catalog: Catalog) -> ResolvedLearner:
    expression = parse(text)
    wrapped = next(iter(expression.positional), None)
    return resolve_learner(LearnerRef(expression.name, text, expression.params, wrapped), catalog)


def _texts(value: Any) -> list[str]:
    """The learners that a parameter names: one, several of a grid, or none."""
    values = value if isinstance(value, list) else [value]
    return [str(one) for one in values if one is not None]


# -- parameters ------------------------------------------------------------------------------------------------------


def bind_wrapped(culprit: str, params: Params, wrapped: str | None, wraps: str) -> Params:
    """The parameters, with what stands without a name bound to the parameter that it is for."""
    if wrapped is None:
        return params
    if not wraps:
        raise SpecError(f"{culprit} is not built round another: cannot read {wrapped!r}, expected parameter=value")
    if wraps in params:
        raise SpecError(f"{culprit} is given {wraps!r} twice: as {wrapped!r} and as {params[wraps]!r}")
    return {wraps: wrapped, **params}
