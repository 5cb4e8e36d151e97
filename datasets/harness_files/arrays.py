"""Arrays in .npz files: X dense or as the parts of a sparse matrix, with y; or only X in an .npy file.

Nothing is unpickled.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from scipy.sparse import csc_array, csr_array, issparse, vstack

from harness import Dataset
from harness.errors import DataError
from harness.sdk.reading.raw import Budget
from harness_files.labels import MISSING, LabelRows, check_missing, without_label
from harness_files.places import PARTS, Splits, describe_splits, find_file, option, split_of
from harness_files.subsample import among
from harness_files.taxonomy import from_file

PIECES = ("data", "indices", "indptr", "shape")
EXPECTED = (
    "expected X (or X_data, X_indices, X_indptr, X_shape; or what scipy.sparse.save_npz writes) and y; "
    "X_train, y_train, X_test, y_test do as well"
)

Arrays = Mapping[str, Any]


def load_arrays(
    *, path: str, labels: str | None = None, taxonomy: str | None = None, missing: str = "error"
) -> Dataset:
    """Load X and y from a file.

    Parameters
    ----------
    path : str
        An .npz file with X and y, or an .npy file with X.
    labels : str or None, default=None
        Another file with y: .npy, .npz, or one label per line.
    taxonomy : str or None, default=None
        File with the class tree.
    missing : {"error", "drop"}, default="error"
        Treatment of rows without a label: "error", or "drop" to skip them.

    Returns
    -------
    Dataset
        The rows, in the order of the file.

    Raises
    ------
    DataError
        If the files are missing or malformed. The message has the file and the line.
    """
    check_missing(missing)
    arrays = _read(path)
    splits: Splits = {}
    if _has(arrays, "y_train") and _has(arrays, "y_test"):
        X, y, splits = _both_parts(arrays, path)
    else:
        X = _matrix(arrays, "X", path)
        y = _read_labels(labels) if labels is not None else _labels(arrays, "y", path)
        if "train" in arrays and "test" in arrays:
            splits = {"given": (arrays["train"], arrays["test"])}
    where = labels or path
    if y.shape[0] != X.shape[0]:
        raise DataError(f"{where}: {y.shape[0]:,} labels for the {X.shape[0]:,} rows of X in {path}")
    kept = _labelled(y, missing, where, option("missing", "drop", path))
    dropped = f", {X.shape[0] - len(kept):,} without a label dropped" if len(kept) < X.shape[0] else ""
    if dropped:
        X, y, splits = X[kept], y[kept], _kept_splits(splits, kept)
    rows = _label_rows(y, arrays.get("class_names"), where)
    names = rows.names
    tree = from_file(taxonomy, rows.met_at, names) if taxonomy is not None else None
    found = f"{X.shape[0]:,} rows of {X.shape[1]:,} features{dropped}, {len(names):,} classes{describe_splits(splits)}"
    return Dataset(X, rows.positions(), names, tree, splits, found)


# -- arrays ----------------------------------------------------------------------------------------------------------


def _read(path: str) -> Arrays:
    file = find_file(path)
    try:
        if not zipfile.is_zipfile(file):
            return {"X": _read_single(file)}
        _check_sizes(file)
        with np.load(file, allow_pickle=False) as found:
            return {name: found[name] for name in found.files}
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        kind = file.suffix if file.suffix == ".npy" else ".npz"
        raise DataError(f"{path} cannot be read as {kind} ({error}): {EXPECTED}") from error


def _read_single(file: Path) -> Any:
    """Return the array of an .npy file; DataError if the file is shorter than its header declares."""
    with open(file, "rb") as stream:
        declared, actual = _declared_bytes(stream), file.stat().st_size
    if declared > actual:
        raise DataError(f"{file} is refused: its header declares {declared:,} bytes, and it has {actual:,}")
    return np.load(file, allow_pickle=False)


def _check_sizes(file: Path) -> None:
    """Raise DataError unless the arrays of an .npz file have their declared sizes, within the limit for a file.

    numpy allocates the declared size of an array before it reads the first number.
    """
    budget = Budget(str(file), file.stat().st_size)
    with zipfile.ZipFile(file) as archive:
        for member in archive.infolist():
            budget.spend(member.file_size)
            with archive.open(member) as stream:
                declared = _declared_bytes(stream)
            if declared > member.file_size:
                raise DataError(
                    f"{file} is refused: its array {member.filename!r} declares {declared:,} bytes, "
                    f"and it has {member.file_size:,}"
                )


def _declared_bytes(stream: IO[bytes]) -> int:
    """Return the bytes of an array by its header."""
    version = np.lib.format.read_magic(stream)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_header(stream)
    return math.prod(shape) * dtype.itemsize


def _has(arrays: Arrays, name: str) -> bool:
    """Return whether an array is present, as a whole or as the parts of a sparse matrix."""
    return name in arrays or _has_pieces(arrays, f"{name}_")


def _has_pieces(arrays: Arrays, prefix: str) -> bool:
    return all(f"{prefix}{piece}" in arrays for piece in PIECES)


def _matrix(arrays: Arrays, name: str, path: str) -> csr_array:
    """Return a matrix by its name: dense, as parts `name_data`..., or, for X, as the parts that save_npz writes."""
    if name in arrays:
        return _from_dense(arrays[name], name, path)
    if _has_pieces(arrays, f"{name}_"):
        return _from_pieces(arrays, f"{name}_", name, path)
    if name == "X" and _has_pieces(arrays, ""):
        return _from_pieces(arrays, "", name, path)
    raise DataError(f"{path} holds {', '.join(arrays) or 'nothing'}, and no {name}: {EXPECTED}")


def _from_dense(matrix: Any, name: str, path: str) -> csr_array:
    is_numbers = np.issubdtype(matrix.dtype, np.number) or matrix.dtype == np.bool_
    if matrix.ndim != 2 or not is_numbers:
        raise DataError(f"{path}: {name} is {matrix.dtype} of shape {matrix.shape}, expected numbers, rows x features")
    return csr_array(matrix.astype(np.float32))


def _from_pieces(arrays: Arrays, prefix: str, name: str, path: str) -> csr_array:
    data, indices, indptr, shape = (arrays[f"{prefix}{piece}"] for piece in PIECES)
    form = np.asarray(arrays.get(f"{prefix}format", "csr")).astype(str)  # scipy writes bytes
    kind = csc_array if form == "csc" else csr_array
    # Rows that only the shape declares still take memory when columns are converted to rows.
    Budget(f"{path}: {name}", Path(path).stat().st_size).spend(int(shape[0]) * indptr.itemsize)
    try:
        matrix = kind((data, indices, indptr), shape=tuple(map(int, shape)))
        matrix.check_format()
    except ValueError as error:
        raise DataError(f"{path}: the pieces of {name} do not fit together: {error}") from error
    return csr_array(matrix)


def _both_parts(arrays: Arrays, path: str) -> tuple[csr_array, Any, Splits]:
    """Return rows, labels and split of a file with a training part and a test part."""
    train, test = (_matrix(arrays, f"X_{part}", path) for part in PARTS)
    if train.shape[1] != test.shape[1]:
        raise DataError(f"{path}: X_train has {train.shape[1]:,} features, X_test {test.shape[1]:,}")
    labels = [_labels(arrays, f"y_{part}", path) for part in PARTS]
    X = csr_array(vstack([train, test], format="csr"))
    return X, _stacked_labels(labels), split_of([train.shape[0], test.shape[0]])


def _stacked_labels(labels: list[Any]) -> Any:
    if any(map(issparse, labels)):
        return csr_array(vstack(list(map(csr_array, labels))))
    return np.concatenate(labels)


# -- labels ----------------------------------------------------------------------------------------------------------


def _labels(arrays: Arrays, name: str, path: str) -> Any:
    if name in arrays:
        return np.atleast_1d(arrays[name])
    if _has_pieces(arrays, f"{name}_"):
        return _from_pieces(arrays, f"{name}_", name, path)
    way = option("labels", "FILE", path)
    raise DataError(f"{path} holds {', '.join(arrays)}, and no {name}: {EXPECTED}, or name a file of labels with {way}")


def _read_labels(path: str) -> Any:
    """Return the labels of a separate file."""
    file = find_file(path)
    try:
        if file.suffix == ".npz":
            arrays = _read(path)
            is_matrix = _has_pieces(arrays, "")  # as save_npz writes it
            return _from_pieces(arrays, "", "y", path) if is_matrix else _labels(arrays, "y", path)
        if file.suffix == ".npy":
            return np.atleast_1d(_read_single(file))
        return np.array(file.read_text(encoding="utf-8").splitlines())
    except (ValueError, EOFError) as error:
        raise DataError(f"{path} cannot be read as labels ({error}): expected .npy, .npz or a label a line") from error


def _labelled(y: Any, missing: str, path: str, way: str) -> Any:
    """Return the positions of the rows with a label; DataError if there are others that may not be dropped."""
    lacks = np.zeros(y.shape[0], dtype=np.bool_)
    if not issparse(y) and y.ndim == 1 and y.dtype.kind == "f":
        lacks = np.isnan(y)
    elif not issparse(y) and y.ndim == 1 and y.dtype.kind in "US":
        lacks = np.isin(np.char.strip(y.astype(np.str_)), list(MISSING))
    if missing == "error" and lacks.any():
        numbers = np.flatnonzero(lacks) + 1
        raise without_label(path, numbers.tolist(), way, "row")
    return np.flatnonzero(~lacks)


def _kept_splits(splits: Splits, kept: Any) -> Splits:
    return {
        name: (among(kept, np.asarray(train)), among(kept, np.asarray(test))) for name, (train, test) in splits.items()
    }


def _label_rows(y: Any, class_names: Sequence[Any] | None, path: str) -> LabelRows:
    """Return the class names of each row, without classes that have no row."""
    several = issparse(y) or y.ndim == 2
    values = _values_in_matrix(y, path) if several else _single_values(y, path)
    rows = LabelRows()
    for number, row in enumerate(values, 1):
        rows.add([_class_name(value, class_names, path) for value in row], f"{path}, row {number}")
    if several and not any(rows.sizes):
        raise DataError(f"{path}: y has no label at all")
    return rows


def _values_in_matrix(y: Any, path: str) -> Iterator[Sequence[Any]]:
    """Yield the non-zero columns of each row."""
    if y.shape[1] == 1:
        raise DataError(f"{path}: y has a single column, expected one dimension or a column for each class")
    indicator = csr_array(y)
    for row in range(indicator.shape[0]):
        yield indicator.indices[indicator.indptr[row] : indicator.indptr[row + 1]]


def _single_values(y: Any, path: str) -> Iterator[Sequence[Any]]:
    kind = y.dtype.kind
    has_fractions = kind == "f" and (y != np.round(y)).any()
    if y.ndim != 1 or kind not in "iuUSbf" or has_fractions:
        raise DataError(f"{path}: y is {y.dtype} of shape {y.shape}, expected whole numbers or texts, one a row")
    if kind in "bf":
        y = y.astype(np.int64)
    for value in y.tolist():
        yield [value]


def _class_name(value: Any, class_names: Sequence[Any] | None, path: str) -> str:
    """Return the name of a label: itself, or the name at its place in `class_names`."""
    if isinstance(value, bytes):
        value = value.decode()
    if class_names is None or isinstance(value, str):
        return str(value)
    if not 0 <= int(value) < len(class_names):
        raise DataError(f"{path}: the label {value} has no place in class_names, which has {len(class_names):,}")
    return str(class_names[int(value)])
