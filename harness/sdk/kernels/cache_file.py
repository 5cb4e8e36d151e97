"""Compiled code on disk, with a checksum: what is torn or damaged is compiled again, and a full disk stops nobody.

numba trusts its cache files. An empty one ends every process that imports the kernel, and a damaged one may be run.
Here each file begins with the digest of the rest. Whatever does not fit it counts as missing, and is written anew.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import warnings
from typing import Any

from numba.core.caching import IndexDataCacheFile
from numba.core.serialize import dumps

_DIGEST_BYTES = hashlib.sha256().digest_size


class KernelCacheFile(IndexDataCacheFile):  # type: ignore[misc]  # numba has no types
    """The compiled forms of one function, in numba's files: an index by signature, and the code of each."""

    def save(self, key: Any, data: Any) -> None:
        """Keep compiled code; where that cannot be done, say in which folder, and go on without."""
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
        """The files by signature; empty where they are of other sources, of another numba, or damaged."""
        try:
            version, stamp, overloads = self._read(self._index_path)
        except Exception:  # it is missing, damaged, or names classes that are no more
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
            raise OSError(f"{name} cannot be used ({error})") from error  # how numba knows that it must compile

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
