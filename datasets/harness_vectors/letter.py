"""Letter: printed capital letters with 16 measurements, in LIBSVM's scaled format or as in the UCI repository.

LIBSVM's format gives the split "libsvm" (letter.scale trains, letter.scale.t tests). UCI's gives the donor's split
"uci": the first 16,000 rows train, the others test. LIBSVM's class numbers are kept.
"""

from __future__ import annotations

import re
from typing import IO

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness import Dataset
from harness.sdk.reading.raw import RawFiles
from harness_vectors.libsvm import Part, joined, numbered, read_part

NEEDED = (
    "letter.scale and letter.scale.t from the LIBSVM data page, or letter-recognition.data (or the zip with it) "
    "from the UCI Machine Learning Repository (dataset 59)"
)
RAW = RawFiles(
    dataset="letter",
    needed=NEEDED,
    wanted=re.compile(r"(?:^|/)(letter\.scale|letter\.scale\.t|letter-recognition\.data)$"),
    archive="letter+recognition.zip",
)
FEATURES = 16
UCI_TRAIN = 16_000
"""Number of training rows in the donor's split."""


def load_letter(*, source: str | None = None) -> Dataset:
    """Load all letters.

    Parameters
    ----------
    source : str or None, default=None
        Folder or archive with the files. None uses imported or downloaded files.

    Returns
    -------
    Dataset
        The letters, the training rows of the fixed split first.

    Raises
    ------
    DataError
        If the files are missing, damaged, or not those of the dataset.
    """
    parts = {match[1]: _part(match, stream) for match, stream in RAW.open_each(source)}
    if sorted(parts) == ["letter-recognition.data"]:
        split, n_train = "uci", UCI_TRAIN
        X, classes = parts["letter-recognition.data"]
    elif sorted(parts) == ["letter.scale", "letter.scale.t"]:
        split, n_train = "libsvm", parts["letter.scale"][0].shape[0]
        X, classes = joined(RAW, [parts["letter.scale"], parts["letter.scale.t"]], FEATURES)
    else:
        raise RAW.error(f"found {', '.join(sorted(parts))}; expected {NEEDED}")
    names, y = numbered(classes)
    rows = np.arange(len(y))
    return Dataset(
        X=X,
        y=y,
        class_names=names,
        splits={split: (rows[:n_train], rows[n_train:])},
        found=f"{n_train:,} + {len(y) - n_train:,} letters of {len(names)} classes, {FEATURES} features ({split})",
    )


def _part(match: re.Match[str], stream: IO[bytes]) -> Part:
    if match[1].endswith(".data"):
        return _uci(match.string, stream)
    return read_part(RAW, match.string, stream)


def _uci(name: str, stream: IO[bytes]) -> Part:
    """Return the rows of lines `LETTER,m1,...,m16`."""
    lines = stream.read().decode("ascii", errors="replace").split()
    values: NDArray[np.float32] = np.empty((len(lines), FEATURES), dtype=np.float32)
    for i, line in enumerate(lines):
        letter, *measures = line.split(",")
        try:
            values[i] = np.array(measures, dtype=np.float32)
        except ValueError as error:
            raise RAW.error(
                f"{name}, line {i + 1}: expected a letter and {FEATURES} numbers, found {line[:60]!r}"
            ) from error
        lines[i] = letter
    if len(lines) <= UCI_TRAIN:
        raise RAW.error(f"{name} holds {len(lines):,} rows; the first {UCI_TRAIN:,} only train")
    return csr_array(values), np.array(lines)
