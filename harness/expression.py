"""The small language of the command line: `pa,small=pa(C=0.1),sklearn.naive_bayes:MultinomialNB(alpha=0.1)`.

Values are Python literals or bare words; nothing is ever evaluated.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import Any

from harness.errors import SpecError

_NAME = r"""(?P<name>[\w.:+/~-]+|'[^']+'|"[^"]+")"""
_HEAD = re.compile(rf"(?:(?P<label>[^=():,\s]+)\s*=\s*)?{_NAME}\s*(?:\((?P<arguments>.*)\))?\s*", re.DOTALL)
_WORD = re.compile(r"[^\W\d][\w.+-]*")
_PATH = re.compile(r"[\w.~+-]*/[\w.~+/-]*")
_RANGE = re.compile(r"\d+:\d+")
_OPENING, _CLOSING, _QUOTES = "([{", ")]}", "'\""


_INNER = re.compile(r"""(?:[A-Za-z./~][\w.:+/~-]*|'[^']+'|"[^"]+")\s*(\(|$)""")
INNER = "learner"
"""The parameter that a first argument without a name stands for: the learner inside, as it is written."""


@dataclass(frozen=True)
class Expression:
    """`label=name(parameter=value, ...)`, taken apart."""

    name: str
    label: str | None = None
    params: dict[str, Any] = field(default_factory=dict)


def split_list(text: str) -> list[str]:
    """Split at the commas that stand outside brackets and quotes; empty items are dropped."""
    items, depth, quote, start, escaped = [], 0, "", 0, False
    for position, character in enumerate(text):
        if quote:
            quote = "" if character == quote and not escaped else quote
            escaped = character == "\\" and not escaped
        elif character in _QUOTES:
            quote = character
        elif character in _OPENING:
            depth += 1
        elif character in _CLOSING:
            depth -= 1
        elif character == "," and depth == 0:
            items.append(text[start:position])
            start = position + 1
    items.append(text[start:])
    if depth or quote:
        raise SpecError(f"unbalanced brackets or quotes in {text!r}")
    return [item.strip() for item in items if item.strip()]


def parse(text: str, inner: str = INNER) -> Expression:
    """Take one expression apart; `inner` is what its first argument is called when it has no name."""
    match = _HEAD.fullmatch(text.strip())
    if not match:
        raise SpecError(f"cannot read {text!r}: expected name, name(parameter=value) or label=name(parameter=value)")
    return Expression(match["name"].strip(_QUOTES), match["label"], _arguments(text, match["arguments"] or "", inner))


def parse_value(text: str) -> Any:
    """A Python literal, true/false/none in any case, or else the bare text; a list may hold any of them."""
    words = {"true": True, "false": False, "none": None}
    if text.lower() in words:
        return words[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        if text.startswith("[") and text.endswith("]"):
            return [parse_value(item) for item in split_list(text[1:-1])]
        if any(pattern.fullmatch(text) for pattern in (_WORD, _PATH, _RANGE)):
            return text
        raise SpecError(f"cannot read the value {text!r}: expected a Python literal, a bare word or a path") from None


def _arguments(whole: str, text: str, inner: str) -> dict[str, Any]:
    params: dict[str, Any] = {}
    for position, item in enumerate(split_list(text)):
        name, equals, value = item.partition("=")
        if not equals or not name.strip().isidentifier():
            if position == 0 and _INNER.match(item):
                params[inner] = item
                continue
            raise SpecError(f"cannot read {item!r} in {whole!r}: expected parameter=value")
        if name.strip() in params:
            raise SpecError(f"parameter {name.strip()!r} stands twice in {whole!r}")
        params[name.strip()] = parse_value(value.strip())
    return params
