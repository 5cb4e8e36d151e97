"""Parameters and defaults of a class or function, read from its source without running it.

Listing, completion and the checking of parameter names need them, and must not import learner code.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import sys
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from harness.contract import DatasetSpec, LearnerSpec, RepresentationSpec
from harness.errors import SpecError
from harness.params import Params


@dataclass(frozen=True)
class Source:
    """A default that is not a plain value, as the text that stands in the source."""

    text: str

    def __repr__(self) -> str:
        return self.text


MOST_BASES = 10
"""So many classes above one are looked at for what it takes: a source may say that a class is derived from itself."""
FLOAT_ANNOTATIONS = ("float", "float | None", "None | float")
REQUIRED = Source("(required)")
"""Stands where a default would: the parameter has none and must be given."""


def parameters_of(spec: LearnerSpec | DatasetSpec | RepresentationSpec) -> Params:
    """Parameters and defaults: as declared, else as the source tells, else from the imported object."""
    if spec.parameters is not None:
        return spec.parameters
    found = read_parameters(spec.load)
    if found is not None:
        return found
    if isinstance(spec, LearnerSpec) and spec.environment:
        raise SpecError(
            f"the source of {spec.load} does not tell its parameters",
            culprit=f"learner {spec.name!r}",
            next_step="name them in its spec, since what needs an environment is not imported to be asked",
        )
    try:
        return import_parameters(spec.load)
    except Exception as error:
        raise SpecError(
            f"{spec.name!r} cannot be imported from {spec.load}: {type(error).__name__}: {error}"
        ) from error


def read_parameters(target: str) -> Params | None:
    """Parameters and defaults of "module:name"; None when the source alone does not tell."""
    found = _find_arguments(target)
    return None if found is None else _defaults(found.arguments, bound=found.bound)


@cache
def read_floats(target: str) -> frozenset[str]:
    """The parameters of "module:name" that its source declares to be floats: a whole number given for one is one."""
    found = _find_arguments(target)
    if found is None:
        return frozenset()
    declared = [*found.arguments.args, *found.arguments.kwonlyargs]
    return frozenset(
        argument.arg
        for argument in declared
        if argument.annotation is not None and ast.unparse(argument.annotation) in FLOAT_ANNOTATIONS
    )


def read_docstring(target: str) -> str:
    """The docstring of "module:name", as its source has it; empty where the source does not tell."""
    node = _find_definition(target)
    return "" if node is None else ast.get_docstring(node) or ""


@dataclass(frozen=True)
class _Arguments:
    """The arguments of a function or of a class's making; of `bound` first ones Python takes care itself."""

    arguments: ast.arguments
    bound: int


def _find_arguments(target: str) -> _Arguments | None:
    """What "module:name" takes, as its source has it; None when that alone does not tell."""
    node = _find_definition(target)
    if isinstance(node, ast.FunctionDef):
        return _Arguments(node.args, 0)
    module = target.partition(":")[0]
    for _ in range(MOST_BASES):
        if not isinstance(node, ast.ClassDef):
            return None
        init = [n for n in node.body if isinstance(n, ast.FunctionDef) and n.name == "__init__"]
        if init:
            return _Arguments(init[-1].args, 1)
        # A class without one has that of the first class that it is derived from, which the same module may hold.
        first = node.bases[0] if node.bases else None
        node = _find_definition(f"{module}:{first.id}") if isinstance(first, ast.Name) else None
    return None


def _find_definition(target: str) -> ast.FunctionDef | ast.ClassDef | None:
    """Where "module:name" is defined in the source of that module; None where it is not, or there is no source."""
    module, _, name = target.partition(":")
    try:
        spec = locate(module)
    except Exception:  # a finder that fails is the trial's to report, not the listing's
        return None
    if spec is None or not spec.origin or not spec.origin.endswith(".py"):
        return None
    try:
        stamp = os.stat(spec.origin)
        return _definitions_in(spec.origin, stamp.st_mtime_ns, stamp.st_size).get(name)
    except (OSError, SyntaxError):
        return None


@lru_cache(maxsize=256)
def _definitions_in(file: str, mtime_ns: int, size: int) -> dict[str, ast.FunctionDef | ast.ClassDef]:
    """The functions and classes of a source file by name, parsed once for all that are asked for, until it changes."""
    tree = ast.parse(Path(file).read_bytes())
    # Of two with one name the last is in force.
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def locate(module: str) -> ModuleSpec | None:
    """Where a module is, asked of Python's finders part by part: `find_spec` would import the packages above it."""
    spec, path, name = None, None, ""
    for part in module.split("."):
        name = f"{name}.{part}" if name else part
        found = (finder.find_spec(name, path) for finder in sys.meta_path)
        spec = next((candidate for candidate in found if candidate is not None), None)
        if spec is None:
            return None
        path = spec.submodule_search_locations
    return spec


def import_parameters(target: str) -> Params:
    """The same from the imported object: for what has no readable source of its own."""
    signature = inspect.signature(import_target(target))
    return {
        name: REQUIRED if parameter.default is parameter.empty else parameter.default
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


def _defaults(arguments: ast.arguments, *, bound: int = 0) -> dict[str, Any] | None:
    """What can be given by name; `bound` counts the arguments that Python gives itself."""
    if arguments.kwarg is not None:
        return None
    positional = [*arguments.posonlyargs, *arguments.args]
    defaults = [None] * (len(positional) - len(arguments.defaults)) + arguments.defaults
    pairs = [*zip(positional, defaults, strict=True)][max(bound, len(arguments.posonlyargs)) :]
    pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return {argument.arg: REQUIRED if default is None else _value(default) for argument, default in pairs}


def _value(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except ValueError:
        return Source(ast.unparse(node))
