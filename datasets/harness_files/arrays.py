"""Arrays in .npz files: X dense or in the pieces of a sparse matrix, y beside it; nothing is ever unpickled."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any
from zipfile import BadZipFile

import numpy as np
from scipy.sparse import csc_array, csr_array, issparse

from harness import Dataset
from harness.errors import DataError
from harness_files.labels import LabelRows
from harness_files.places import find_file, split_of, tell_splits
from harness_files.taxonomy import from_file

PIECES = ("data", "indices", "indptr", "shape")
EXPECTED = (
    "expected X (or X_data, X_indices, X_indptr, X_shape; or what scipy.sparse.save_npz writes) and y; "
    "X_train, y_train, X_test, y_test do as well"
)

Arrays = Mapping[str, Any]


def load(*, path: str, labels: str | None = None, taxonomy: str | None = None) -> Dataset:
    """X and y of a file; y may also come from a file of its own, `labels`: .npy, or a label a line."""
    arrays = _read(path)
    halves = [part for part in ("train", "test") if f"y_{part}" in arrays]
    if len(halves) == 2:
        parts = [_matrix(arrays, f"X_{part}", path) for part in halves]
        X = csr_array(_stacked(parts, path))
        y, rows = np.concatenate([arrays["y_train"], arrays["y_test"]]), [part.shape[0] for part in parts]
        splits = split_of(rows)
    else:
        X, splits = _matrix(arrays, "X", path), _given(arrays)
        y = _labels_of(labels) if labels is not None else _target(arrays, path)
    if y.shape[0] != X.shape[0]:
        raise DataError(f"{labels or path}: {y.shape[0]:,} labels for the {X.shape[0]:,} rows of X in {path}")
    positions, names, met = _classes(y, arrays, labels or path)
    tree = from_file(taxonomy, met, names) if taxonomy is not None else None
    found = f"{X.shape[0]:,} rows of {X.shape[1]:,} features, {len(names):,} classes{tell_splits(splits)}"
    return Dataset(X, positions, names, tree, splits, found)


def _read(path: str) -> Arrays:
    try:
        with np.load(find_file(path), allow_pickle=False) as file:
            if isinstance(file, np.ndarray):
                raise DataError(f"{path} is a single array: {EXPECTED}")
            return {name: file[name] for name in file.files}
    except (OSError, ValueError, EOFError, BadZipFile, zlib.error) as error:
        raise DataError(f"{path} cannot be read as .npz ({error}): {EXPECTED}") from error


def _matrix(arrays: Arrays, name: str, path: str) -> Any:
    """A matrix by its name: whole, in pieces `name_data`..., or for X in the pieces that save_npz writes."""
    if name in arrays:
        whole = arrays[name]
        if whole.ndim != 2 or not (np.issubdtype(whole.dtype, np.number) or whole.dtype == np.bool_):
            raise DataError(
                f"{path}: {name} is {whole.dtype} of shape {whole.shape}, expected numbers, rows x features"
            )
        return csr_array(whole.astype(np.float32))
    for prefix in (f"{name}_", "") if name in ("X", "y") else (f"{name}_",):
        if all(f"{prefix}{piece}" in arrays for piece in PIECES):
            data, indices, indptr, shape = (arrays[f"{prefix}{piece}"] for piece in PIECES)
            made = (
                csc_array if str(np.asarray(arrays.get(f"{prefix}format", "csr")).astype(str)) == "csc" else csr_array
            )
            try:
                matrix = made((data, indices, indptr), shape=tuple(map(int, shape)))
                matrix.check_format()
            except ValueError as error:
                raise DataError(f"{path}: the pieces of {name} do not fit together: {error}") from error
            return csr_array(matrix)
    raise DataError(f"{path} holds {', '.join(arrays) or 'nothing'}, and no {name}: {EXPECTED}")


def _stacked(parts: list[Any], path: str) -> Any:
    from scipy.sparse import vstack

    if parts[0].shape[1] != parts[1].shape[1]:
        raise DataError(f"{path}: X_train has {parts[0].shape[1]:,} features, X_test {parts[1].shape[1]:,}")
    return vstack(parts, format="csr")


def _target(arrays: Arrays, path: str) -> Any:
    if "y" in arrays:
        return arrays["y"]
    if "y_data" in arrays:
        return _matrix(arrays, "y", path)
    raise DataError(f"{path} holds {', '.join(arrays)}, and no y: {EXPECTED}, or name a file with labels='FILE'")


def _labels_of(path: str) -> Any:
    """Labels of a file of their own."""
    file = find_file(path)
    try:
        if file.suffix == ".npz":
            return _target(_read(path), path)
        if file.suffix == ".npy":
            return np.load(file, allow_pickle=False)
        return np.array(file.read_text(encoding="utf-8").splitlines())
    except (ValueError, EOFError) as error:
        raise DataError(f"{path} cannot be read as labels ({error}): expected .npy, .npz or a label a line") from error


def _given(arrays: Arrays) -> dict[str, tuple[Any, Any]]:
    return {"given": (arrays["train"], arrays["test"])} if {"train", "test"} <= set(arrays) else {}


def _classes(y: Any, arrays: Arrays, path: str) -> tuple[Any, tuple[str, ...], dict[str, str]]:
    """Class positions, class names, and where each class was met; classes without a row are left out."""
    names = arrays.get("class_names")
    several = issparse(y) or y.ndim == 2
    rows = LabelRows()
    if several:
        y = csr_array(y)
        items = [y.indices[y.indptr[i] : y.indptr[i + 1]] for i in range(y.shape[0])]
    elif y.ndim != 1 or y.dtype.kind not in "iuUSbf" or (y.dtype.kind == "f" and (y != np.round(y)).any()):
        raise DataError(f"{path}: y is {y.dtype} of shape {y.shape}, expected whole numbers or texts, one a row")
    else:
        items = [[value] for value in (y.astype(np.int64) if y.dtype.kind in "bf" else y).tolist()]
    for number, item in enumerate(items, 1):
        rows.add([_name(value, names, path) for value in item], f"{path}, row {number}")
    if several and (np.array(rows.sizes) == 0).all():
        raise DataError(f"{path}: y has no label at all")
    return rows.positions(), rows.names, rows.met_at


def _name(value: Any, names: Any, path: str) -> str:
    if names is None:
        return value.decode() if isinstance(value, bytes) else str(value)
    if not 0 <= int(value) < len(names):
        raise DataError(f"{path}: the label {value} has no place in class_names, which has {len(names):,}")
    return str(names[int(value)])
