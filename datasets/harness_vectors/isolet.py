"""Isolet: spoken letters of the alphabet with 617 measurements each, in five groups of thirty speakers.

Read from the comma-separated files of the UCI repository (optionally in its archive, compressed by the old Unix
`compress`), or from MATLAB files with the same measurements, one for each group. In the MATLAB files the groups 1 to 4
are sorted by letter: learners must not train in that order, so trials shuffle the rows.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
from io import BytesIO
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.io import loadmat
from scipy.sparse import csr_array

from harness import Dataset
from harness.errors import DataError
from harness.sdk.reading.raw import RawFiles

NEEDED = (
    "isolet.zip from the UCI Machine Learning Repository (dataset 54), or the folder with isolet1+2+3+4.data and "
    "isolet5.data, or with Isolet1.mat to Isolet5.mat (variables fea and gnd)"
)
RAW = RawFiles(
    dataset="isolet",
    needed=NEEDED,
    wanted=re.compile(r"(?:^|/)[Ii]solet(1\+2\+3\+4|[1-5])\.(?:mat|data|data\.Z)$"),
    archive="isolet.zip",
)
FEATURES = 617
LETTERS = "abcdefghijklmnopqrstuvwxyz"
MOST_BYTES = 2**28
"""More than ten times the content of the larger compressed file."""


def load_isolet(*, source: str | None = None) -> Dataset:
    """Load all utterances.

    Parameters
    ----------
    source : str or None, default=None
        Folder or archive with the files. None uses imported or downloaded files.

    Returns
    -------
    Dataset
        The groups one after the other. The fixed split "speakers" trains on groups 1 to 4 and tests on group 5.

    Raises
    ------
    DataError
        If the files are missing, damaged, or not those of the dataset.
    """
    files = sorted((match[1], match.string, content) for match, content in RAW.read(source))
    groups = "+".join(groups for groups, _, _ in files)
    if groups != "1+2+3+4+5":
        names = ", ".join(name for _, name, _ in files)
        raise RAW.error(f"found {names}; expected each of the five groups once, as in {NEEDED}")
    tables = [rows_of(name, content) for _, name, content in files]
    X, y = map(np.concatenate, zip(*tables, strict=True))
    rows, n_test = np.arange(len(y)), len(tables[-1][1])
    return Dataset(
        X=csr_array(X),
        y=y,
        class_names=tuple(LETTERS),
        splits={"speakers": (rows[:-n_test], rows[-n_test:])},
        found=f"{len(y) - n_test:,} + {n_test:,} utterances of {np.unique(y).size} letters, {FEATURES} features",
    )


def rows_of(name: str, content: bytes) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Return measurements and class positions of a file."""
    try:
        if name.endswith(".mat"):
            X, letters = _matlab(content)
        else:
            X, letters = _text(_plain(name, content))
    except DataError:
        raise
    except Exception as error:  # malformed files cause many types of errors in the readers
        raise RAW.error(f"{name} cannot be read ({type(error).__name__}: {error})") from error
    if X.ndim != 2 or X.shape[1] != FEATURES or letters.shape != X.shape[:1] or not len(letters):
        raise RAW.error(
            f"{name} holds measurements of shape {X.shape} and {letters.size} letters; "
            f"expected {FEATURES} measurements and a letter in each row"
        )
    if not np.isin(letters, np.arange(1, 27)).all():
        raise RAW.error(f"{name} has letters other than the numbers 1 to 26")
    return X.astype(np.float32), letters.astype(np.int64) - 1


def _matlab(content: bytes) -> tuple[NDArray[Any], NDArray[Any]]:
    variables = loadmat(BytesIO(content), variable_names=("fea", "gnd"))
    return variables["fea"], variables["gnd"].ravel()


def _text(content: bytes) -> tuple[NDArray[Any], NDArray[Any]]:
    if not content.strip():
        raise ValueError("the file is empty")
    table = np.loadtxt(BytesIO(content), delimiter=",", ndmin=2)
    return table[:, :-1], table[:, -1]


def _plain(name: str, content: bytes) -> bytes:
    """Decompress a file of `compress`, by gzip since Python has no module for it."""
    if not name.endswith(".Z"):
        return content
    with tempfile.TemporaryFile() as packed:
        packed.write(content)
        packed.seek(0)
        command = ["gzip", "-dc"]
        with subprocess.Popen(command, stdin=packed, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as gzip:
            assert gzip.stdout is not None
            plain = gzip.stdout.read(MOST_BYTES + 1)
            gzip.stdout.close()  # a gzip file with more data ends here
    if len(plain) > MOST_BYTES or gzip.returncode != 0:
        raise RAW.error(f"{name} cannot be unpacked with gzip, or unpacks to more than {MOST_BYTES:,} bytes")
    return plain
