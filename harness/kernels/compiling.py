"""How this folder is compiled: kernels at import, for one signature; helpers where a kernel needs them, for any type.

Both are cached on disk. numba takes a cached function for fresh while its *own* file is unchanged, though what it calls
from other files is compiled into it; here the stamp covers the whole folder, so no edit leaves stale machine code.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numba import njit, types
from numpy.typing import DTypeLike, NDArray

Array = NDArray[Any]
Function = TypeVar("Function", bound=Callable[..., Any])

FOLDER_STAMP = sha256(b"".join(path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py")))).digest()


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
    dispatcher = njit(**options)(function)
    try:
        dispatcher.enable_caching()
    except RuntimeError:  # no folder can be written to: it works all the same, and compiles anew each time
        return dispatcher
    with suppress(AttributeError):  # numba's own insides: should they change, only edits to another file go unnoticed
        cache_file = dispatcher._cache._cache_file
        cache_file._source_stamp = (cache_file._source_stamp, FOLDER_STAMP)
    return dispatcher
