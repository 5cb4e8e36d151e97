"""Expressions on the command line and in experiment files: `label=name(first, parameter=value)`.

Commas separate the expressions of a list: `pa,small=pa(C=0.1),sklearn.naive_bayes:MultinomialNB(alpha=0.1)`. Values are
Python literals, bare words, or estimators written as `module:Class(...)`. No text is ever executed as code.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from harness.errors import SpecError
from harness.text import in_a_line

Params = Mapping[str, Any]


def describe_params(params: Params) -> str:
    """Return parameters as text, sorted by name; "defaults" if there are none.

    Examples
    --------
    >>> describe_params({"d": 50, "C": 0.1}), describe_params({})
    ('C=0.1, d=50', 'defaults')
    """
    parts = [f"{name}={value!r}" for name, value in sorted(params.items())]
    return ", ".join(parts) or "defaults"


_BARE_NAME = r"[\w.:+/~-]+"
_NAME = rf"""(?P<name>{_BARE_NAME}|'[^']+'|"[^"]+")"""
_HEAD = re.compile(rf"(?:(?P<label>[^=():,\s]+)\s*=\s*)?{_NAME}\s*(?:\((?P<arguments>.*)\))?\s*", re.DOTALL)
_POSITIONAL = re.compile(r"""(?:[A-Za-z./~][\w.:+/~-]*|'[^']+'|"[^"]+")\s*(\(|$)""")
"""Matches an argument without `parameter=`: a name, with or without arguments."""
_ESTIMATOR = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*\s*\(.*\)", re.DOTALL)
_WORD = re.compile(r"[^\W\d][\w.+-]*")
_WORDS = re.compile(rf"{_WORD.pattern}(?:,{_WORD.pattern})*")
_PATH = re.compile(r"[\w.~+-]*/[\w.~+/-]*")
_RANGE = re.compile(r"\d+:\d+")
MOST_NESTED, MOST_SHOWN = 50, 300
"""Limits for the depth of nested brackets, and for the characters of an invalid text in a message."""
_OPENING, _CLOSING, _QUOTES = "([{", ")]}", "'\""
_CONSTANTS = {"true": True, "false": False, "none": None, "inf": math.inf, "-inf": -math.inf}


@dataclass(frozen=True)
class Expression:
    """A parsed expression. The caller decides the meaning of positional arguments.

    Parameters
    ----------
    name : str
        Name of a learner, dataset or other object, or the path of a file.
    label : str, optional
        The text before `=`, which replaces the name in tables.
    params : Params, default={}
        Values of the arguments with a name.
    positional : tuple of str, default=()
        Texts of the arguments without a name, not parsed.
    """

    name: str
    label: str | None = None
    params: Params = field(default_factory=dict)
    positional: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the text that `parse` reads as this expression."""
        name = _write_name(self.name)
        head = f"{self.label}={name}" if self.label else name
        arguments = [*self.positional, *(f"{key}={write_value(value)}" for key, value in self.params.items())]
        if not arguments and not _is_estimator_name(self.name):
            return head
        return f"{head}({', '.join(arguments)})"

    def __repr__(self) -> str:
        return str(self)


def _write_name(name: str) -> str:
    """Return a name as `parse` reads it, in quotes if needed."""
    if re.fullmatch(_BARE_NAME, name):
        return name
    quote = '"' if "'" in name else "'"
    return f"{quote}{name}{quote}"


def _is_estimator_name(name: str) -> bool:
    """Return whether a value with this name needs brackets; without them it would be read as a bare word."""
    return ":" in name


def split_list(text: str, mark: str = ",") -> list[str]:
    """Split a text at the commas, or another mark, outside of brackets and quotes; drop empty items.

    Parameters
    ----------
    text : str
        The list, such as the value of an option.
    mark : str, default=","
        The character between two items.

    Raises
    ------
    SpecError
        If brackets or quotes are not closed, or if brackets are nested more than `MOST_NESTED` deep.

    Examples
    --------
    >>> split_list("pa, nb(alpha=[1, 2])")
    ['pa', 'nb(alpha=[1, 2])']
    """
    items: list[str] = []
    depth, quote, start, escaped = 0, "", 0, False
    for position, character in enumerate(text):
        if quote:
            if character == quote and not escaped:
                quote = ""
            escaped = character == "\\" and not escaped
        elif character in _QUOTES:
            quote = character
        elif character in _OPENING:
            depth += 1
            if depth > MOST_NESTED:
                raise SpecError(f"brackets more than {MOST_NESTED} deep in {in_a_line(text, MOST_SHOWN)!r}")
        elif character in _CLOSING:
            depth -= 1
        elif character == mark and depth == 0:
            items.append(text[start:position])
            start = position + 1
    items.append(text[start:])
    if depth or quote:
        raise SpecError(f"unbalanced brackets or quotes in {in_a_line(text, MOST_SHOWN)!r}")
    stripped = [item.strip() for item in items]
    return [item for item in stripped if item]


def join_wrapped(texts: Sequence[str]) -> str | None:
    """Return the expressions of wrapped learners as one text, which `split_list` splits again; None without any.

    Examples
    --------
    >>> join_wrapped(["pa", "ooz(d=5)"])
    'pa, ooz(d=5)'
    """
    return ", ".join(texts) or None


def parse(text: str) -> Expression:
    """Parse a single expression.

    Parameters
    ----------
    text : str
        An expression of the form `label=name(first, parameter=value)`; label and arguments are optional.

    Raises
    ------
    SpecError
        If the text is not an expression, or names a parameter twice.

    Examples
    --------
    >>> parse("small=pa(C=0.1)")
    small=pa(C=0.1)
    >>> parse("small=pa(C=0.1)").params
    {'C': 0.1}
    """
    match = _HEAD.fullmatch(text.strip())
    if not match:
        raise SpecError(f"cannot read {text!r}: expected name, name(parameter=value) or label=name(parameter=value)")
    positional: list[str] = []
    params: dict[str, Any] = {}
    for item in _joined(split_list(match["arguments"] or "")):
        name, equals, value = item.partition("=")
        parameter = name.strip()
        if not equals or not parameter.isidentifier():
            if params or not _POSITIONAL.match(item):
                raise SpecError(f"cannot read {item!r} in {text!r}: expected parameter=value")
            positional.append(item)
        elif parameter in params:
            raise SpecError(f"parameter {parameter!r} is given twice in {text!r}")
        else:
            params[parameter] = parse_value(value.strip())
    return Expression(match["name"].strip(_QUOTES), match["label"], params, tuple(positional))


def _joined(items: list[str]) -> list[str]:
    """Return the arguments, with a bare word joined to a word before it: `features=a,b` is one argument."""
    joined: list[str] = []
    for item in items:
        name, _, given = joined[-1].partition("=") if joined else ("", "", "")
        goes_on = _WORD.fullmatch(item) and _WORDS.fullmatch(given.strip()) and given.strip().lower() not in _CONSTANTS
        if goes_on:
            joined[-1] = f"{name}={given.strip()},{item}"
        else:
            joined.append(item)
    return joined


def is_estimator(text: str) -> bool:
    """Return whether a text has the form of an estimator, `module:Class(...)`."""
    return bool(_ESTIMATOR.fullmatch(text))


def parse_value(text: str) -> Any:
    """Parse the value of a parameter.

    Parameters
    ----------
    text : str
        A Python literal, true, false, none, inf, an estimator, a bare word, or a path. Lists and tuples may contain any
        of these.

    Raises
    ------
    SpecError
        If the text has none of these forms.

    Examples
    --------
    >>> parse_value("0.1"), parse_value("TRUE"), parse_value("words"), parse_value("[1, inf]")
    (0.1, True, 'words', [1, inf])
    """
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        pass  # no Python literal
    if text.startswith("[") and text.endswith("]"):
        return [parse_value(item) for item in split_list(text[1:-1])]
    if text.startswith("(") and text.endswith(")") and "," in text:
        return tuple(parse_value(item) for item in split_list(text[1:-1]))
    if is_estimator(text):
        return parse(text)
    if any(pattern.fullmatch(text) for pattern in (_WORDS, _PATH, _RANGE)):
        return text
    raise SpecError(f"cannot read the value {text!r}: expected a Python literal, a bare word or a path")


def write_value(value: Any) -> str:
    """Return a value as a text that `parse_value` reads.

    Parameters
    ----------
    value : object
        A value that `parse_value` can return, or a list of such values.

    Examples
    --------
    >>> write_value([0.1, "words", parse("pa(C=1)")])
    "[0.1, 'words', pa(C=1)]"
    """
    if isinstance(value, list):
        return f"[{', '.join(map(write_value, value))}]"
    return str(value) if isinstance(value, Expression) else repr(value)
