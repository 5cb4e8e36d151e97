"""Learners by the group: `all`, those of a kind (`flat`, `tree`), or those whose names fit a pattern (`topdown-*`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from typing import Any

from harness.catalog import Catalog
from harness.contract import KINDS, LearnerSpec
from harness.environments.environment import environment_for
from harness.errors import SpecError, UnknownName
from harness.expression import parse, split_list
from harness.signature import REQUIRED, read_parameters

ALL = "all"


def expand_groups(learners: Any, catalog: Catalog) -> Any:
    """The learners of an experiment, as they were given, with the members of a group in the place of its name.

    A group leaves out learners that are built round others, those that stand beside it by name, and those whose
    environment is not there: none is built unless its learner is asked for by name. What holds no group
    is given back untouched, and so is what cannot be read: whoever validates the experiment says why.
    """
    try:
        written = split_list(learners) if isinstance(learners, str) else learners
    except SpecError:
        return learners
    if not isinstance(written, Sequence):
        return learners
    registered = {entry.spec.name for entry in catalog.learners}
    groups = [item for item in written if isinstance(item, str) and item not in registered and _is_group(item)]
    if not groups:
        return learners
    others = [item for item in written if item not in groups]
    taken = {_goes_by(item) for item in others}
    expanded: list[Any] = []
    for item in written:
        if item not in groups:
            expanded.append(item)
            continue
        members = [name for name in members_of(item, catalog) if name not in taken]
        taken.update(members)
        expanded += members
    return expanded


def without_absent(raw: Mapping[str, Any], catalog: Catalog) -> dict[str, Any]:
    """An experiment with its groups spelt out, and no word of tuning for registered learners that are not in it.

    Which learners a group has depends on what is installed, and a file that names one cannot know it.
    """
    learners = expand_groups(raw.get("learners"), catalog)
    if learners is raw.get("learners"):
        return dict(raw)
    present = {_goes_by(item) for item in learners}
    absent = {entry.spec.name for entry in catalog.learners} - present
    tune = dict(raw.get("tune", {}))
    if "params" in tune:
        tune["params"] = {name: ranges for name, ranges in tune["params"].items() if name not in absent}
    return {**raw, "learners": learners, **({"tune": tune} if tune else {})}


def members_of(group: str, catalog: Catalog) -> list[str]:
    """The names of the learners in a group, sorted; UnknownName where there are none."""
    specs = [entry.spec for entry in catalog.learners if _belongs(entry.spec, group)]
    names = {spec.name for spec in specs if _is_at_hand(spec)}
    if names:
        return sorted(names)
    error = UnknownName(f"no learner is in the group {group!r}: `harness list learners` shows all with their kinds")
    if specs:
        unbuilt = " ".join(sorted({spec.name for spec in specs}))
        error = error.adding(f"`harness env build {unbuilt}` builds the environments of those that it would have")
    raise error


def _is_at_hand(spec: LearnerSpec) -> bool:
    environment = environment_for(spec.environment)
    return environment is None or environment.find() is not None


def _is_group(item: str) -> bool:
    """Brackets and labels make it a learner's own expression, whatever is in them."""
    return item in (ALL, *KINDS) or ("*" in item and "(" not in item and "=" not in item)


def _belongs(spec: LearnerSpec, group: str) -> bool:
    if spec.wraps or REQUIRED in (spec.parameters or read_parameters(spec.load) or {}).values():
        return False  # it cannot run by its name alone
    return group in (ALL, spec.kind) or fnmatchcase(spec.name, group)


def _goes_by(item: Any) -> str:
    """The label of a learner that stands by itself, as far as it can be read."""
    if isinstance(item, dict):
        return str(item.get("label") or item.get("name"))
    try:
        expression = parse(str(item))
    except SpecError:
        return ""
    return expression.label or expression.name
