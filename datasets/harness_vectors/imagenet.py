"""Pictures as features computed by a network, in LIBSVM format, such as the user's features of ImageNet.

Files whose names begin with `train` are training files, `test` means test files. There may be any number of each
(train.txt, train-00.bz2, test.libsvm.zst ...), joined in the order of their names. Without a test file there is no
fixed split. A non-zero takes eight bytes of memory, and twice that while the files are read, which limits the size of
the data: the 14.2 million rows of 6,144 features in the LOMtree paper's table would take 700 GB.
"""

from __future__ import annotations

import re

import numpy as np

from harness import Dataset
from harness.sdk.reading.raw import RawFiles
from harness_vectors.libsvm import Part, joined, numbered, read_part

RAW = RawFiles(
    dataset="imagenet",
    needed="files in LIBSVM form (`class feature:value ...`) whose names begin with train or test",
    wanted=re.compile(r"(?:^|/)(train|test)[^/]*$"),
    archive="imagenet.tar",
)


def load_imagenet(*, source: str | None = None) -> Dataset:
    """Load all files.

    Parameters
    ----------
    source : str or None, default=None
        Folder or archive with the files. None uses imported files.

    Returns
    -------
    Dataset
        All rows, training files first, with the split "files".

    Raises
    ------
    DataError
        If the files are missing, damaged, or not those of the dataset.
    """
    files: dict[str, dict[str, Part]] = {"train": {}, "test": {}}
    for match, stream in RAW.open_each(source):
        files[match[1]][match.string] = read_part(RAW, match.string, stream)
    if not files["train"]:
        raise RAW.error("found test files only; expected at least one whose name begins with train")
    parts = []
    for named in files.values():
        parts += [named[name] for name in sorted(named)]
    X, classes = joined(RAW, parts)
    names, y = numbered(classes)
    n_train = sum(rows.shape[0] for rows, _ in files["train"].values())
    rows = np.arange(len(y))
    splits = {}
    if n_train < len(y):
        splits["files"] = (rows[:n_train], rows[n_train:])
    return Dataset(
        X=X,
        y=y,
        class_names=names,
        splits=splits,
        found=f"{n_train:,} + {len(y) - n_train:,} rows in {len(parts)} files, {len(names):,} classes, "
        f"{X.shape[1]:,} features",
    )
