"""Rows of id:value pairs in text: svmlight / LIBSVM files, and files of the Extreme Classification Repository."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from harness import Dataset
from harness.errors import DataError
from harness.sdk.reading.raw import open_raw
from harness.sdk.reading.sparse_text import SparseText, drop_unused_columns, read_svmlight, read_xmc
from harness_files.labels import LabelRows, check_missing, present, without_label
from harness_files.places import describe_splits, find_parts, option, split_of
from harness_files.taxonomy import from_file


def load_svmlight(
    *, path: str, test: str | None = None, taxonomy: str | None = None, missing: str = "error"
) -> Dataset:
    """Load lines of `label[,label...] id:value ...`.

    Parameters
    ----------
    path : str
        The file, or a folder with one training file and one test file.
    test : str or None, default=None
        File with the test rows.
    taxonomy : str or None, default=None
        File with the class tree.
    missing : {"error", "drop"}, default="error"
        Treatment of rows without a label: "error", or "drop" to skip them.

    Returns
    -------
    Dataset
        The rows. Columns are the ids that occur, in order.

    Raises
    ------
    DataError
        If the files are missing or malformed. The message has the file and the line.
    """
    return _load(read_svmlight, path, test, taxonomy, missing)


def load_xmc(*, path: str, test: str | None = None, taxonomy: str | None = None, missing: str = "error") -> Dataset:
    """Load a line of three counts, followed by lines of `label[,label...] id:value ...`.

    Parameters
    ----------
    path : str
        The file, or a folder with one training file and one test file.
    test : str or None, default=None
        File with the test rows.
    taxonomy : str or None, default=None
        File with the class tree.
    missing : {"error", "drop"}, default="error"
        Treatment of rows without a label: "error", or "drop" to skip them.

    Returns
    -------
    Dataset
        The rows. Columns are the ids that occur, in order.

    Raises
    ------
    DataError
        If the files are missing or malformed. The message has the file and the line.
    """
    return _load(read_xmc, path, test, taxonomy, missing)


def _load(read: Callable[..., SparseText], path: str, test: str | None, taxonomy: str | None, missing: str) -> Dataset:
    check_missing(missing)
    files = find_parts(path, test)
    parts, sources = [], []
    for file in files:
        with open_raw(file) as stream:
            part, dropped = _without_missing(_only_present(read(stream, name=str(file))), missing)
        parts.append(part)
        drops = f" ({dropped:,} without a label dropped)" if dropped else ""
        sources.append(f"{part.X.shape[0]:,} rows of {file.name}{drops}")
    several = any(map(_has_several, parts))
    labels = _label_rows(files, parts, several, path)
    X = drop_unused_columns(_stacked([part.X for part in parts]))
    if not X.shape[0]:
        raise DataError(f"{path} holds no rows: expected labels and id:value pairs on each line")
    names = labels.names
    tree = from_file(taxonomy, labels.met_at, names) if taxonomy is not None else None
    splits = split_of([part.X.shape[0] for part in parts])
    kind = "several labels a row" if several else "one label a row"
    found = f"{' and '.join(sources)}, {kind}, {len(names):,} classes, {X.shape[1]:,} features{describe_splits(splits)}"
    return Dataset(X, labels.positions(), names, tree, splits, found)


def _has_several(part: SparseText) -> bool:
    return max(map(len, part.labels), default=0) > 1


def _label_rows(files: list[Path], parts: list[SparseText], several: bool, path: str) -> LabelRows:
    """Return the labels of all rows; if no row has several, each must have one."""
    labels = LabelRows()
    for file, part in zip(files, parts, strict=True):
        for number, row in enumerate(part.labels, 1):
            labels.add(row, f"{file}, row {number}")
        lacking = [number for number, row in enumerate(part.labels, 1) if not row]
        if lacking and not several:
            raise without_label(str(file), lacking, option("missing", "drop", path), "row")
    return labels


def _only_present(part: SparseText) -> SparseText:
    """Return the same rows without labels such as `nan`."""
    return replace(part, labels=tuple(tuple(present(row)) for row in part.labels))


def _without_missing(part: SparseText, missing: str) -> tuple[SparseText, int]:
    """Return the rows and the number of dropped ones, which have no label."""
    labels = tuple(filter(None, part.labels))
    dropped = len(part.labels) - len(labels)
    if missing == "error" or not dropped:
        return part, 0
    kept = np.flatnonzero(list(map(bool, part.labels)))
    return SparseText(part.X[kept], labels), dropped


def _stacked(parts: list[csr_array]) -> Any:
    if len(parts) == 1:
        return parts[0]
    width = max(X.shape[1] for X in parts)
    wide = [csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width)) for X in parts]
    return csr_array(vstack(wide, format="csr"))
