"""Compile kernels with numba, and cache the result on disk.

`kernel` compiles a function at import, for one signature. `helper` compiles a function when a kernel calls it, for any
types. The cache differs from numba's own in two ways:

- Checksums. numba trusts its cache files: an empty one ends every process that imports the kernel, and a damaged one
  may be run. Here each file begins with the digest of its content. A file with a wrong digest is compiled again. A full
  disk is no error.
- Stamps. Functions of other files are compiled into a kernel, but numba compares only the kernel's *own* file. Here the
  stamp of a kernel also covers the files that it imports: modules beside its file, and modules with `kernels` in their
  name, of any package. An edit never leaves stale machine code, and recompiles only the kernels that it can reach.
"""

from __future__ import annotations

import ast
import hashlib
import logging
import os
import pickle
import warnings
from collections.abc import Callable, Iterator
from functools import cache
from hashlib import sha256
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeVar

import numba
from numba import float32, int32, int64, njit, types
from numba.core import event
from numba.core.caching import IndexDataCacheFile
from numba.core.serialize import dumps

from harness.sdk.kernels.instances import Instances, Labels

_DIGEST_BYTES = hashlib.sha256().digest_size


class KernelCacheFile(IndexDataCacheFile):  # type: ignore[misc]  # numba has no types
    """Cache of one function in numba's files: an index by signature, and the code of each."""

    def save(self, key: Any, data: Any) -> None:
        """Write compiled code; log the folder and continue if it cannot be written."""
        try:
            super().save(key, data)
        except OSError as error:
            warnings.warn(
                f"compiled kernels cannot be kept in {self._cache_path} ({error}): they compile in each process, until "
                "there is room or NUMBA_CACHE_DIR names another folder",
                RuntimeWarning,
                stacklevel=2,
            )

    def _load_index(self) -> dict[Any, str]:
        """Return the files by signature; empty if the source or numba has changed, or if the index is damaged."""
        try:
            version, stamp, overloads = self._read(self._index_path)
        except Exception:  # missing, damaged, or with classes that no longer exist
            return {}
        if (version, stamp) != (self._version, self._source_stamp):
            return {}
        return dict(overloads)

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, (self._version, self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        try:
            return self._read(self._data_path(name))
        except Exception as error:
            raise OSError(f"{name} cannot be used ({error})") from error  # makes numba compile

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _read(self, path: str | os.PathLike[str]) -> Any:
        with open(path, "rb") as file:
            digest = file.read(_DIGEST_BYTES)
            content = file.read()
        if hashlib.sha256(content).digest() != digest:
            raise OSError("it is not what was written")
        return pickle.loads(content)

    def _write(self, path: str | os.PathLike[str], value: Any) -> None:
        content = dumps(value)
        with self._open_for_write(path) as file:
            file.write(hashlib.sha256(content).digest())
            file.write(content)


KERNELS_NAME = "kernels"
"""Name of the folder or module with the kernels of a package."""


@cache
def stamp_of(file: str) -> bytes:
    """Return the digest of a file and of all kernels that it imports, directly or not."""
    found: set[Path] = set()
    waiting = [Path(file)]
    while waiting:
        path = waiting.pop()
        if path not in found:
            found.add(path)
            waiting += imported_by(path)
    digest = sha256()
    for path in sorted(found):
        digest.update(path.read_bytes())
    return digest.digest()


@cache
def imported_by(file: Path) -> frozenset[Path]:
    """Return the kernel files that a file imports."""
    found: set[Path] = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            for alias in node.names:
                found.update(_files_of(alias.name, [], file.parent))
        elif isinstance(node, ast.ImportFrom):
            names = [alias.name for alias in node.names]
            if node.level:
                found.update(_files_below(file.parents[node.level - 1], node.module or "", names))
            else:
                found.update(_files_of(node.module or "", names, file.parent))
    return frozenset(found)


def _files_of(module: str, names: list[str], folder: Path) -> Iterator[Path]:
    """Return the files of `import module`, or of `from module import names`, in a file of this folder."""
    yield from _files_below(folder, module, names)
    if KERNELS_NAME in [*module.split("."), *names]:
        spec = _spec_of(module)
        yield from _source_of(spec)
        if spec is not None and spec.submodule_search_locations:
            for name in names:
                yield from _source_of(_spec_of(f"{module}.{name}"))


def _files_below(folder: Path, module: str, names: list[str]) -> Iterator[Path]:
    """Return the same files if the module is below a folder: beside the file, or imported relative to it."""
    place = folder / module.replace(".", "/")
    sources = [place.with_suffix(".py")] if module else []
    sources += [place / f"{name}.py" for name in ["__init__", *names]]
    for source in sources:
        if source.is_file():
            yield source


def _spec_of(module: str) -> ModuleSpec | None:
    """Return the file of a module; imports its parent packages, and not the module itself."""
    try:
        return find_spec(module)
    except ModuleNotFoundError:
        return None


def _source_of(spec: ModuleSpec | None) -> Iterator[Path]:
    if spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
        yield Path(spec.origin)


Function = TypeVar("Function", bound=Callable[..., Any])

LEAN = {"_nrt": False}
"""Options for kernels that neither create nor copy arrays, nor call functions that do. Without reference counts,
training on short rows is 1.7 times as fast."""


LOG = logging.getLogger(__name__)


class _Telling(event.Listener):  # type: ignore[misc]  # numba ships no types
    """Logs each function that is compiled; functions found in the cache are not logged."""

    def on_start(self, event: Any) -> None:
        LOG.info("compiling %s", event.data["dispatcher"].py_func.__qualname__)

    def on_end(self, event: Any) -> None:
        """Do nothing."""


event.register("numba:compile", _Telling())


def helper(**options: Any) -> Callable[[Function], Function]:
    """Compile a function when a kernel calls it, for the types it is called with.

    Parameters
    ----------
    **options : object
        Options of `numba.njit`.

    Returns
    -------
    callable
        Decorator that returns the compiled function.
    """

    def decorate(function: Function) -> Function:
        # numba caches a function with captured ones under a name that is new in each process.
        compiled = _compiled if function.__closure__ else _cached
        return compiled(function, **options)  # type: ignore[no-any-return]  # a dispatcher stands in for the function

    return decorate


def kernel(signature: Any, **options: Any) -> Callable[[Function], Function]:
    """Compile a function at import for this signature, or load it from the cache. Later calls never compile.

    Parameters
    ----------
    signature : numba signature
        Types of the result and the arguments, made with `reads`, `writes` and `named`.
    **options : object
        Options of `numba.njit`.

    Returns
    -------
    callable
        Decorator that returns the compiled function.
    """

    def decorate(function: Function) -> Function:
        dispatcher = _cached(function, **options)
        dispatcher.compile(signature)
        dispatcher.disable_compile()
        return dispatcher  # type: ignore[no-any-return]  # a dispatcher stands in for the function

    return decorate


def writes(dtype: Any, ndim: int = 1) -> Any:
    """Return the type of an array that a kernel changes.

    Parameters
    ----------
    dtype : object
        The numba type of the elements, such as `float64`.
    ndim : int, default=1
        Number of dimensions.

    Returns
    -------
    numba type
        For the signature of a `kernel`.
    """
    return types.Array(dtype, ndim, "C")


def reads(dtype: Any, ndim: int = 1) -> Any:
    """Return the type of an array that a kernel only reads; inside a named tuple it must be `frozen`.

    Parameters
    ----------
    dtype : object
        The numba type of the elements, such as `float64`.
    ndim : int, default=1
        Number of dimensions.

    Returns
    -------
    numba type
        For the signature of a `kernel`.
    """
    return types.Array(dtype, ndim, "C", readonly=True)


def named(record: type[tuple[Any, ...]], *fields: Any) -> Any:
    """Return the type of a NamedTuple of arrays or numbers.

    Parameters
    ----------
    record : type
        The class of the named tuple.
    *fields : object
        The numba type of each field, such as `reads(float64)`.

    Returns
    -------
    numba type
        For the signature of a `kernel`.
    """
    return types.BaseTuple.from_types(fields, record)


def _cached(function: Callable[..., Any], **options: Any) -> Any:
    dispatcher = _compiled(function, **options)
    try:
        dispatcher.enable_caching()
    except RuntimeError:  # no writable folder: compile in each process
        return dispatcher
    try:
        _replace_cache_file(dispatcher._cache, stamp_of(function.__code__.co_filename))
    except AttributeError:  # internals of numba, which a later release may change
        warnings.warn(
            f"numba {numba.__version__} keeps its cache in a way not known here: kernels compile in each process",
            RuntimeWarning,
            stacklevel=3,
        )
        return _compiled(function, **options)  # slow, but stale machine code would be wrong
    return dispatcher


def _replace_cache_file(cache: Any, stamp: object) -> None:
    """Replace the cache of a function by one with stamps and checksums."""
    theirs = cache._cache_file
    cache._cache_file = KernelCacheFile(theirs._cache_path, cache._impl.filename_base, (theirs._source_stamp, stamp))


def _compiled(function: Callable[..., Any], **options: Any) -> Any:
    # No C wrapper: a fifth less to compile. No lock of Python: threads run in parallel.
    return njit(no_cfunc_wrapper=True, nogil=True, **options)(function)


INSTANCES = named(Instances, reads(int64), reads(int32), reads(float32))
LABELS = named(Labels, reads(int64), reads(int32))
