"""Load, check and store datasets.

`parse_in_process` runs a loader in a separate process, so that a loader that leaks memory or crashes does no harm.
`checked` returns the dataset in canonical form, or raises a DataError that names the first problem.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, issparse

from harness.data.arrays import Header, keep, open_dataset, read_header
from harness.errors import DataError, MissingData
from harness.executors.base import Executor, Job
from harness.files.home import parsed_root, remove_unfinished
from harness.host.contract import Dataset, Labels, Taxonomy
from harness.host.introspection import import_target
from harness.sdk.texts import Texts
from harness.syntax.expression import Params

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class ParseJob:
    """A dataset to load, check and store, as it is sent to the process that does so."""

    name: str
    """Name of the dataset in messages."""
    load: str
    """The loader, as "module:function"."""
    params: Params
    folder: Path
    """Folder for the arrays."""
    inner: Mapping[str, Path] = field(default_factory=dict)
    """Folders of stored datasets that the loader takes, by parameter."""
    run_in: Path | None = None
    """Working directory of the loader, for relative paths among the parameters."""


def parse_in_process(
    name: str,
    load: str,
    params: Params,
    folder: Path,
    executor: Executor,
    inner: Mapping[str, str] | None = None,
    *,
    run_in: Path | None = None,
) -> Header:
    """Load, check and store a dataset in a separate process, and return its header.

    Parameters
    ----------
    name : str
        Name of the dataset in messages.
    load : str
        The loader, as "module:function".
    params : Params
        Parameters of the loader.
    folder : Path
        Folder for the arrays.
    executor : Executor
        Runs the process.
    inner : mapping of str to str, optional
        Folders of stored datasets that the loader takes, by parameter.
    run_in : Path, optional
        Working directory of the loader, for relative paths among the parameters.

    Raises
    ------
    DataError
        If the loader fails, crashes, or returns an invalid dataset. MissingData if its files are missing.
    """
    inner_folders = {parameter: Path(inside) for parameter, inside in (inner or {}).items()}
    job = ParseJob(name, load, dict(params), folder, inner_folders, run_in)
    if folder.parent == parsed_root():
        remove_unfinished(folder)  # a parse that was killed may have left hundreds of megabytes
    for _, end in executor.run([Job(PARSE_TARGET, job)]):
        if end.status != "ok":
            raise DataError(f"dataset {name!r} could not be loaded: {end.message}\n{end.output}".rstrip())
        if end.answer is not None:
            raise error_from(end.answer)
    header = read_header(folder)
    if header is None:
        raise DataError(f"dataset {name!r} was loaded but not kept in {folder}")
    return header


def run_parse_job(job: ParseJob, send: Callable[[str], None]) -> tuple[dict[str, str] | None, None]:
    """Load, check and store a dataset in the process of a job.

    Returns
    -------
    tuple
        The fields of the error, or None if there is none; and None, since the job returns no bytes.
    """
    culprit = f"dataset {job.name!r}"
    try:
        _parse(job, send)
    except DataError as error:
        found = error if error.culprit == culprit else error.within(culprit)
    except ValueError as error:  # loaders raise ValueError for invalid parameters
        found = DataError(str(error), culprit=culprit)
    except Exception as error:
        found = DataError(f"{type(error).__name__}: {error}", culprit=culprit)
    else:
        return None, None
    return {"missing": str(isinstance(found, MissingData)), **found.fields()}, None


PARSE_TARGET = f"{run_parse_job.__module__}:{run_parse_job.__name__}"


def error_from(answer: Mapping[str, str]) -> DataError:
    """Return the error that a loader's process sent as plain fields.

    Errors are not sent as pickles, since unpickling could run code of the loader in this process.

    Parameters
    ----------
    answer : mapping of str to str
        Fields of a DataError by name, and "missing": "True" for a MissingData.
    """
    fields = dict(answer)
    kind = MissingData if fields.pop("missing") == "True" else DataError
    return kind(**fields)


def _parse(job: ParseJob, send: Callable[[str], None]) -> None:
    send("loading")
    load = import_target(job.load)
    if job.run_in is not None:
        os.chdir(job.run_in)
    inside = {parameter: open_dataset(folder) for parameter, folder in job.inner.items()}
    loaded = load(**{**job.params, **inside})
    send("checking")
    keep(checked(job.name, loaded), job.folder)


# -- checks ----------------------------------------------------------------------------------------------------------


def checked(name: str, data: Dataset) -> Dataset:
    """Return a dataset in canonical form: CSR of float32, duplicates summed, labels in range.

    Raises
    ------
    DataError
        If the dataset is invalid. The message names the dataset and the first problem.
    """
    try:
        return _checked(data)
    except DataError as error:
        raise error.about(f"dataset {name!r}") from error


def check_classes(data: Dataset) -> None:
    """Raise DataError if a dataset has fewer than two classes."""
    if len(data.class_names) >= 2:
        return
    many = f"1 class, {str(data.class_names[0])!r}" if data.class_names else "no classes"
    read = f" (read: {data.found})" if data.found else ""
    raise DataError(f"it has {many}{read}. At least two are needed to compare learners.")


def checked_rows(X: Any) -> csr_array:
    """Return rows as a CSR matrix of float32, with duplicates summed and without stored zeros.

    Parameters
    ----------
    X : object
        A sparse or dense matrix, as a loader returned it.

    Raises
    ------
    DataError
        If `X` is not two-dimensional, or has a value that is not finite.
    """
    rows = csr_array(X, dtype=np.float32)
    if rows.ndim != 2:
        raise DataError(f"X has shape {rows.shape}, expected rows x features")
    if not rows.has_canonical_format or not rows.data.all():  # a copy of canonical rows would only double the memory
        rows = rows.copy()
        rows.sum_duplicates()
        rows.eliminate_zeros()
    bad = np.flatnonzero(~np.isfinite(rows.data))
    if bad.size:
        row = int(np.searchsorted(rows.indptr, bad[0], side="right")) - 1
        raise DataError(
            f"row {row}, feature {rows.indices[bad[0]]} is {rows.data[bad[0]]} ({bad.size} such values)",
            next_step="Remove or replace NaN and infinite values.",
        )
    if max(rows.nnz, rows.shape[1]) < 2**31:
        rows.indices = rows.indices.astype(np.int32, copy=False)
        rows.indptr = rows.indptr.astype(np.int32, copy=False)
    return rows


def checked_texts(texts: Iterable[str]) -> Texts:
    """Return the texts as `Texts`; DataError if one of them is not a string."""
    try:
        return Texts.of(texts)
    except TypeError as error:
        raise DataError(f"its texts: {error}") from None


def checked_labels(y: Labels, rows: int, classes: int) -> Labels:
    """Return class positions as int64, or multi-label data as an indicator matrix of ones.

    Parameters
    ----------
    y : Labels
        Class positions, or an indicator matrix for multi-label data.
    rows, classes : int
        The expected numbers of rows and of classes.

    Raises
    ------
    DataError
        If the number of labels is not that of the rows, or if a label is not a class position.
    """
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


def checked_taxonomy(taxonomy: Taxonomy, classes: int) -> Taxonomy:
    """Return a taxonomy with arrays of int64, after checking it.

    Parameters
    ----------
    taxonomy : Taxonomy
        The taxonomy as a loader returned it.
    classes : int
        Number of classes, each of which needs a node.

    Raises
    ------
    DataError
        If it has not one root or has a cycle, if a class has no node, or if names, weights or costs do not fit the
        nodes.
    """
    parent, class_node = np.asarray(taxonomy.parent), np.asarray(taxonomy.class_node)
    if parent.ndim != 1 or class_node.ndim != 1:
        raise DataError("its taxonomy must have a parent for each node and a node for each class")
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
    for _ in range(nodes.bit_length()):  # each step doubles the distance, so every node without a cycle passes the root
        above = np.where(above >= 0, above[above], -1)
    if (above >= 0).any():
        lost = np.flatnonzero(above >= 0)[0]
        raise DataError(f"its taxonomy has a cycle: node {lost} never reaches the root")
    checked = Taxonomy(
        parent.astype(np.int64),
        class_node.astype(np.int64),
        tuple(map(str, taxonomy.node_names)),
        _checked_parents(taxonomy, parent),
        _checked_numbers(taxonomy.weights, (nodes,), "a weight"),
        _checked_numbers(taxonomy.costs, (nodes, 2), "two costs"),
    )
    if not checked.is_tree:
        try:
            checked.levels()
        except ValueError as error:
            raise DataError(f"its taxonomy has a cycle: {error}") from error
    return checked


def _checked_parents(taxonomy: Taxonomy, parent: NDArray[Any]) -> NDArray[np.int64] | None:
    """Return further parents as int64, or None without any; DataError unless each is new and not of the root."""
    if taxonomy.more_parents is None or not len(taxonomy.more_parents):
        return None
    pairs = np.asarray(taxonomy.more_parents)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not np.issubdtype(pairs.dtype, np.integer):
        raise DataError("its taxonomy must have further parents as pairs of a node and its parent, in whole numbers")
    if (pairs < 0).any() or (pairs >= len(parent)).any():
        raise DataError(f"its taxonomy must have further parents and their nodes within 0..{len(parent) - 1}")
    every = np.concatenate([np.column_stack([np.arange(len(parent)), parent]), pairs])
    if (parent[pairs[:, 0]] < 0).any() or len(np.unique(every, axis=0)) < len(every):
        raise DataError("its taxonomy must not repeat a parent of a node, and its root has none")
    return pairs.astype(np.int64)


def _checked_numbers(values: Any, shape: tuple[int, ...], what: str) -> NDArray[np.float64] | None:
    """Return weights or costs as float64; DataError unless they have this shape and none is negative."""
    if values is None:
        return None
    numbers = np.asarray(values)
    if numbers.shape != shape or numbers.dtype.kind not in "iuf" or not (np.isfinite(numbers) & (numbers >= 0)).all():
        raise DataError(f"its taxonomy must have {what} for each of its {shape[0]} nodes, none of them negative")
    return numbers.astype(np.float64)


def checked_columns(columns: Mapping[str, Any], rows: int) -> dict[str, NDArray[np.int64]]:
    """Return the columns for splits as int64; DataError unless each has a whole number for each row.

    Parameters
    ----------
    columns : mapping of str to object
        A code for each row, by the name of the column.
    rows : int
        The expected number of rows.
    """
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
    """Return the positions of the training and test rows of a fixed split as int64.

    Parameters
    ----------
    split : str
        The name of the split.
    parts : object
        Positions of the training rows and of the test rows.
    rows : int
        The number of rows of the dataset.

    Raises
    ------
    DataError
        If the name is invalid, if a position is not that of a row, or if a row occurs twice.
    """
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


def _checked(data: Dataset) -> Dataset:
    if not isinstance(data, Dataset):
        raise DataError(f"its loader returned {type(data).__name__}, expected harness.Dataset")
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
        table=data.table,
    )


def _count_rows(X: csr_array | None, texts: Texts | None) -> int:
    if X is None and texts is None:
        raise DataError("it has neither X nor texts: expected rows of numbers, or a text a row")
    if X is None:
        return len(texts or ())
    if texts is not None and len(texts) != X.shape[0]:
        raise DataError(f"{len(texts)} texts for {X.shape[0]} rows")
    return int(X.shape[0])


def _checked_indicator(y: Any, rows: int, classes: int) -> csr_array:
    if y.shape[0] != rows:
        raise DataError(f"{y.shape[0]} labels for {rows} rows")
    if y.shape[1:] != (classes,):
        raise DataError(f"the label matrix has shape {y.shape} for {classes} classes")
    indicator = csr_array(csr_array(y) != 0).astype(np.int8)
    indicator.sum_duplicates()
    return indicator
