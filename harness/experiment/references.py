"""References to datasets, representations and learners, as an experiment names them.

A dataset is a registered name, a file, a folder, an address, a dataset made from another, or a grid of these:
`icd10cm`, `titles.csv(text=title)`, `hf:NAME`, `subsample(icd10cm, classes=[100, 1000])`. References are read here;
`harness.experiment.resolve` looks up their plugins.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from harness.errors import DataError, SpecError, UnknownName
from harness.host.catalog import Catalog, Entry
from harness.host.contract import DatasetSpec, RepresentationSpec
from harness.host.importable import importable_representation
from harness.host.introspection import REQUIRED, code_of, import_target, parameters_of, read_floats
from harness.syntax.expression import Expression, Params, join_wrapped, parse, split_list
from harness.syntax.split import Split
from harness.syntax.values import (
    Label,
    RepresentationRef,
    StepRef,
    first_repeated,
    grid_label,
    is_file,
    parse_representation,
    plain_label,
    written,
)
from harness.text import nearest
from harness.trials.trial import Blueprint, RepresentationPlan

if TYPE_CHECKING:
    from harness.data.arrays import Header  # brings scipy, which planning does without
    from harness.experiment.schema import DatasetGroups, Experiment, LearnerTable

PACKINGS = (".gz", ".bz2", ".xz", ".zst")


MOST_POINTS = 10_000
"""Most datasets in one grid."""


@dataclass(frozen=True)
class DatasetRef:
    """A dataset to run on. Without representations or split, those of the dataset and the experiment apply."""

    source: str
    """The registered name, or the file."""
    label: Label
    """Name in tables."""
    params: Params = field(default_factory=dict)
    wrapped: str | None = None
    """The expression of the dataset that it is made from, if given without the name of a parameter."""
    representations: tuple[str, ...] = ()
    tried: tuple[str, ...] = ()
    """Representations that tuning chooses from."""
    split: Split | None = None


def stem_of(path: str) -> str:
    """Return the name of a file without its ending and without that of a compression."""
    name = PurePath(path).name or str(Path(path).resolve().name)
    ending = PurePath(name).suffix
    if ending in PACKINGS:
        name = name.removesuffix(ending)
    return PurePath(name).stem or name


def read_dataset(text: str) -> Expression:
    """Return a dataset as an expression. An existing file may have any name, such as "my titles (1).csv"."""
    try:
        return parse(text)
    except SpecError:
        if is_file(text) and os.path.exists(text):
            return Expression(text)
        raise


def dataset_inside(expression: Expression) -> str | None:
    """Return the dataset that an expression names between its brackets; SpecError if there are several."""
    if len(expression.positional) > 1:
        raise SpecError(f"cannot read {expression.positional[1]!r} in '{expression}': expected parameter=value")
    return next(iter(expression.positional), None)


def parse_dataset(text: str) -> DatasetRef:
    """Return the dataset that an expression names."""
    expression = read_dataset(text)
    wrapped = dataset_inside(expression)
    name = expression.label or name_of(expression.name, expression.params, wrapped)
    return DatasetRef(expression.name, plain_label(name), expression.params, wrapped)


def name_of(source: str, params: Params, wrapped: str | None) -> str:
    """Return the default label of a dataset: its expression if it wraps another, else its file's stem or its source."""
    if wrapped is not None:
        return written(source, params, str(parse_dataset(wrapped).label))
    path = source if is_file(source) else params.get("path")
    return stem_of(path) if isinstance(path, str) else source


def spread_grid(ref: DatasetRef) -> Iterator[DatasetRef]:
    """Yield a dataset for each combination of parameters that were given as lists, labelled by its values."""
    grid = {name: value for name, value in ref.params.items() if isinstance(value, list)}
    for name, values in grid.items():
        if not values:
            raise SpecError(f"dataset '{ref.label}': the list of values for {name!r} is empty")
    if not grid:
        yield ref
        return
    points = math.prod(map(len, grid.values()))
    if points > MOST_POINTS:
        raise SpecError(f"dataset '{ref.label}': a grid of {points:,} datasets, more than {MOST_POINTS:,}. List fewer.")
    named_by_itself = ref.label.text == name_of(ref.source, ref.params, ref.wrapped)
    for combination in itertools.product(*grid.values()):
        chosen = dict(zip(grid, combination, strict=True))
        params = {**ref.params, **chosen}
        label = grid_label(ref.label.family, chosen)
        if ref.wrapped is not None and named_by_itself:  # all parameters are in its name: no two look alike
            label = Label(name_of(ref.source, params, ref.wrapped), ref.label.family)
        yield replace(ref, label=label, params=params)


FOLDER = "/"


def find_address(source: str, catalog: Catalog, params: Params) -> Entry[DatasetSpec] | None:
    """Return the dataset that reads an address such as `hf:NAME`; None if no plugin has the scheme.

    Of several, the one that takes the parameters is chosen, then the one that is named like the scheme.
    """
    scheme, colon, _ = source.partition(":")
    readers = [entry for entry in catalog.datasets if f"{scheme}{colon}" in entry.spec.opens]
    if not colon or not readers:
        return None
    able = _taking(readers, params)
    named = [entry for entry in able if entry.spec.name == scheme]
    if len(named) > 1:
        return catalog.dataset(scheme)  # raises AmbiguousName with the plugins
    return (named or able)[0]


def find_file_format(path: str, catalog: Catalog, params: Params | None = None) -> Entry[DatasetSpec]:
    """Return the dataset that reads a file or folder: by its ending, else by the parameters, else by its content.

    Parameters
    ----------
    path : str
        The file or folder; `~` is the home folder.
    catalog : Catalog
        The registered datasets.
    params : Params, optional
        Parameters that the user set; datasets that do not have them are ruled out.

    Raises
    ------
    DataError
        If there is no such file, or if it is a pipe or a device.
    SpecError
        If several datasets, or none, can read it; the message lists them.
    """
    file = Path(os.path.expanduser(path))
    if not os.path.exists(file):
        raise DataError(
            "there is no such file, folder or registered dataset",
            culprit=f"dataset {path!r}",
            next_step=f"Give its path from {Path.cwd()}, or a name from `harness list datasets`.",
        )
    if not file.is_file() and not file.is_dir():  # reading a pipe may block for ever
        raise DataError(
            "neither a file nor a folder, but a pipe or a device",
            culprit=f"dataset {path!r}",
            next_step="Write its content to a file.",
        )
    formats = [entry for entry in catalog.datasets if entry.spec.opens]
    by_ending = [entry for entry in formats if ending_of(file) in entry.spec.opens]
    able = _taking(by_ending, params or {})
    recognising = [entry for entry in able if entry.spec.recognises]
    for only in (able, recognising):
        if len(only) == 1:
            return only[0]
    recognised = _recognised(by_ending or formats, file)
    if len(recognised) == 1:
        return recognised[0]
    able = recognised or by_ending or formats
    ways = " or ".join(f"\"{entry.spec.name}(path='{path}')\"" for entry in able) or "a plugin that opens files"
    trouble = "could be read in several ways" if recognised else "has no format that its name or content shows"
    raise SpecError(f"dataset {path!r} {trouble}. Choose one with --data {ways}.")


def _taking(entries: Sequence[Entry[DatasetSpec]], params: Params) -> list[Entry[DatasetSpec]]:
    """Return the entries whose loaders take all parameters; all entries if none does, for the error message."""
    able = [entry for entry in entries if params.keys() <= parameters_of(entry.spec).keys()]
    return able or list(entries)


def _recognised(formats: Sequence[Entry[DatasetSpec]], file: Path) -> list[Entry[DatasetSpec]]:
    """Return the formats that recognise the content of a file."""
    found = []
    for entry in formats:
        if entry.spec.recognises and import_target(entry.spec.recognises)(str(file)):
            found.append(entry)
    return found


def ending_of(file: Path) -> str:
    """Return the ending of a file in lower case, without that of a compression; FOLDER for a folder."""
    if file.is_dir():
        return FOLDER
    endings = [ending.lower() for ending in file.suffixes]
    unpacked = [ending for ending in endings if ending not in PACKINGS]
    return unpacked[-1] if unpacked else ""


# -- representations -------------------------------------------------------------------------------------------------


CHAIN, UNION = "sklearn.pipeline:Pipeline", "sklearn.pipeline:FeatureUnion"
TEXTS = "texts"
"""Name of the representation of learners that take plain texts."""


@dataclass(frozen=True)
class Step:
    """A representation with its plugin entry and the representation whose output it takes."""

    entry: Entry[RepresentationSpec]
    params: Params
    defaults: Params
    code: str
    before: Representation | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """Code and parameters of this step and of those before it, for keys."""
        spec, origin = self.entry.spec, self.entry.origin
        return {
            "load": spec.load,
            "distribution": origin.distribution,
            "version": origin.version,
            "code": self.code,
            "params": as_declared({**self.defaults, **self.params}, read_floats(spec.load)),
            "before": None if self.before is None else self.before.identity,
        }


@dataclass(frozen=True)
class Representation:
    """The input of a learner: one representation, or the columns of several side by side."""

    name: str
    """Name in tables."""
    beside: tuple[Step, ...]

    @property
    def identity(self) -> list[Any]:
        """The identities of its steps."""
        return [step.identity for step in self.beside]

    def firsts(self) -> Iterator[RepresentationSpec]:
        """Yield the specs of first steps, which take the data itself."""
        for step in self.beside:
            if step.before is None:
                yield step.entry.spec
            else:
                yield from step.before.firsts()

    def entries(self) -> Iterator[Entry[RepresentationSpec]]:
        """Yield the plugin entries of all steps."""
        for step in self.beside:
            yield step.entry
            if step.before is not None:
                yield from step.before.entries()

    def may_be_negative(self, negative: bool) -> bool:
        """Return whether its output may be negative, for data that is negative or not."""
        return any(_gives_negative(step, negative) for step in self.beside)


def _gives_negative(step: Step, negative: bool) -> bool:
    gives = step.entry.spec.gives
    if gives == "same":
        return negative if step.before is None else step.before.may_be_negative(negative)
    return gives == "vectors"


# -- looking up ------------------------------------------------------------------------------------------------------


def find_representation(text: str, catalog: Catalog) -> Representation:
    """Return the representation that a text names; looks up all names and parameters."""
    return _resolve(parse_representation(text), catalog)


def _resolve(ref: RepresentationRef, catalog: Catalog) -> Representation:
    return Representation(str(ref), tuple(_resolve_step(step, catalog) for step in ref.beside))


def _resolve_step(ref: StepRef, catalog: Catalog) -> Step:
    entry = _find_entry(ref.name, catalog)
    defaults = parameters_of(entry.spec)
    culprit = f"representation {ref.name!r}"
    check_params(culprit, ref.params, defaults)
    for name, default in defaults.items():
        if default is REQUIRED and name not in ref.params:
            raise SpecError(f"{culprit} needs a value for {name!r}, as in {ref.name}({name}=VALUE)")
    if ref.before is not None and entry.spec.takes == "text":
        raise SpecError(f"{culprit} takes texts: nothing can come before it, found {str(ref.before)!r}")
    before = None if ref.before is None else _resolve(ref.before, catalog)
    return Step(entry, ref.params, defaults, code_of(entry.spec.load, entry.origin), before)


def _find_entry(name: str, catalog: Catalog) -> Entry[RepresentationSpec]:
    """Return a registered representation, or an importable transformer given as module:Class."""
    try:
        return catalog.representation(name)
    except UnknownName:
        module, colon, attribute = name.rpartition(":")
        if not colon or any(entry.spec.name == attribute for entry in catalog.representations):
            raise
    return importable_representation(module, attribute)


# -- planning --------------------------------------------------------------------------------------------------------


def takes_text(representation: Representation, header: Header) -> bool:
    """Return whether a representation is fitted on the texts of a dataset: it takes texts, or there is nothing else."""
    wants = any(spec.takes == "text" for spec in representation.firsts())
    return wants or header.features is None


def describe_unfit(representation: Representation, header: Header) -> str:
    """Return why a representation cannot take the data; empty if it can.

    Parameters
    ----------
    representation : Representation
        The representation that a learner is to get.
    header : Header
        Facts about the dataset.

    Returns
    -------
    str
        The end of a sentence about the dataset, such as "has no texts, which ...".
    """
    if header.text_bytes is None and any(spec.takes == "text" for spec in representation.firsts()):
        return f"has no texts, which representation {representation.name!r} takes"
    takes_counts = any(spec.takes == "counts" for spec in representation.firsts())
    if takes_counts and takes_text(representation, header) and not header.counting:
        return f"has texts and no counts, which representation {representation.name!r} takes"
    return ""


def plan_representation(
    representation: Representation, header: Header, counting: Representation | None
) -> RepresentationPlan:
    """Return the transformers that are fitted on a dataset; steps that take counts follow `counting`."""
    return RepresentationPlan(_blueprint(representation, counting), takes_text(representation, header))


def _blueprint(representation: Representation, counting: Representation | None) -> Blueprint:
    built = [_blueprint_of_step(step, counting) for step in representation.beside]
    if len(built) == 1:
        return built[0]
    return Blueprint(UNION, {"transformer_list": _numbered(built)})


def _blueprint_of_step(step: Step, counting: Representation | None) -> Blueprint:
    own = Blueprint(step.entry.spec.load, {name: as_blueprints(value) for name, value in step.params.items()})
    before = None
    if step.before is not None:
        before = _blueprint(step.before, counting)
    elif counting is not None and step.entry.spec.takes == "counts":
        before = _blueprint(counting, None)
    return own if before is None else Blueprint(CHAIN, {"steps": _numbered([before, own])})


def _numbered(built: list[Blueprint]) -> list[tuple[str, Blueprint]]:
    return [(str(number), blueprint) for number, blueprint in enumerate(built, 1)]


# -- learners --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class LearnerRef:
    """A learner to run, with parameters for all datasets and for some. A list of values is a grid."""

    name: str
    label: str
    params: Params = field(default_factory=dict)
    wrapped: str | None = None
    """The expression of the wrapped learner, or of several, if given without the name of a parameter."""
    by_dataset: Mapping[str, Params] = field(default_factory=dict)
    tune: Params = field(default_factory=dict)
    """Tuned parameters, each with a list of values or a range."""
    tune_auto: bool = False
    """True to try the grid of the learner's spec, unless `tune` has one."""
    on: frozenset[str] | None = None
    """Labels of the only datasets that it runs on; None for all."""


def learner_refs(experiment: Experiment, groups: DatasetGroups) -> tuple[LearnerRef, ...]:
    """Return the learners of an experiment with the `set` and `tune` tables applied."""
    labels = [label_of(table) for table in experiment.learners]
    twice = first_repeated(labels)
    if twice is not None:
        raise SpecError(f"two learners are labelled {twice!r}. Give one another label (label=...).")
    members = _members(groups)
    settings = _Settings(experiment.set, labels, members)
    chosen = []
    for table, label in zip(experiment.learners, labels, strict=True):
        params, by_dataset = settings.lay_over(table, label)
        _check_known(label, "has parameters for", by_dataset, members)
        _check_known(label, "is to run on", table.on or (), members)
        ref = LearnerRef(
            name=table.name,
            label=label,
            params=params,
            wrapped=table.wrapped,
            by_dataset=_for_each(by_dataset, members),
            tune=_tuned(table.name, label, labels, experiment),
            tune_auto=experiment.tune is not None and experiment.tune.auto,
            on=_only_on(table.on, members),
        )
        chosen.append(ref)
    settings.check_all_used(chosen, experiment)
    _check_tuned(chosen, experiment)
    return tuple(chosen)


def label_of(table: LearnerTable) -> str:
    """Return the label of a learner: its name without a module; for wrappers, with the wrapped learner's."""
    return table.label or _default_label(table.name, table.wrapped)


def _default_label(name: str, wrapped: str | None) -> str:
    bare = name.rpartition(":")[2]
    if wrapped is None:
        return bare
    labels = []
    for text in split_list(wrapped):
        inside = parse(text)
        labels.append(_default_label(inside.name, join_wrapped(inside.positional)))
    return f"{bare}({'+'.join(labels)})"


def _members(groups: DatasetGroups) -> dict[str, list[str]]:
    """Return the datasets that each label of a dataset or grid refers to."""
    members: dict[str, list[str]] = {}
    for group in groups.values():
        members |= {ref.label.text: [ref.label.text] for ref in group}
    members |= {name: [ref.label.text for ref in group] for name, group in groups.items()}
    return members


class _Settings:
    """The `set` table, and the entries of it that were used."""

    def __init__(self, table: Mapping[str, dict[str, Any]], labels: Sequence[str], members: Params) -> None:
        self.table, self.labels, self.members = table, labels, members
        self.used: set[str] = set()

    def lay_over(self, learner: LearnerTable, label: str) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Return the parameters of a learner, and those by dataset, with the table applied."""
        params = dict(learner.params)
        by_dataset = {name: dict(own) for name, own in learner.datasets.items()}
        for target, values in self.table.items():
            name, where = self._parted(target)
            expected = label if name in self.labels else learner.name
            if name != expected or (where and where not in self.members):
                continue
            self.used.add(target)
            if where:
                by_dataset.setdefault(where, {}).update(values)
            else:
                params.update(values)
        return params, by_dataset

    def _parted(self, target: str) -> tuple[str, str]:
        """Return learner and dataset of a key; a label may contain an @."""
        if target in self.labels:
            return target, ""
        name, _, where = target.partition("@")
        return name, where

    def check_all_used(self, chosen: Sequence[LearnerRef], experiment: Experiment) -> None:
        """Raise SpecError for an unused entry: its name is most likely misspelt."""
        datasets = {*self.members, *(table.name for table in experiment.datasets if table.name)}
        unused = sorted(set(self.table) - self.used - datasets)
        if unused:
            known = sorted({ref.label for ref in chosen} | set(self.members))
            raise SpecError(f"set.{unused[0]} matches no learner or dataset of this run ({', '.join(known)})")


def _check_known(label: str, trouble: str, named: Any, members: Params) -> None:
    unknown = sorted(set(named) - set(members))
    if unknown:
        raise SpecError(f"learner {label!r} {trouble} {unknown[0]!r}, which is not in datasets")


def _for_each(by_dataset: Mapping[str, dict[str, Any]], members: Mapping[str, list[str]]) -> dict[str, dict[str, Any]]:
    """Return parameters by dataset: those of a grid for each of its datasets, unless the dataset has its own."""
    spread: dict[str, dict[str, Any]] = {}
    for where in sorted(by_dataset, key=lambda name: -len(members[name])):
        for name in members[where]:
            spread.setdefault(name, {}).update(by_dataset[where])
    return spread


def _only_on(on: Sequence[str] | None, members: Mapping[str, list[str]]) -> frozenset[str] | None:
    if on is None:
        return None
    return frozenset(name for where in on for name in members[where])


def _tuned(name: str, label: str, labels: Sequence[str], experiment: Experiment) -> dict[str, Any]:
    """Return the tuned parameters of a learner: by label, else by name."""
    if experiment.tune is None:
        return {}
    given = experiment.tune.params
    by_name = {} if name in labels else given.get(name, {})
    return dict(given.get(label) or by_name)


def _check_tuned(chosen: Sequence[LearnerRef], experiment: Experiment) -> None:
    if experiment.tune is None:
        return
    known = {ref.name for ref in chosen} | {ref.label for ref in chosen}
    lost = sorted(set(experiment.tune.params) - known)
    if lost:
        labels = ", ".join(sorted(ref.label for ref in chosen))
        raise SpecError(f"tune.params.{lost[0]} matches no learner of this run ({labels})")


PLAIN = "numbers, texts, true, false, none, estimators, and lists, tuples and dictionaries of these"


def check_params(culprit: str, given: Params, known: Params) -> None:
    """Raise SpecError for an unknown parameter, or a value that a record cannot store."""
    for name, value in given.items():
        if name not in known:
            near = nearest(name, known, most=2)
            hint = f"Did you mean {' or '.join(near)}?" if near else f"It has: {', '.join(known) or 'none'}."
            raise SpecError(f"{culprit} has no parameter {name!r}. {hint}")
        if not _is_plain(value):
            raise SpecError(f"{culprit}: {name}={value!r} cannot be passed on; allowed: {PLAIN}")


def _is_plain(value: Any) -> bool:
    """Return whether a key and a record can store a value."""
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        # A tuple cannot be a key in JSON, and two different ones would become one text.
        keys_fit = all(_is_plain(key) and not isinstance(key, tuple) for key in value)
        return keys_fit and all(map(_is_plain, value.values()))
    return value is None or isinstance(value, bool | int | float | str | Expression)


def as_declared(params: Params, floats: frozenset[str]) -> dict[str, Any]:
    """Return parameters with integers as floats where declared so: C=1 and C=1.0 are the same trial."""
    declared = dict(params)
    for name in floats & params.keys():
        if type(params[name]) is int:
            declared[name] = float(params[name])
    return declared


def as_blueprints(value: Any) -> Any:
    """Return the value of a parameter with estimators as blueprints."""
    if isinstance(value, Expression):
        params = {name: as_blueprints(inner) for name, inner in value.params.items()}
        return Blueprint(value.name, params)
    if isinstance(value, list | tuple):
        return type(value)(map(as_blueprints, value))
    return value
