"""Aloi: pictures of a thousand small objects, 108 views of each, in LIBSVM format.

LIBSVM provides no split: the papers hold out a random tenth.
"""

from __future__ import annotations

import re

from harness import Dataset
from harness.sdk.reading.raw import RawFiles
from harness_vectors.libsvm import joined, numbered, read_part

RAW = RawFiles(
    dataset="aloi",
    needed="aloi.bz2 (or aloi.scale.bz2) from the LIBSVM data page, unpacked or not",
    wanted=re.compile(r"(?:^|/)(aloi(?:\.scale)?)$"),
)
FEATURES = 128


def load_aloi(*, source: str | None = None) -> Dataset:
    """Load the pictures.

    Parameters
    ----------
    source : str or None, default=None
        File, scaled by LIBSVM or not. None uses imported or downloaded files.

    Returns
    -------
    Dataset
        Every picture with its 128 features, unchanged.

    Raises
    ------
    DataError
        If the files are missing, damaged, or not those of the dataset.
    """
    files, parts = [], []
    for match, stream in RAW.open_each(source):
        files.append(match[1])
        parts.append(read_part(RAW, match.string, stream))
    if len(parts) > 1:
        raise RAW.error(f"found {' and '.join(files)}, which hold the same pictures; name one of them as source")
    X, classes = joined(RAW, parts, FEATURES)
    names, y = numbered(classes)
    return Dataset(
        X=X,
        y=y,
        class_names=names,
        found=f"{X.shape[0]:,} pictures of {len(names):,} objects, {FEATURES} features, from {files[0]}",
    )
