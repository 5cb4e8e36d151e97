"""Look up the plugins behind the names of an experiment: learners, datasets, metrics and parameters.

Everything is looked up before a run starts. The module also finds or builds the environments of learners, and reads
datasets that are not in the data home yet.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from harness.data.arrays import Header, is_complete, parsed_folder, read_header
from harness.data.load import parse_in_process
from harness.environments import (
    Environment,
    ReadyEnvironment,
    build_environment,
    environment_for,
    find_intact,
)
from harness.errors import DataError, HarnessError, SpecError, UnknownName
from harness.executors.base import Executor
from harness.executors.local import loading_executor
from harness.experiment.references import (
    DatasetRef,
    LearnerRef,
    Representation,
    check_params,
    find_address,
    find_file_format,
    find_representation,
    learner_refs,
    parse_dataset,
)
from harness.experiment.schema import Experiment, dataset_groups, kept_datasets
from harness.files.home import remove
from harness.host.catalog import Catalog, Entry, find_metric, is_foreign
from harness.host.contract import DatasetSpec, LearnerSpec, MetricSpec
from harness.host.discovery import Session
from harness.host.importable import find_learner
from harness.host.introspection import REQUIRED, code_of, parameters_of
from harness.records.record import Record
from harness.syntax.expression import Params, join_wrapped, parse, split_list
from harness.syntax.values import is_file
from harness.text import as_warning
from harness.trials.trial import Trial

MINIMUM_DEPTH = 10
"""Number of ranks stored for each row, if no metric needs more. Metrics can be computed from them later."""


@dataclass(frozen=True)
class ResolvedLearner:
    """A learner of an experiment, with its plugin entry and the defaults of its parameters."""

    ref: LearnerRef
    """The reference; its parameters include the wrapped learner, if there is one."""
    entry: Entry[LearnerSpec]
    defaults: Params
    code: str = ""
    """Digest of its source files."""
    known_wrapped: Mapping[str, ResolvedLearner] = field(default_factory=dict)
    """For a wrapper, the learners that its parameters name, by expression."""

    def chains(self) -> list[tuple[ResolvedLearner, ...]]:
        """Return the chains of this learner and the learners inside it, outermost first.

        A wrapper with several wrapped learners has a chain for each.
        """
        if not self.known_wrapped:
            return [(self,)]
        if self.entry.spec.wraps_several:
            inside = [each for wrapped in self.known_wrapped.values() for chain in wrapped.chains() for each in chain]
            return [(self, *inside)]
        inner = [chain for wrapped in self.known_wrapped.values() for chain in wrapped.chains()]
        return [(self, *chain) for chain in inner]

    def chain_with(self, params: Params) -> tuple[ResolvedLearner, ...]:
        """Return the learner and the learners inside it, outermost first, for these parameters."""
        inside = [each for wrapped in self.wrapped_with(params) for each in wrapped.chain_with(wrapped.ref.params)]
        return (self, *inside)

    def wrapped_with(self, params: Params) -> list[ResolvedLearner]:
        """Return the learners that these parameters name as wrapped: none, one, or several."""
        return [self.known_wrapped[text] for text in _texts(params.get(self.entry.spec.wraps))]

    def place_wrapped(self, values: Sequence[Any]) -> Any:
        """Return one value for each wrapped learner in the form of the wrapping parameter: a list, or the only one."""
        return list(values) if self.entry.spec.wraps_several else values[0]

    def spec_with(self, params: Params) -> LearnerSpec:
        """Return the spec of this learner, combined with the spec of a wrapped learner.

        A need that a parameter meets is dropped, such as the taxonomy of `hsvm(taxonomy="cluster")`.

        Parameters
        ----------
        params : Params
            Parameters that differ from the defaults.
        """
        spec = self.entry.spec
        needs = frozenset(need for need in spec.needs if params.get(need) is None)
        others = [wrapped.spec_with(wrapped.ref.params) for wrapped in self.wrapped_with(params)]
        if not others:
            return spec if needs == spec.needs else replace(spec, needs=needs)
        kind = others[0].kind if len({other.kind for other in others}) == 1 else spec.kind
        supports = spec.supports.intersection(*(other.supports for other in others))
        return replace(spec, kind=kind, needs=needs.union(*(other.needs for other in others)), supports=supports)


@dataclass(frozen=True)
class ResolvedDataset:
    """A dataset of an experiment, with its plugin entry and all its parameters."""

    ref: DatasetRef
    """The reference; its parameters include the wrapped dataset, if there is one."""
    entry: Entry[DatasetSpec]
    params: Params
    wrapped: ResolvedDataset | None = None
    """The dataset that it is made from, such as the one that is subsampled."""
    representations: tuple[Representation, ...] = ()
    """The representations of the experiment."""
    tried: tuple[Representation, ...] = ()
    """Representations that tuning chooses from."""

    @property
    def name(self) -> str:
        """The label in tables."""
        return self.ref.label.text


@dataclass(frozen=True)
class Resolved:
    """An experiment with the plugins behind its names."""

    experiment: Experiment
    learners: tuple[ResolvedLearner, ...]
    datasets: tuple[ResolvedDataset, ...]
    depth: int
    metrics: tuple[Entry[MetricSpec], ...] = ()
    """The metrics to compute in every trial: those that the experiment names, the cheap ones of this project, and those
    of other plugins that tables show by default."""
    judge: MetricSpec | None = None
    """The metric that tuning optimises."""
    catalog: Catalog = field(default_factory=Catalog)
    """The registered plugins."""
    environments: Mapping[str, ReadyEnvironment] = field(default_factory=dict)
    """The environments of its learners by name; `find_environments` fills them in."""

    @property
    def preload(self) -> dict[str, tuple[str, ...]]:
        """The modules to import before trials start, by code group."""
        modules: dict[str, dict[str, None]] = {}
        for learner in self.learners:
            for chain in learner.chains():
                wanted = modules.setdefault(code_group(chain), {})
                for each in chain:
                    wanted |= dict.fromkeys(each.entry.spec.preload)
        return {group: tuple(names) for group, names in modules.items() if names}

    @property
    def interpreters(self) -> dict[str, str]:
        """The path of the Python interpreter of each code group that runs in an environment."""
        found: dict[str, str] = {}
        for learner in self.learners:
            for chain in learner.chains():
                environment = environment_of(chain)
                if environment is not None:
                    found[code_group(chain)] = str(self.environments[environment.name].python)
        return found


def code_group(chain: Sequence[ResolvedLearner]) -> str:
    """Return the code group of a chain of learners. Only trials of the same group share preloaded modules.

    The group names the distributions of the learners and their environment. All trials without an environment and
    without modules to preload are in one group, named "".
    """
    entries = [learner.entry for learner in chain]
    environment = environment_of(chain)
    if environment is None and not any(entry.spec.preload for entry in entries):
        return ""
    group = "+".join(sorted({entry.origin.distribution for entry in entries}))
    return group if environment is None else f"{group} in {environment.name}"


def environment_of(chain: Iterable[ResolvedLearner]) -> Environment | None:
    """Return an environment with the packages that any learner of a chain requires; None if none requires any."""
    requirements: list[str] = []
    for learner in chain:
        requirements += learner.entry.spec.environment
    return environment_for(tuple(requirements))


def resolve(experiment: Experiment, catalog: Catalog) -> Resolved:
    """Look up every learner, dataset, metric and parameter of an experiment.

    Parameters
    ----------
    experiment : Experiment
        The validated experiment.
    catalog : Catalog
        The registered plugins.

    Raises
    ------
    HarnessError
        For the first unknown name, invalid parameter or missing file.
    """
    groups = dataset_groups(experiment)
    learners = [resolve_learner(ref, catalog) for ref in learner_refs(experiment, groups)]
    datasets = [resolve_dataset(ref, catalog) for ref in kept_datasets(groups, experiment.leave_out)]
    # Cheap metrics are always computed. Tables can then show them later without another run. A metric of another plugin
    # costs a process for each trial, so it is computed only if a table shows it.
    metrics = []
    for entry in catalog.unique_metrics():
        if entry.spec.always and (entry.spec.shown or not is_foreign(entry)):
            metrics.append(entry)
    for name in experiment.metrics or ():
        entry = find_metric(name, catalog)
        if entry not in metrics:
            metrics.append(entry)
    depth = max([MINIMUM_DEPTH, *(entry.spec.depth for entry in metrics)])
    judge = find_metric(experiment.tune.metric, catalog).spec if experiment.tune else None
    return Resolved(experiment, tuple(learners), tuple(datasets), depth, tuple(metrics), judge, catalog)


# -- datasets -------------------------------------------------------------------------------------------------------


def resolve_dataset(ref: DatasetRef, catalog: Catalog) -> ResolvedDataset:
    """Look up one dataset, the dataset that it is made from, its representations, and all parameters.

    The plugin is found by address (`hf:NAME`), by the format of a file, or by name.

    Parameters
    ----------
    ref : DatasetRef
        The dataset as the experiment refers to it.
    catalog : Catalog
        The registered datasets.

    Raises
    ------
    HarnessError
        If a name or parameter is unknown, a value is missing, or a file does not exist.
    """
    entry = find_address(ref.source, catalog, ref.params)
    if entry is not None:
        ref = replace(ref, params={"path": ref.source.partition(":")[2], **ref.params})
    elif is_file(ref.source) and all(known.spec.name != ref.source for known in catalog.datasets):
        entry = find_file_format(ref.source, catalog, ref.params)
        ref = replace(ref, params={"path": ref.source, **ref.params})
    else:
        entry = _find_dataset(ref.source, catalog)
    culprit = f"dataset '{ref.label}'"
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
    """Look up one learner, the learners that it wraps, and all parameters.

    Parameters
    ----------
    ref : LearnerRef
        The learner as the experiment refers to it.
    catalog : Catalog
        The registered learners.

    Raises
    ------
    HarnessError
        If a name or parameter is unknown, or a parameter is both set and tuned.
    """
    entry = find_learner(ref.name, catalog)
    wraps = entry.spec.wraps
    defaults = parameters_of(entry.spec)
    culprit = f"learner {ref.label!r}"
    ref = replace(ref, params=bind_wrapped(culprit, ref.params, ref.wrapped, wraps))
    if isinstance(defaults.get(wraps), str):  # a default learner must be looked up too: the key has its code
        ref = replace(ref, params={wraps: defaults[wraps], **ref.params})
    if ref.tune_auto and not ref.tune:
        ref = replace(ref, tune=_own_grid(entry.spec, ref, defaults))
    check_params(f"tune: {culprit}", ref.tune, defaults)
    if wraps in ref.tune:
        raise SpecError(f"tune: {ref.label}.{wraps} cannot be tuned: compare the learners side by side")
    twice = sorted(ref.tune.keys() & ref.params.keys())
    if twice:
        raise SpecError(f"{ref.label}.{twice[0]} is set and tuned. Leave out one of the two.")
    known: dict[str, ResolvedLearner] = {}
    for params in (ref.params, *ref.by_dataset.values()):
        check_params(culprit, params, defaults)
        for text in _texts(params.get(wraps)):
            known[text] = _resolve_wrapped(text, catalog)
        for value in _values(params.get(wraps)):
            _check_number(culprit, _texts(value), entry.spec)
    return ResolvedLearner(ref, entry, defaults, code_of(entry.spec.load, entry.origin), known)


def _own_grid(spec: LearnerSpec, ref: LearnerRef, defaults: Params) -> dict[str, list[Any]]:
    """Return the grid of a learner's spec, without the parameters that are set.

    Default values come first. The first candidate then has all defaults, and it wins ties.
    """
    fixed = set(ref.params).union(*ref.by_dataset.values())
    grid = {}
    for name, values in spec.tune.items():
        if name not in fixed:
            default = defaults.get(name)
            others = [value for value in values if value != default]
            grid[name] = [default, *others] if default in values else others
    return grid


def _resolve_wrapped(text: str, catalog: Catalog) -> ResolvedLearner:
    expression = parse(text)
    wrapped = join_wrapped(expression.positional)
    return resolve_learner(LearnerRef(expression.name, text, expression.params, wrapped), catalog)


def _texts(value: Any) -> list[str]:
    """Return the learners that a parameter names: one, several with commas between them or of a grid, or none."""
    return [text for one in _values(value) for text in split_list(str(one))]


def _values(value: Any) -> list[Any]:
    """Return the values of a parameter: those of a grid, one, or none."""
    return [one for one in (value if isinstance(value, list) else [value]) if one is not None]


def _check_number(culprit: str, texts: Sequence[str], spec: LearnerSpec) -> None:
    """Raise SpecError for several wrapped learners where one is expected, or for one where several are."""
    if spec.wraps_several and len(texts) < 2:
        raise SpecError(
            f"{culprit} takes two or more learners, got {texts[0]!r}", next_step=f"Write {spec.name}({texts[0]}, NAME)."
        )
    if spec.wraps and not spec.wraps_several and len(texts) > 1:
        raise SpecError(f"{culprit} wraps one learner: cannot read {texts[1]!r}, expected parameter=value")


# -- parameters ------------------------------------------------------------------------------------------------------


def bind_wrapped(culprit: str, params: Params, wrapped: str | None, wraps: str) -> Params:
    """Return the parameters with a positional argument bound to the parameter that it is for.

    Parameters
    ----------
    culprit : str
        The learner or dataset in errors.
    params : mapping
        The named parameters.
    wrapped : str or None
        The positional argument: the expression of a wrapped learner or dataset.
    wraps : str
        The name of the parameter for it; empty if the plugin wraps nothing.

    Examples
    --------
    >>> bind_wrapped("learner 'bag'", {"n": 10}, "pa", "base")
    {'base': 'pa', 'n': 10}
    """
    if wrapped is None:
        return params
    if not wraps:
        raise SpecError(f"{culprit} wraps nothing: cannot read {wrapped!r}, expected parameter=value")
    if wraps in params:
        raise SpecError(f"{culprit} is given {wraps!r} twice: as {wrapped!r} and as {params[wraps]!r}")
    return {wraps: wrapped, **params}


def preparer(session: Session) -> Callable[[ResolvedDataset], Header]:
    """Return a function that reads a dataset with the session's plugins, in a separate process, if it is not stored."""

    def prepare(dataset: ResolvedDataset) -> Header:
        with loading_executor(session.folders) as executor:
            return prepare_dataset(dataset, executor)

    return prepare


def find_environments(resolved: Resolved, *, build: bool, say: Callable[[str], None]) -> Resolved:
    """Return the experiment with the environments of its learners, which are built if missing and `build` is True.

    Parameters
    ----------
    resolved : Resolved
        The experiment.
    build : bool
        Whether missing environments may be built.
    say : callable
        Receives lines about a build.

    Raises
    ------
    HarnessError
        If an environment is missing and may not be built, or if building it fails.
    """
    ready: dict[str, ReadyEnvironment] = {}
    for learner in resolved.learners:
        for chain in learner.chains():
            environment = environment_of(chain)
            if environment is not None and environment.name not in ready:
                needy = [inner.ref.name for inner in chain if inner.entry.spec.environment]
                ready[environment.name] = find_or_build_environment(environment, needy, build=build, say=say)
    return replace(resolved, environments=ready)


def find_or_build_environment(
    environment: Environment, learners: Sequence[str], *, build: bool, say: Callable[[str], None]
) -> ReadyEnvironment:
    """Return the environment of a learner, or of several learners that wrap each other.

    Parameters
    ----------
    environment : Environment
        The required packages.
    learners : sequence of str
        The names of the learners, for messages.
    build : bool
        True to build a missing environment.
    say : callable
        Shows a line of progress.

    Raises
    ------
    HarnessError
        If the environment is missing and may not be built, or if building it fails.
    """
    ready = find_intact(environment, say)
    if ready is not None:
        return ready
    together = " and ".join(learners)
    culprit = f"learner {together!r}"
    if not build:
        # `harness env build` takes one learner. Only a run can build the combined environment of several.
        builder = f"`harness env build {learners[0]}`" if len(learners) == 1 else "`harness run --build`"
        raise HarnessError(
            f"needs an environment with {', '.join(environment.requirements)}, which is not built",
            culprit=culprit,
            next_step=f"{builder} builds it.",
        )
    say(f"{together} needs packages of its own")
    try:
        return build_environment(environment, say)
    except HarnessError as error:
        raise error.within(culprit) from None


def dataset_folder(dataset: ResolvedDataset, wrapped: Header | None) -> Path:
    """Return the folder of a parsed dataset. Its name has a hash of everything that decides the content.

    Parameters
    ----------
    dataset : ResolvedDataset
        The dataset.
    wrapped : Header or None
        Facts about the dataset that it is made from; None if there is none.
    """
    params = dict(dataset.params)
    if wrapped:
        params[dataset.entry.spec.wraps] = wrapped.fingerprint
    try:
        return parsed_folder(dataset.entry, params)
    except DataError:
        raise
    except Exception as error:  # a plugin computes the stamp of a dataset, and may raise any type
        raise DataError(f"{type(error).__name__}: {error}", culprit=f"dataset {dataset.name!r}") from error


def prepare_dataset(dataset: ResolvedDataset, executor: Executor, progress: Progress | None = None) -> Header:
    """Return the header of a dataset, which is read and stored first unless the data home has it.

    A dataset that is made from another one needs that one first. A stored dataset that was changed is read again.

    Parameters
    ----------
    dataset : ResolvedDataset
        The dataset.
    executor : Executor
        Runs its loader in a separate process.
    progress : Progress, optional
        Is notified when a dataset is read for the first time.

    Raises
    ------
    DataError
        If the dataset is missing or malformed.
    """
    wrapped = prepare_dataset(dataset.wrapped, executor, progress) if dataset.wrapped else None
    folder = dataset_folder(dataset, wrapped)
    shown = progress or NullProgress()
    header = read_header(folder)
    if header is not None and is_complete(header):
        return header
    if header is not None:
        shown.say(as_warning(f"{folder} was changed since {dataset.name} was read: reading it again"))
        remove(folder)
    shown.on_data(dataset.name)
    spec = dataset.entry.spec
    made_from = {spec.wraps: wrapped.folder} if wrapped else None
    return parse_in_process(dataset.name, spec.load, dataset.ref.params, folder, executor, made_from)


class Progress(Protocol):
    """Receives the events of a run in their order."""

    def say(self, text: str) -> None:
        """Show a permanent line."""

    def begin(self, total: int) -> None:
        """Set the number of trials that are about to run."""

    def on_data(self, name: str) -> None:
        """Report that a dataset is read for the first time."""

    def on_phase(self, trial: Trial, phase: str, worker: str = "") -> None:
        """Report the next phase of a trial, and its worker; empty for this machine."""

    def on_record(self, record: Record) -> None:
        """Report that a trial has ended and its record is stored."""

    def end(self) -> None:
        """Report that the run is over, also after an error."""


class NullProgress:
    """Shows nothing."""

    def say(self, text: str) -> None: ...

    def begin(self, total: int) -> None: ...

    def on_data(self, name: str) -> None: ...

    def on_phase(self, trial: Trial, phase: str, worker: str = "") -> None: ...

    def on_record(self, record: Record) -> None: ...

    def end(self) -> None: ...
