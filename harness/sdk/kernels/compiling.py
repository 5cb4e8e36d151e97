"""How kernels are compiled: kernels at import, for one signature; helpers where a kernel needs them, for any type.

Both are cached on disk. numba takes a cached function for fresh while its *own* file is unchanged, though what it calls
from other files is compiled into it; here the stamp covers the kernels that its file imports, of any package, and those
that they import: no edit leaves stale machine code, and none has compiled again what it cannot reach.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numba import njit, types
from numpy.typing import DTypeLike, NDArray

Array = NDArray[Any]
Function = TypeVar("Function", bound=Callable[..., Any])

FOLDER = "kernels"
"""What a package calls the folder with its kernels."""
LEAN = {"_nrt": False}
"""For kernels that make no array, nor copy one into another, with all that they call: without the counting of uses of
arrays, training on short rows runs 1.7 times as fast."""


def helper(**options: Any) -> Callable[[Function], Function]:
    """Compile a function when a kernel calls it, for the types it is called with."""

    def decorate(function: Function) -> Function:
        return _cached(function, **options)  # type: ignore[no-any-return]  # a dispatcher stands in for the function

    return decorate


def kernel(signature: Any, **options: Any) -> Callable[[Function], Function]:
    """Compile or load a function now, for this signature only: no later call of it compiles anything."""

    def decorate(function: Function) -> Function:
        dispatcher = _cached(function, **options)
        dispatcher.compile(signature)
        dispatcher.disable_compile()
        return dispatcher  # type: ignore[no-any-return]  # a dispatcher stands in for the function

    return decorate


def writes(dtype: Any, ndim: int = 1) -> Any:
    """The type of an array that a kernel changes."""
    return types.Array(dtype, ndim, "C")


def reads(dtype: Any, ndim: int = 1) -> Any:
    """The type of an array that a kernel only reads; inside a named tuple it must be `frozen`."""
    return types.Array(dtype, ndim, "C", readonly=True)


def named(record: type[tuple[Any, ...]], *fields: Any) -> Any:
    """The type of a NamedTuple of arrays or numbers."""
    return types.BaseTuple.from_types(fields, record)


def frozen(array: Array, dtype: DTypeLike | None = None) -> Array:
    """A read-only view, or a copy where the type or the layout does not fit; so memory-mapped data need no copy."""
    view = np.require(array, dtype, ["C", "A"]).view(np.ndarray)
    view.flags.writeable = False
    return view


def _cached(function: Callable[..., Any], **options: Any) -> Any:
    dispatcher = njit(no_cfunc_wrapper=True, **options)(function)  # C never calls them: a fifth less to compile
    try:
        dispatcher.enable_caching()
    except RuntimeError:  # no folder can be written to: it works all the same, and compiles anew each time
        return dispatcher
    with suppress(AttributeError):  # numba's own insides: should they change, only edits to another file go unnoticed
        cache_file = dispatcher._cache._cache_file
        cache_file._source_stamp = (cache_file._source_stamp, _stamp(function.__code__.co_filename))
    return dispatcher


@cache
def _stamp(file: str) -> bytes:
    """The content of a file of this folder and of all that it imports from there, however far."""
    found, new = set[Path](), {Path(file)}
    while new:
        found |= new
        new = {path for known in new for path in _imported(known)} - found
    return sha256(b"".join(path.read_bytes() for path in sorted(found))).digest()


@cache
def _imported(file: Path) -> frozenset[Path]:
    """The kernels that a file imports, beside it or in another package's folder of kernels."""
    names = set[str]()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    found = {_file_of(name) for name in names if FOLDER in name.split(".")[:-1]}
    return frozenset(path for path in found if path is not None)


def _file_of(module: str) -> Path | None:
    """Where a module of kernels is, found without importing it; None for a name that is no module."""
    package, _, name = module.rpartition(".")
    folder = find_spec(package)
    if folder is None or not folder.submodule_search_locations:
        return None
    path = Path(folder.submodule_search_locations[0]) / f"{name}.py"
    return path if path.exists() else None
