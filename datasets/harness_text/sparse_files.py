"""Files of sparse rows, one per part of the data: stacked, with a check of single labels."""

from __future__ import annotations

from collections.abc import Sequence

from scipy.sparse import csr_array, vstack

from harness.errors import DataError
from harness.sdk.reading.sparse_text import SparseText


def stacked(parts: Sequence[SparseText], *, first_feature: int = 0, least_width: int = 0) -> csr_array:
    """Return all rows as one matrix.

    Parameters
    ----------
    parts : sequence of SparseText
        Rows of each part.
    first_feature : int, default=0
        Number of the feature in the first column. Lower ones are dropped.
    least_width : int, default=0
        Minimum number of columns. Otherwise the widest part determines it.
    """
    width = least_width
    for part in parts:
        width = max(width, part.X.shape[1])
    wide = []
    for part in parts:
        pieces = (part.X.data, part.X.indices, part.X.indptr)
        wide.append(csr_array(pieces, shape=(part.X.shape[0], width)))
    return vstack(wide, format="csr")[:, first_feature:]


def single_labels(dataset: str, file: str, read: SparseText) -> list[str]:
    """Return the label of each row; DataError, with file and row, unless each row has exactly one."""
    for number, row in enumerate(read.labels, 1):
        if len(row) != 1:
            raise DataError(f"{file}, row {number} has {len(row)} labels, expected one", culprit=f"dataset {dataset!r}")
    return [label for (label,) in read.labels]


def by_number(labels: Sequence[str]) -> list[str]:
    """Return distinct labels in the order of their numbers; labels that are not numbers follow, by name."""
    distinct = set(labels)
    numbers = set(filter(str.isdigit, distinct))
    return [*sorted(numbers, key=_value_and_name), *sorted(distinct - numbers)]


def _value_and_name(label: str) -> tuple[int, str]:
    return int(label), label
