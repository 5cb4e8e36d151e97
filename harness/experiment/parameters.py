"""Parameters of learners, data sets and representations: known by name, plain in value, written down in one way."""

from __future__ import annotations

from typing import Any

from harness.errors import SpecError
from harness.expression import Expression
from harness.params import Params
from harness.suggestions import nearest
from harness.trials.blueprint import Blueprint

PLAIN = "numbers, texts, true, false, none, estimators, and lists, tuples and dictionaries of these"


def check_params(culprit: str, given: Params, known: Params) -> None:
    """SpecError for a parameter that is not there, or a value that cannot be written down."""
    for name, value in given.items():
        if name not in known:
            near = nearest(name, known, most=2)
            hint = f"did you mean {' or '.join(near)}?" if near else f"it has: {', '.join(known) or 'none'}"
            raise SpecError(f"{culprit} has no parameter {name!r}; {hint}")
        if not _is_plain(value):
            raise SpecError(f"{culprit}: {name}={value!r} cannot be passed on; allowed: {PLAIN}")


def _is_plain(value: Any) -> bool:
    """Whether a value can be written down in a key and in a record."""
    if isinstance(value, list | tuple):
        return all(map(_is_plain, value))
    if isinstance(value, dict):
        # A tuple cannot be a key in JSON, and two different ones would become one text.
        keys_fit = all(_is_plain(key) and not isinstance(key, tuple) for key in value)
        return keys_fit and all(map(_is_plain, value.values()))
    return value is None or isinstance(value, bool | int | float | str | Expression)


def as_declared(params: Params, floats: frozenset[str]) -> dict[str, Any]:
    """The parameters with numbers as their owner declares them, so that C=1 and C=1.0 are one trial."""
    declared = dict(params)
    for name in floats & params.keys():
        if type(params[name]) is int:
            declared[name] = float(params[name])
    return declared


def as_blueprints(value: Any) -> Any:
    """A parameter's value, with the estimators in it as blueprints."""
    if isinstance(value, Expression):
        params = {name: as_blueprints(inner) for name, inner in value.params.items()}
        return Blueprint(value.name, params)
    if isinstance(value, list | tuple):
        return type(value)(map(as_blueprints, value))
    return value
