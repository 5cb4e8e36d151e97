"""Rules for parameters: whether a value is allowed, and what would be. Broken ones are reported by name and value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isnan
from numbers import Real
from typing import TypeGuard

import numpy as np
from sklearn.utils import check_random_state

Rule = tuple[bool, str]
"""Whether the value is allowed, and the words that follow "must be"."""


def enforce(rules: Mapping[str, Rule], values: Mapping[str, object]) -> None:
    """Raise ValueError for the first value that breaks its rule."""
    for name, (holds, allowed) in rules.items():
        if not holds:
            raise ValueError(f"{name}={values[name]!r}: must be {allowed}")


def positive(value: object) -> Rule:
    return _is_number(value) and 0 < value < inf, "a finite number above 0"


def positive_or_inf(value: object) -> Rule:
    return _is_number(value) and value > 0, "a number above 0, or inf"


def not_negative(value: object) -> Rule:
    return _is_number(value) and 0 <= value < inf, "a finite number of at least 0"


def not_negative_or_inf(value: object) -> Rule:
    return _is_number(value) and value >= 0, "a number of at least 0, or inf"


def share(value: object) -> Rule:
    return _is_number(value) and 0 <= value <= 1, "a number from 0 to 1"


def count(value: object, least: int = 1) -> Rule:
    return _is_integer(value) and value >= least, f"an integer of at least {least}"


def flag(value: object) -> Rule:
    return isinstance(value, bool | np.bool_), "True or False"


def one_of(value: object, choices: Sequence[str]) -> Rule:
    return isinstance(value, str) and value in choices, f"one of {', '.join(choices)}"


def optional(value: object, rule: Rule) -> Rule:
    """The same rule, with None allowed beside."""
    holds, allowed = rule
    return value is None or holds, f"None or {allowed}"


def seed(value: object) -> Rule:
    try:
        check_random_state(value)
    except ValueError:
        return False, "None, an integer from 0 to 2**32 - 1 or a RandomState"
    return True, ""


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool) and not isnan(float(value))


def _is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
