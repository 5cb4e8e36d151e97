"""A learner in words that JSON can hold, its class and its parameters, and back. Nothing is pickled."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

PLAIN_TYPES = (bool, int, float, str, type(None))


def describe(learner: BaseEstimator) -> dict[str, Any]:
    """Class and parameters; a learner among the parameters is described likewise. Of a RandomState nothing is kept."""
    parameters = {}
    for name, value in learner.get_params(deep=False).items():
        try:
            parameters[name] = _in_words(value)
        except TypeError as error:
            raise ValueError(f"{name}={value!r} cannot be saved: {error}") from error
    return {"learner": class_name(type(learner)), "parameters": parameters}


def learner_from(described: Mapping[str, Any]) -> Any:
    """A learner as it was described, not fitted; ValueError where its class is not at hand."""
    return class_named(described["learner"])(**parameters_from(described["parameters"]))


def parameters_from(described: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters as they were before they were described."""
    return {name: _out_of_words(value) for name, value in described.items()}


def class_name(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def class_named(name: str) -> Any:
    """A learner's class. A file may not have just any module imported: only what is there already, or a plugin's."""
    module, _, attribute = name.partition(":")
    if module not in sys.modules and not module.startswith("harness_"):
        raise ValueError(f"it holds a {name}: import {module} first")
    kind = getattr(import_module(module), attribute)
    if not (isinstance(kind, type) and issubclass(kind, BaseEstimator)):
        raise ValueError(f"{name} is no learner")
    return kind


def _in_words(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, PLAIN_TYPES):
        return value
    if isinstance(value, list):
        return [_in_words(one) for one in value]
    if isinstance(value, tuple):  # which JSON would take for a list
        return {"tuple": [_in_words(one) for one in value]}
    if isinstance(value, BaseEstimator):
        return describe(value)
    if isinstance(value, np.random.RandomState):
        return None  # a seed is kept, a generator is not
    raise TypeError(f"{type(value).__name__} is neither a number, text, a list or tuple of such, nor a learner")


def _out_of_words(value: Any) -> Any:
    if isinstance(value, list):
        return [_out_of_words(one) for one in value]
    if not isinstance(value, dict):
        return value
    if "tuple" in value:
        return tuple(_out_of_words(value["tuple"]))
    return learner_from(value)
