"""How kernels are compiled: kernels at import, for one signature; helpers where a kernel needs them, for any type.

Both are cached on disk. numba takes a cached function for fresh while its *own* file is unchanged, though what it calls
from other files is compiled into it; here its stamp covers those too (see `freshness`): no edit leaves stale machine
code, and none has compiled again what it cannot reach.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numba
from numba import njit, types
from numba.core import event

from harness.sdk.kernels.cache_file import KernelCacheFile
from harness.sdk.kernels.freshness import stamp_of

Function = TypeVar("Function", bound=Callable[..., Any])

LEAN = {"_nrt": False}
"""For kernels that make no array, nor copy one into another, with all that they call: without the counting of uses of
arrays, training on short rows runs 1.7 times as fast."""


LOG = logging.getLogger(__name__)


class _Telling(event.Listener):  # type: ignore[misc]  # numba ships no types
    """Tells the log of every function that is really compiled: one that is found in the cache makes no event."""

    def on_start(self, event: Any) -> None:
        LOG.info("compiling %s", event.data["dispatcher"].py_func.__qualname__)

    def on_end(self, event: Any) -> None:
        """Nothing is told of."""


event.register("numba:compile", _Telling())


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


def _cached(function: Callable[..., Any], **options: Any) -> Any:
    dispatcher = _compiled(function, **options)
    try:
        dispatcher.enable_caching()
    except RuntimeError:  # no folder can be written to: it works all the same, and compiles anew each time
        return dispatcher
    try:
        _replace_cache_file(dispatcher._cache, stamp_of(function.__code__.co_filename))
    except AttributeError:  # insides of numba, which a release beyond those that were tried may have changed
        warnings.warn(
            f"numba {numba.__version__} keeps its cache in a way not known here: kernels compile in each process",
            RuntimeWarning,
            stacklevel=3,
        )
        return _compiled(function, **options)  # slow, where stale machine code would be wrong
    return dispatcher


def _replace_cache_file(cache: Any, stamp: object) -> None:
    """Let cached code count as that of a file and of all kernels that it imports, and be checked when it is read."""
    theirs = cache._cache_file
    cache._cache_file = KernelCacheFile(theirs._cache_path, cache._impl.filename_base, (theirs._source_stamp, stamp))


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    # C never calls them: a fifth less to compile. They hold no lock of Python's: others may run beside them.
    return njit(no_cfunc_wrapper=True, nogil=True, **options)(function)
