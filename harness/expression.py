"""The small language of the command line: `pa,small=pa(C=0.1),sklearn.naive_bayes:MultinomialNB(alpha=0.1)`.

Values are Python literals, bare words, or estimators written as `module:Class(...)`; nothing is ever evaluated.
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass, field
from typing import Any

from harness.errors import SpecError
from harness.params import Params
from harness.wording import in_a_line

_BARE_NAME = r"[\w.:+/~-]+"
_NAME = rf"""(?P<name>{_BARE_NAME}|'[^']+'|"[^"]+")"""
_HEAD = re.compile(rf"(?:(?P<label>[^=():,\s]+)\s*=\s*)?{_NAME}\s*(?:\((?P<arguments>.*)\))?\s*", re.DOTALL)
_POSITIONAL = re.compile(r"""(?:[A-Za-z./~][\w.:+/~-]*|'[^']+'|"[^"]+")\s*(\(|$)""")
"""A name, with or without arguments: what is written without the parameter that it stands for."""
_ESTIMATOR = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*\s*\(.*\)", re.DOTALL)
_WORD = re.compile(r"[^\W\d][\w.+-]*")
_WORDS = re.compile(rf"{_WORD.pattern}(?:,{_WORD.pattern})*")
_PATH = re.compile(r"[\w.~+-]*/[\w.~+/-]*")
_RANGE = re.compile(r"\d+:\d+")
MOST_NESTED, MOST_SHOWN = 50, 300
"""Brackets inside each other, and letters of a wrong text in a message."""
_OPENING, _CLOSING, _QUOTES = "([{", ")]}", "'\""
_CONSTANTS = {"true": True, "false": False, "none": None, "inf": math.inf, "-inf": -math.inf}


@dataclass(frozen=True)
class Expression:
    """`label=name(positional, parameter=value)`, taken apart; its reader knows what a positional argument is for."""

    name: str
    label: str | None = None
    params: Params = field(default_factory=dict)
    positional: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The text that is read as this expression again."""
        name = _write_name(self.name)
        head = f"{self.label}={name}" if self.label else name
        arguments = [*self.positional, *(f"{key}={write_value(value)}" for key, value in self.params.items())]
        if not arguments and not _is_estimator_name(self.name):
            return head
        return f"{head}({', '.join(arguments)})"

    def __repr__(self) -> str:
        return str(self)


def _write_name(name: str) -> str:
    """A name as it is read, in quotes where a file's needs them."""
    if re.fullmatch(_BARE_NAME, name):
        return name
    quote = '"' if "'" in name else "'"
    return f"{quote}{name}{quote}"


def _is_estimator_name(name: str) -> bool:
    """Whether only brackets tell it, as a value, from a bare word."""
    return ":" in name


def split_list(text: str, mark: str = ",") -> list[str]:
    """Split at the commas, or at another mark, that stand outside brackets and quotes; empty items are dropped."""
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


def parse(text: str) -> Expression:
    """Take one expression apart."""
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
            raise SpecError(f"parameter {parameter!r} stands twice in {text!r}")
        else:
            params[parameter] = parse_value(value.strip())
    return Expression(match["name"].strip(_QUOTES), match["label"], params, tuple(positional))


def _joined(items: list[str]) -> list[str]:
    """The arguments, with words that follow a parameter's word taken together: in `features=a,b` there is but one."""
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
    """Whether a value is an estimator: `module:Class(...)`."""
    return bool(_ESTIMATOR.fullmatch(text))


def parse_value(text: str) -> Any:
    """A Python literal, true/false/none in any case, inf, an estimator, or else the bare text; lists may hold any."""
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        pass  # no literal: one of our own kinds, or nothing
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
    """A value as `parse_value` reads it; lists and tuples may hold expressions."""
    if isinstance(value, list):
        return f"[{', '.join(map(write_value, value))}]"
    return str(value) if isinstance(value, Expression) else repr(value)
