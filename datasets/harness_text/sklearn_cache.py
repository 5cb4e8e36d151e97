"""The copy of 20 Newsgroups that scikit-learn's fetcher keeps: a zlib-packed pickle.

A pickle can run anything when it is read, and this one may come from anywhere. Only the few names that scikit-learn's
own file holds are let through, none of which does more than build an array or a mapping.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterator
from io import BytesIO
from pathlib import PurePath
from typing import Any

from harness.errors import DataError

MOST_BYTES = 2**29
_ALLOWED = {
    *(("sklearn.utils", "Bunch"), ("sklearn.utils._bunch", "Bunch"), ("sklearn.datasets.base", "Bunch")),
    *(("numpy", "ndarray"), ("numpy", "dtype")),
    *(("numpy.core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "_reconstruct")),
    *(("numpy.core.numeric", "_frombuffer"), ("numpy._core.numeric", "_frombuffer")),
    ("_codecs", "encode"),
}


class _Careful(pickle.Unpickler):
    """Refuses every name but those of scikit-learn's own file."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it holds {module}.{name}, which scikit-learn's copy does not")
        return super().find_class(module, name)


def read_cache(content: bytes, *, name: str) -> Iterator[tuple[bool, str, str, str]]:
    """Of each message: whether it is of the test part, its group, its file name, its text."""
    try:
        unpacker = zlib.decompressobj()
        pickled = unpacker.decompress(content, MOST_BYTES)
        if not unpacker.eof:
            raise ValueError(f"it is torn, or unpacks to more than {MOST_BYTES:,} bytes")
        kept = _Careful(BytesIO(pickled)).load()
        for part in ("train", "test"):
            bunch = kept[part]
            for text, label, file in zip(bunch["data"], bunch["target"], bunch["filenames"], strict=True):
                yield part == "test", str(bunch["target_names"][label]), PurePath(str(file)).name, str(text)
    except Exception as error:  # a pickle that is none can fail in every way there is
        raise DataError(
            f"{name} cannot be read ({type(error).__name__}: {error})",
            culprit="data set 'newsgroups'",
            next_step="expected the file 20news-bydate_py3.pkz that sklearn.datasets.fetch_20newsgroups keeps",
        ) from error
