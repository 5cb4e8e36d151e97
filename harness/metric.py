"""Metric names -> MetricSpecs: a registered name, or one of a family: `r7`, `rk(k=7)`, `loss=tree_loss(costs=1)`."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from harness.catalog import Catalog, Entry
from harness.contract import MetricSpec
from harness.errors import SpecError, UnknownName
from harness.expression import parse
from harness.params import Params
from harness.suggestions import nearest


@dataclass(frozen=True)
class MetricCall:
    """How a trial computes a metric: what to import, what to give it, and the name that its value is kept under."""

    name: str
    compute: str
    params: Params = field(default_factory=dict)
    depth: int = 1
    """How many ranks a row it must see."""


def call_of(spec: MetricSpec) -> MetricCall:
    """The call of a metric, with the parameters that it is bound to."""
    return MetricCall(spec.name, spec.compute, dict(spec.parameters), spec.depth)


def find_metric(text: str, catalog: Catalog) -> Entry[MetricSpec]:
    """The metric that a text names, its parameters bound; UnknownName or SpecError says what is wrong."""
    expression = parse(text)
    if expression.positional:
        raise SpecError(f"cannot read {expression.positional[0]!r} in {text!r}: expected parameter=value")
    given = expression.params
    try:
        entry = catalog.metric(expression.name)
    except UnknownName:
        found = None if given else _by_short_name(expression.name, catalog)
        if found is None:
            raise
        entry, given = found
    if expression.label is None and not entry.spec.parameters and not given:
        return entry
    bound = bind(entry.spec, given, expression.label)
    # R5 may be registered by itself beside the family that it belongs to; then that one is meant.
    registered = [e for e in catalog.metrics if e.spec.name == bound.name and not e.spec.parameters]
    return registered[0] if len(registered) == 1 else Entry(bound, entry.origin)


def bind(spec: MetricSpec, given: Params, label: str | None = None) -> MetricSpec:
    """A member of a family: its parameters are in its name, in its title and in its call."""
    for name, value in given.items():
        _check_parameter(spec, name, value)
    values = {**spec.parameters, **given}
    if not values:
        return replace(spec, name=label or spec.name, title=label or spec.title)
    return replace(
        spec,
        name=label or _name(spec, given, values),
        title=label or _title(spec, given, values),
        depth=values[spec.depth_parameter] if spec.depth_parameter else spec.depth,
        parameters=values,
    )


def _check_parameter(spec: MetricSpec, name: str, value: Any) -> None:
    if name not in spec.parameters:
        near = nearest(name, spec.parameters, most=1)
        hint = f"did you mean {near[0]}?" if near else f"it has: {', '.join(spec.parameters) or 'none'}"
        raise SpecError(f"metric {spec.name!r} has no parameter {name!r}; {hint}")
    is_depth = isinstance(value, int) and not isinstance(value, bool) and value >= 1
    if name == spec.depth_parameter and not is_depth:
        raise SpecError(f"metric {spec.name!r}: {name}={value!r}, expected a whole number from 1")


def _by_short_name(name: str, catalog: Catalog) -> tuple[Entry[MetricSpec], Params] | None:
    """The family whose pattern a name follows, and the parameter that it gives: r7 is rk with k=7."""
    for entry in catalog.metrics:
        before, brace, rest = entry.spec.short.partition("{")
        if not brace:
            continue
        parameter, _, after = rest.partition("}")
        match = re.fullmatch(rf"{re.escape(before)}([1-9]\d*){re.escape(after)}", name)
        if match:
            return entry, {parameter: int(match[1])}
    return None


def _name(spec: MetricSpec, given: Params, values: Params) -> str:
    """What the value is kept under: one name for one metric, however it was written."""
    changed = {name: value for name, value in given.items() if value != spec.parameters[name]}
    in_short_name = {spec.short.partition("{")[2].partition("}")[0]}
    if spec.short and changed.keys() <= in_short_name:
        return spec.short.format(**values)
    return f"{spec.name}({_arguments(changed)})" if changed else spec.name


def _title(spec: MetricSpec, given: Params, values: Params) -> str:
    title = spec.title.format(**values)
    if given and title == spec.title and not spec.short:  # else two of a family would look the same
        return f"{title or spec.name}({_arguments(given)})"
    return title


def _arguments(values: Params) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in sorted(values.items()))
