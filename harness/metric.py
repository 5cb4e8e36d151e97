"""Metric names -> MetricSpecs: a registered name, or one of a family: `r7`, `rk(k=7)`, `loss=tree_loss(costs=1)`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from harness.contract import MetricSpec
from harness.errors import SpecError, UnknownName
from harness.expression import parse
from harness.host import Catalog, Entry


def find_metric(text: str, catalog: Catalog) -> Entry[MetricSpec]:
    """The metric that a text names, its parameters bound; UnknownName or SpecError says what is wrong."""
    expression = parse(text)
    try:
        entry = catalog.metric(expression.name)
        given = expression.params
    except UnknownName:
        found = None if expression.params else _by_short_name(expression.name, catalog)
        if found is None:
            raise
        entry, given = found
    if expression.label is None and not entry.spec.parameters and not given:
        return entry
    bound = bind(entry.spec, given, expression.label)
    registered = [e for e in catalog.metrics if e.spec.name == bound.name and not e.spec.parameters]
    return registered[0] if len(registered) == 1 else Entry(bound, entry.origin)


def bind(spec: MetricSpec, given: Mapping[str, Any], label: str | None = None) -> MetricSpec:
    """A member of a family: its parameters are in its name, in its title and in what computes it."""
    for name, value in given.items():
        if name not in spec.parameters:
            near = get_close_matches(name, spec.parameters, n=1)
            hint = f"did you mean {near[0]}?" if near else f"it has: {', '.join(spec.parameters) or 'none'}"
            raise SpecError(f"metric {spec.name!r} has no parameter {name!r}; {hint}")
        if name == spec.depth_parameter and (not isinstance(value, int) or isinstance(value, bool) or value < 1):
            raise SpecError(f"metric {spec.name!r}: {name}={value!r}, expected a whole number from 1")
    values = {**spec.parameters, **given}
    if not values:
        return replace(spec, name=label or spec.name, title=label or spec.title)
    title = spec.title.format(**values)
    if given and title == spec.title and not spec.short:  # else two of a family would look the same
        title = f"{title or spec.name}({_arguments(given)})"
    return replace(
        spec,
        name=label or _name(spec, given, values),
        compute=f"{spec.compute}({_arguments(values)})",
        title=label or title,
        depth=values[spec.depth_parameter] if spec.depth_parameter else spec.depth,
        parameters={},
    )


def _by_short_name(name: str, catalog: Catalog) -> tuple[Entry[MetricSpec], dict[str, int]] | None:
    for entry in catalog.metrics:
        before, brace, rest = entry.spec.short.partition("{")
        parameter, _, after = rest.partition("}")
        match = re.fullmatch(rf"{re.escape(before)}([1-9]\d*){re.escape(after)}", name) if brace else None
        if match:
            return entry, {parameter: int(match[1])}
    return None


def _name(spec: MetricSpec, given: Mapping[str, Any], values: Mapping[str, Any]) -> str:
    """What the value is kept under: one name for one metric, however it was written."""
    changed = {name: value for name, value in given.items() if value != spec.parameters[name]}
    if spec.short and changed.keys() <= {spec.short.partition("{")[2].partition("}")[0]}:
        return spec.short.format(**values)
    return f"{spec.name}({_arguments(changed)})" if changed else spec.name


def _arguments(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in sorted(values.items()))
