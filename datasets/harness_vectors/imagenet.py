"""Pictures as the features that a network gave them, in LIBSVM form: whatever the user made from ImageNet.

Files whose names begin with `train` train, those that begin with `test` test; there may be any number of each
(train.txt, train-00.bz2, test.libsvm.zst ...), put one after the other in the order of their names. Without a test file
there is no given split. A non-zero takes eight bytes of memory, twice that while the files are read, which bounds what
can be loaded: the 14.2 million rows of 6,144 features in the LOMtree paper's table would take 700 GB.
"""

from __future__ import annotations

import re

import numpy as np

from harness import Dataset
from harness.errors import DataError
from harness.sdk.reading.raw import RawFiles
from harness_vectors.libsvm import joined, numbered, read_part

RAW = RawFiles(
    dataset="imagenet",
    needed="files in LIBSVM form (`class feature:value ...`) whose names begin with train or test",
    wanted=re.compile(r"(?:^|/)(train|test)[^/]*$"),
    archive="imagenet.tar",
)


def load(*, source: str | None = None) -> Dataset:
    """All rows, training files first; "files" is the split that the names of the files give."""
    read = [
        (match[1] == "test", match.string, read_part("imagenet", match.string, stream))
        for match, stream in RAW.open_each(source)
    ]
    read.sort(key=lambda part: part[:2])
    if all(is_test for is_test, _, _ in read):
        raise DataError(
            "data set 'imagenet': found test files only; expected at least one whose name begins with train"
        )
    X, classes = joined("imagenet", [part for _, _, part in read])
    names, y = numbered(classes)
    n_train = sum(X.shape[0] for is_test, _, (X, _) in read if not is_test)
    rows = np.arange(len(y))
    return Dataset(
        X=X,
        y=y,
        class_names=names,
        splits={"files": (rows[:n_train], rows[n_train:])} if n_train < len(y) else {},
        found=f"{n_train:,} + {len(y) - n_train:,} rows in {len(read)} files, {len(names):,} classes, "
        f"{X.shape[1]:,} features",
    )


def stamp(*, source: str | None = None) -> str:
    """Names the files without reading them."""
    return RAW.stamp(source)
