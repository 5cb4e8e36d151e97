"""How to build an estimator, as a value that travels: what to import, and its parameters."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from harness.params import Params
from harness.signature import import_target


@dataclass(frozen=True)
class Blueprint:
    """What to import, and its parameters, of which some may be blueprints themselves: learners and representations."""

    load: str
    params: Params

    def with_params(self, params: Params) -> Blueprint:
        """The same estimator with some parameters set otherwise."""
        return replace(self, params={**self.params, **params})


def build_estimator(blueprint: Blueprint) -> Any:
    """A fresh estimator, and in it fresh ones of those that it is built round."""
    params = {name: _built(value) for name, value in blueprint.params.items()}
    return import_target(blueprint.load)(**params)


def _built(value: Any) -> Any:
    if isinstance(value, Blueprint):
        return build_estimator(value)
    if isinstance(value, list | tuple):
        return type(value)(map(_built, value))
    return value
