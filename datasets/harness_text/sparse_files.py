"""Files of sparse rows, one a part of the data: put one below the other, with single labels checked."""

from __future__ import annotations

from collections.abc import Sequence

from scipy.sparse import csr_array, vstack

from harness.errors import DataError
from harness.sdk.reading.sparse_text import SparseText


def stacked(parts: Sequence[SparseText], *, first_feature: int = 0, least_width: int = 0) -> csr_array:
    """All rows as one matrix, as wide as the widest part, without the columns before the first feature."""
    width = least_width
    for part in parts:
        width = max(width, part.X.shape[1])
    wide = []
    for part in parts:
        pieces = (part.X.data, part.X.indices, part.X.indptr)
        wide.append(csr_array(pieces, shape=(part.X.shape[0], width)))
    return vstack(wide, format="csr")[:, first_feature:]


def single_labels(dataset: str, file: str, read: SparseText) -> list[str]:
    """The label of each row; DataError, naming file and row, where there is not exactly one."""
    for number, row in enumerate(read.labels, 1):
        if len(row) != 1:
            raise DataError(f"{file}, row {number} has {len(row)} labels, expected one", culprit=f"dataset {dataset!r}")
    return [label for (label,) in read.labels]


def by_number(labels: Sequence[str]) -> list[str]:
    """Distinct labels in the order of their numbers; those that are none come last, by name."""
    distinct = set(labels)
    numbers = set(filter(str.isdigit, distinct))
    return [*sorted(numbers, key=_value_and_name), *sorted(distinct - numbers)]


def _value_and_name(label: str) -> tuple[int, str]:
    return int(label), label
