"""What must hold of loaded data before anybody trains on it; each part comes back in its canonical form.

A DataError tells what does not hold; whoever knows the data set's name adds it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, issparse

from harness.contract import Dataset, Labels, Taxonomy
from harness.errors import DataError
from harness.sdk.texts import Texts

if TYPE_CHECKING:
    from numpy.typing import NDArray


def checked(name: str, data: Dataset) -> Dataset:
    """The data set in canonical form: CSR of float32, duplicates summed, labels in range; DataError otherwise."""
    try:
        return _checked(data)
    except DataError as error:
        raise error.about(f"data set {name!r}") from error


def _checked(data: Dataset) -> Dataset:
    if not isinstance(data, Dataset):
        raise DataError(f"its loader gave {type(data).__name__}, expected harness.Dataset")
    check_classes(data)
    X = checked_rows(data.X) if data.X is not None else None
    texts = checked_texts(data.texts) if data.texts is not None else None
    rows, classes = _count_rows(X, texts), len(data.class_names)
    y = checked_labels(data.y, rows, classes)
    taxonomy = data.taxonomy
    if taxonomy is not None:
        taxonomy = checked_taxonomy(taxonomy, classes)
    return Dataset(
        X=X,
        y=y,
        class_names=tuple(map(str, data.class_names)),
        taxonomy=taxonomy,
        splits={split: checked_split(split, parts, rows) for split, parts in data.splits.items()},
        found=data.found,
        texts=texts,
        counting=data.counting,
        groups=checked_columns(data.groups, rows),
        times=checked_columns(data.times, rows),
        revision=str(data.revision),
    )


def _count_rows(X: csr_array | None, texts: Texts | None) -> int:
    if X is None and texts is None:
        raise DataError("it has neither X nor texts: expected rows of numbers, or a text a row")
    if X is None:
        return len(texts or ())
    if texts is not None and len(texts) != X.shape[0]:
        raise DataError(f"{len(texts)} texts for {X.shape[0]} rows")
    return int(X.shape[0])


def checked_rows(X: Any) -> csr_array:
    """Rows as CSR of float32, duplicates summed, no stored zero, every value finite."""
    rows = csr_array(X, dtype=np.float32)
    if rows.ndim != 2:
        raise DataError(f"X has shape {rows.shape}, expected rows x features")
    if not rows.has_canonical_format or not rows.data.all():  # else a copy would only double the memory
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    bad = np.flatnonzero(~np.isfinite(rows.data))
    if bad.size:
        row = int(np.searchsorted(rows.indptr, bad[0], side="right")) - 1
        raise DataError(
            f"row {row}, feature {rows.indices[bad[0]]} is {rows.data[bad[0]]} ({bad.size} such values)",
            next_step="remove or replace NaN and infinite values",
        )
    if max(rows.nnz, rows.shape[1]) < 2**31:
        rows.indices = rows.indices.astype(np.int32, copy=False)
        rows.indptr = rows.indptr.astype(np.int32, copy=False)
    return rows


def checked_texts(texts: Iterable[str]) -> Texts:
    """A text a row, as the arrays that are kept."""
    try:
        return Texts.of(texts)
    except TypeError as error:
        raise DataError(f"its texts: {error}") from None


def check_classes(data: Dataset) -> None:
    """DataError unless there are two classes to tell apart."""
    if len(data.class_names) >= 2:
        return
    many = f"1 class, {str(data.class_names[0])!r}" if data.class_names else "no classes"
    read = f" (read: {data.found})" if data.found else ""
    raise DataError(f"it has {many}: at least two are needed to compare learners{read}")


def checked_labels(y: Labels, rows: int, classes: int) -> Labels:
    """Class positions as int64; several labels a row as an indicator matrix of ones."""
    if issparse(y):
        return _checked_indicator(y, rows, classes)
    y = np.asarray(y)
    if y.ndim != 1 or not np.issubdtype(y.dtype, np.integer):
        raise DataError(f"labels are {y.dtype} of shape {y.shape}, expected class positions, 1-D")
    if y.shape[0] != rows:
        raise DataError(f"{y.shape[0]} labels for {rows} rows")
    wrong = np.flatnonzero((y < 0) | (y >= classes))
    if wrong.size:
        raise DataError(f"the label of row {wrong[0]} is {y[wrong[0]]}, expected 0 to {classes - 1}")
    return y.astype(np.int64)


def _checked_indicator(y: Any, rows: int, classes: int) -> csr_array:
    if y.shape[0] != rows:
        raise DataError(f"{y.shape[0]} labels for {rows} rows")
    if y.shape[1:] != (classes,):
        raise DataError(f"the label matrix has shape {y.shape} for {classes} classes")
    indicator = csr_array(csr_array(y) != 0).astype(np.int8)
    indicator.sum_duplicates()
    return indicator


def checked_taxonomy(taxonomy: Taxonomy, classes: int) -> Taxonomy:
    """A tree with one root that every node reaches, and a node for each class."""
    parent, class_node = np.asarray(taxonomy.parent), np.asarray(taxonomy.class_node)
    nodes = len(parent)
    if not np.issubdtype(parent.dtype, np.integer) or not np.issubdtype(class_node.dtype, np.integer):
        raise DataError("its taxonomy must be given in whole numbers")
    if len(class_node) != classes or ((class_node < 0) | (class_node >= nodes)).any():
        raise DataError(f"its taxonomy must place each of the {classes} classes at one of its nodes")
    if (parent < -1).any() or (parent >= nodes).any() or (parent == -1).sum() != 1:
        raise DataError(f"its taxonomy must have one root (parent -1) and parents within 0..{nodes - 1}")
    if len(taxonomy.node_names) not in (0, nodes):
        raise DataError(f"its taxonomy has {len(taxonomy.node_names)} names for {nodes} nodes")
    above = parent
    for _ in range(nodes.bit_length()):  # after doubling the step often enough every node must have met the root
        above = np.where(above >= 0, above[above], -1)
    if (above >= 0).any():
        lost = np.flatnonzero(above >= 0)[0]
        raise DataError(f"its taxonomy has a cycle: node {lost} never reaches the root")
    return Taxonomy(parent.astype(np.int64), class_node.astype(np.int64), tuple(map(str, taxonomy.node_names)))


def checked_columns(columns: Mapping[str, Any], rows: int) -> dict[str, NDArray[np.int64]]:
    """Columns that rows are parted by: a whole number for each row."""
    found = {}
    for name, codes in columns.items():
        numbers = np.asarray(codes)
        if numbers.shape != (rows,) or not np.issubdtype(numbers.dtype, np.integer):
            raise DataError(
                f"the column {name!r} is {numbers.dtype} of shape {numbers.shape}, expected a whole number for each of "
                f"{rows} rows"
            )
        found[str(name)] = numbers.astype(np.int64)
    return found


def checked_split(split: str, parts: Any, rows: int) -> tuple[Any, Any]:
    """Positions of training and test rows, no row in both."""
    if not re.fullmatch(r"[\w.-]+", split):
        raise DataError(f"the split name {split!r} must be letters, digits, '-', '_', '.'")
    train, test = map(np.asarray, parts)
    both = np.concatenate([train, test])
    if both.size and not np.issubdtype(both.dtype, np.integer):
        raise DataError(f"split {split!r} holds {both.dtype}, expected positions of rows")
    if both.size and (both.min() < 0 or both.max() >= rows):
        raise DataError(f"split {split!r} names rows outside 0..{rows - 1}")
    if np.unique(both).size != both.size:
        raise DataError(f"split {split!r} uses a row twice, or in both parts")
    return train.astype(np.int64), test.astype(np.int64)
