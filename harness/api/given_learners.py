"""Learners as Python has them, in the words of an experiment: estimators become expressions.

So a run from a notebook can be resumed, written down and reproduced like any other.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from harness.catalog import Catalog
from harness.errors import SpecError
from harness.expression import Expression, parse, parse_value, write_value
from harness.signature import import_target


def describe_learners(learners: Any, catalog: Catalog) -> str | list[str]:
    """Learners as an experiment names them; a text is left as it is, the keys of a dictionary are labels."""
    if isinstance(learners, str):
        return learners
    if isinstance(learners, Mapping):
        labelled = [(label, describe_learner(learner, catalog)) for label, learner in learners.items()]
        return [str(replace(expression, label=str(label))) for label, expression in labelled]
    several = learners if isinstance(learners, list | tuple) else [learners]
    described = []
    for learner in several:  # a text may also name a group, which is no expression
        described.append(learner if isinstance(learner, str) else str(describe_learner(learner, catalog)))
    return described


def describe_learner(learner: Any, catalog: Catalog) -> Expression:
    """One learner, a text or an estimator, as an expression."""
    return parse(learner) if isinstance(learner, str) else describe_estimator(learner, catalog)


def describe_estimator(estimator: Any, catalog: Catalog) -> Expression:
    """An estimator as an expression: the registered learner of its class, or module:Class, and what was set."""
    if isinstance(estimator, type):
        raise SpecError(f"{estimator.__name__} is a class: give an estimator, {estimator.__name__}()")
    if not (hasattr(estimator, "get_params") and hasattr(estimator, "fit")):
        raise SpecError(f"{estimator!r} is no learner: expected a name, or an estimator with get_params and fit")
    kind = type(estimator)
    target = find_target(kind)
    homes = {target, f"{kind.__module__}:{kind.__qualname__}"}  # a plugin may name its class by either
    registered = [entry.spec for entry in catalog.learners if entry.spec.load in homes]
    name = registered[0].name if registered else target
    wraps = registered[0].wraps if registered else ""
    positional: tuple[str, ...] = ()
    params: dict[str, Any] = {}
    for parameter, value in _set_params(estimator).items():
        if parameter == wraps:
            positional = (str(describe_estimator(value, catalog)),)
        else:
            params[parameter] = _passed_on(value, f"{kind.__name__}({parameter}=...)")
    return Expression(name, None, params, positional)


def _set_params(estimator: Any) -> dict[str, Any]:
    """The parameters that differ from what the class has by itself."""
    params = estimator.get_params(deep=False)
    try:
        defaults = type(estimator)().get_params(deep=False)
    except Exception:  # it has parameters without defaults, or refuses those that it has
        return dict(params)
    changed = {}
    for name, value in params.items():
        default = defaults.get(name)
        if value is not default and repr(value) != repr(default):
            changed[name] = value
    return changed


def find_target(kind: type) -> str:
    """Where a fresh process imports a class from: the shortest public module that has it."""
    module, name = kind.__module__, kind.__qualname__
    if module == "__main__" or "<locals>" in name:
        raise SpecError(
            f"a fresh process cannot import {kind.__name__}, which is defined in {_place(module, name)}",
            next_step=f"put it into a file, such as my_learners.py, and `from my_learners import {kind.__name__}`",
        )
    public = module
    parts = module.split(".")
    # scikit-learn keeps LogisticRegression in sklearn.linear_model._logistic, and people know it from the package.
    for end in range(1, len(parts)):
        package = ".".join(parts[:end])
        if getattr(sys.modules.get(package), name, None) is kind:
            public = package
            break
    target = f"{public}:{name}"
    if not _is_found(kind, target):
        raise SpecError(f"a fresh process cannot import {name} from {public}: the module does not have it by that name")
    return target


def _is_found(kind: type, target: str) -> bool:
    try:
        return import_target(target) is kind
    except (ImportError, AttributeError):
        return False


def _place(module: str, name: str) -> str:
    return "the notebook or script itself" if module == "__main__" else f"a function ({name})"


def _passed_on(value: Any, where: str) -> Any:
    """A parameter's value as an expression can hold it; SpecError where it would not be read back as it was written."""
    plain = _plain(value, where)
    try:
        read_back = parse_value(write_value(plain))
    except SpecError:
        raise _refusal(where, repr(value)) from None
    if read_back != plain:
        raise _refusal(where, repr(value))
    return plain


def _plain(value: Any, where: str) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    if hasattr(value, "get_params") and not isinstance(value, type):
        kind = type(value)
        params = {}
        for parameter, inner in _set_params(value).items():
            params[parameter] = _passed_on(inner, f"{kind.__name__}({parameter}=...)")
        return Expression(find_target(kind), None, params)  # a registered name could not be told from a text here
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple):
        return tuple(_plain(item, where) for item in value)
    if isinstance(value, dict):
        return {key: _plain(item, where) for key, item in value.items()}
    raise _refusal(where, type(value).__name__)


def _refusal(where: str, what: str) -> SpecError:
    return SpecError(
        f"{where}: {what} cannot be passed on: numbers, texts, none, tuples and dictionaries of these, and estimators "
        "can",
        next_step="set it in a class of your own, in a module that can be imported",
    )
