"""Representations looked up, and planned for a data set: what is fitted on its texts or counts, and in which order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.catalog import Catalog, Entry
from harness.code import code_of
from harness.contract import RepresentationSpec
from harness.errors import SpecError, UnknownName
from harness.experiment.importable import importable_representation
from harness.experiment.parameters import as_blueprints, as_declared, check_params
from harness.experiment.representation_ref import RepresentationRef, StepRef, parse_representation
from harness.params import Params
from harness.signature import REQUIRED, parameters_of, read_floats
from harness.trials.blueprint import Blueprint
from harness.trials.trial import RepresentationPlan

if TYPE_CHECKING:
    from harness.data.arrays import Header  # brings scipy, which planning does without

CHAIN, UNION = "sklearn.pipeline:Pipeline", "sklearn.pipeline:FeatureUnion"
TEXTS = "texts"
"""What the representation of a learner that takes texts as they are is called."""


@dataclass(frozen=True)
class Step:
    """A representation with the plugin entry behind it, and what comes before it."""

    entry: Entry[RepresentationSpec]
    params: Params
    defaults: Params
    code: str
    before: Representation | None = None

    @property
    def identity(self) -> dict[str, Any]:
        """What tells it from another: its code and all its parameters, and those of what comes before."""
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
    """What a learner sees of the data: one representation, or the columns of several side by side."""

    name: str
    """What it goes by in tables."""
    beside: tuple[Step, ...]

    @property
    def identity(self) -> list[Any]:
        """What tells it from another."""
        return [step.identity for step in self.beside]

    def firsts(self) -> Iterator[RepresentationSpec]:
        """The specs of those that nothing comes before: they meet the data itself."""
        for step in self.beside:
            if step.before is None:
                yield step.entry.spec
            else:
                yield from step.before.firsts()

    def entries(self) -> Iterator[Entry[RepresentationSpec]]:
        """All that it is made of."""
        for step in self.beside:
            yield step.entry
            if step.before is not None:
                yield from step.before.entries()

    def may_be_negative(self, negative: bool) -> bool:
        """Whether it may give negative numbers, from data that has them or not."""
        return any(_gives_negative(step, negative) for step in self.beside)


def _gives_negative(step: Step, negative: bool) -> bool:
    gives = step.entry.spec.gives
    if gives == "same":
        return negative if step.before is None else step.before.may_be_negative(negative)
    return gives == "vectors"


# -- looking up ------------------------------------------------------------------------------------------------------


def find_representation(text: str, catalog: Catalog) -> Representation:
    """The representation that a text names, with every name and parameter in it looked up."""
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
    """A representation by its registered name, or any importable transformer as module:Class."""
    try:
        return catalog.representation(name)
    except UnknownName:
        module, colon, attribute = name.rpartition(":")
        if not colon or any(entry.spec.name == attribute for entry in catalog.representations):
            raise
    return importable_representation(module, attribute)


# -- planning --------------------------------------------------------------------------------------------------------


def takes_text(representation: Representation, header: Header) -> bool:
    """Whether a representation is fitted on the texts of a data set: it wants them, or there is nothing else."""
    wants = any(spec.takes == "text" for spec in representation.firsts())
    return wants or header.features is None


def tell_unfit(representation: Representation, header: Header) -> str:
    """What about the data a representation cannot take; nothing where it can."""
    if header.text_bytes is None and any(spec.takes == "text" for spec in representation.firsts()):
        return f"has no texts, which representation {representation.name!r} takes"
    takes_counts = any(spec.takes == "counts" for spec in representation.firsts())
    if takes_counts and takes_text(representation, header) and not header.counting:
        return f"has texts and no counts, which representation {representation.name!r} takes"
    return ""


def plan_representation(
    representation: Representation, header: Header, counting: Representation | None
) -> RepresentationPlan:
    """What is fitted on a data set; before what takes counts comes what the data set says, `counting`."""
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
