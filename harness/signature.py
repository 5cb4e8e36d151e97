"""Parameters and defaults of a class or function, read from its source without running it.

Listing, completion and the checking of parameter names need them, and must not import learner code.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Source:
    """A default that is not a plain value, as the text that stands in the source."""

    text: str

    def __repr__(self) -> str:
        return self.text


def read_parameters(target: str) -> Mapping[str, Any] | None:
    """Parameters with a default of "module:name"; None when the source alone does not tell."""
    module, _, name = target.partition(":")
    try:
        spec = importlib.util.find_spec(module)
    except Exception:  # a parent package that cannot be imported is the trial's to report, not the listing's
        return None
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        return None
    try:
        tree = ast.parse(Path(spec.origin).read_bytes())
    except (OSError, SyntaxError):
        return None
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == name:
            return _defaults(node)
        if isinstance(node, ast.ClassDef) and node.name == name:
            init = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
            return _defaults(init[0]) if init else None
    return None


def import_parameters(target: str) -> Mapping[str, Any]:
    """The same from the imported object: for what has no readable source of its own."""
    signature = inspect.signature(import_target(target))
    return {
        name: None if parameter.default is parameter.empty else parameter.default
        for name, parameter in signature.parameters.items()
        if parameter.kind in (parameter.KEYWORD_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    }


def import_target(target: str) -> Any:
    """The object that "module:name" names."""
    module, _, name = target.partition(":")
    value: Any = importlib.import_module(module)
    for part in name.split("."):
        value = getattr(value, part)
    return value


def _defaults(function: ast.FunctionDef) -> dict[str, Any] | None:
    arguments = function.args
    if arguments.kwarg is not None:
        return None
    positional = [*arguments.posonlyargs, *arguments.args]
    with_default = positional[len(positional) - len(arguments.defaults) :]
    pairs = [*zip(with_default, arguments.defaults, strict=True)]
    pairs += [(a, d) for a, d in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True) if d is not None]
    return {argument.arg: _value(default) for argument, default in pairs}


def _value(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return Source(ast.unparse(node))
