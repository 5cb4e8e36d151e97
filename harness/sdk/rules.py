"""Rules for the values of parameters; a violation is reported with the name, the value and the allowed values.

A rule is a pair: whether the value is allowed, and the text after "must be" in the message. A learner returns its rules
from `_rules`, and `enforce` raises the error.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf, isnan
from numbers import Real
from typing import TypeGuard

import numpy as np
from sklearn.utils import check_random_state

Rule = tuple[bool, str]
"""A test of the value, and the text after "must be" in the message."""


def enforce(rules: Mapping[str, Rule], values: Mapping[str, object]) -> None:
    """Raise ValueError for the first value that breaks its rule.

    Parameters
    ----------
    rules : mapping of str to Rule
        Rule of each parameter, by name.
    values : mapping of str to object
        Value of each parameter, by name.

    Raises
    ------
    ValueError
        If a rule does not hold. The message has the name, the value and the allowed values.

    Examples
    --------
    >>> enforce({"C": positive(1.0)}, {"C": 1.0})
    >>> enforce({"C": positive(0)}, {"C": 0})
    Traceback (most recent call last):
    ValueError: C=0: must be a finite number above 0
    """
    for name, (holds, allowed) in rules.items():
        if not holds:
            raise ValueError(f"{name}={values[name]!r}: must be {allowed}")


def positive(value: object) -> Rule:
    """Return the rule for a finite number above 0.

    Parameters
    ----------
    value : object
        The value of a parameter, of any type.

    Returns
    -------
    Rule
        Whether the value is allowed, and the allowed values.

    Examples
    --------
    >>> positive(0.1)
    (True, 'a finite number above 0')
    """
    return _is_number(value) and 0 < value < inf, "a finite number above 0"


def positive_or_inf(value: object) -> Rule:
    """Return the rule for a number above 0; infinity is allowed.

    Parameters
    ----------
    value : object
        The value of a parameter, of any type.

    Returns
    -------
    Rule
        Whether the value is allowed, and the allowed values.
    """
    return _is_number(value) and value > 0, "a number above 0, or inf"


def not_negative(value: object) -> Rule:
    """Return the rule for a finite number of at least 0.

    Parameters
    ----------
    value : object
        The value of a parameter, of any type.

    Returns
    -------
    Rule
        Whether the value is allowed, and the allowed values.
    """
    return _is_number(value) and 0 <= value < inf, "a finite number of at least 0"


def not_negative_or_inf(value: object) -> Rule:
    """Return the rule for a number of at least 0; infinity is allowed.

    Parameters
    ----------
    value : object
        The value of a parameter, of any type.

    Returns
    -------
    Rule
        Whether the value is allowed, and the allowed values.
    """
    return _is_number(value) and value >= 0, "a number of at least 0, or inf"


def share(value: object) -> Rule:
    """Return the rule for a number from 0 to 1.

    Parameters
    ----------
    value : object
        The value of a parameter, of any type.

    Returns
    -------
    Rule
        Whether the value is allowed, and the allowed values.
    """
    return _is_number(value) and 0 <= value <= 1, "a number from 0 to 1"


def count(value: object, least: int = 1) -> Rule:
    """Return the rule for an integer of at least `least`; True and False are not integers.

    Parameters
    ----------
    value : object
        The value of a parameter, of any type.
    least : int, default=1
        The smallest allowed integer.

    Returns
    -------
    Rule
        Whether the value is allowed, and the allowed values.

    Examples
    --------
    >>> count(2.0)
    (False, 'an integer of at least 1')
    """
    return _is_integer(value) and value >= least, f"an integer of at least {least}"


def flag(value: object) -> Rule:
    """Return the rule for True or False.

    Parameters
    ----------
    value : object
        The value of a parameter, of any type.

    Returns
    -------
    Rule
        Whether the value is allowed, and the allowed values.
    """
    return isinstance(value, bool | np.bool_), "True or False"


def one_of(value: object, choices: Sequence[str]) -> Rule:
    """Return the rule for one of several names.

    Parameters
    ----------
    value : object
        The value of a parameter, of any type.
    choices : sequence of str
        The allowed names.

    Returns
    -------
    Rule
        Whether the value is allowed, and the allowed values.

    Examples
    --------
    >>> one_of("exact", ["exact", "printed"])
    (True, 'one of exact, printed')
    """
    return isinstance(value, str) and value in choices, f"one of {', '.join(choices)}"


def optional(value: object, rule: Rule) -> Rule:
    """Return the rule with None allowed as well.

    Parameters
    ----------
    value : object
        The value of a parameter, of any type.
    rule : Rule
        The rule for values other than None.

    Returns
    -------
    Rule
        Whether the value is allowed, and the allowed values.

    Examples
    --------
    >>> optional(None, count(None))
    (True, 'None or an integer of at least 1')
    """
    holds, allowed = rule
    return value is None or holds, f"None or {allowed}"


def seed(value: object) -> Rule:
    """Return the rule for a random state: None, an integer, or a RandomState.

    Parameters
    ----------
    value : object
        The value of a parameter, of any type.

    Returns
    -------
    Rule
        Whether the value is allowed, and the allowed values.
    """
    try:
        check_random_state(value)
    except ValueError:
        return False, "None, an integer from 0 to 2**32 - 1 or a RandomState"
    return True, ""


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, Real) and not isinstance(value, bool) and not isnan(float(value))


def _is_integer(value: object) -> TypeGuard[int]:
    return isinstance(value, int | np.integer) and not isinstance(value, bool)
