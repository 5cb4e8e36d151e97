"""Parsed data sets, kept in the data home as memory-mapped arrays that every trial opens in milliseconds.

A data set is parsed once, in a process of its own, and kept under a name made of everything that decides its content:
plugin version, loader version, parameters, and the loader's own stamp of the raw files.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import re
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from harness.catalog import Entry
from harness.contract import Dataset, DatasetSpec, Taxonomy
from harness.errors import DataError
from harness.home import data_home, how_to_get, not_writable, parsed_root, raw_folder
from harness.signature import import_target

LAYOUT = 2
"""Raised when the kept form changes, so that older folders are passed over."""
_MATRIX = ("indptr", "indices", "data")


@dataclass(frozen=True)
class Header:
    """What is known of a kept data set without opening its arrays."""

    folder: str
    fingerprint: str
    rows: int
    features: int
    classes: int
    nonzeros: int
    empty_rows: int
    negative: bool
    multilabel: bool
    largest_class: int
    taxonomy_depth: int | None
    splits: dict[str, tuple[int, int]]
    found: str


def folder_of(entry: Entry[DatasetSpec], params: Mapping[str, Any]) -> Path:
    """Where this data set with these parameters is kept."""
    spec = entry.spec
    decisive = [LAYOUT, spec.name, spec.version, entry.origin.distribution, entry.origin.version, _stamp(spec, params)]
    text = json.dumps([*decisive, sorted(params.items())], default=repr)
    return parsed_root() / f"{spec.name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _stamp(spec: DatasetSpec, params: Mapping[str, Any]) -> str:
    """What the loader says of its raw content, which may depend on the parameters: they are given if it takes any."""
    if spec.stamp is None:
        return ""
    stamp = import_target(spec.stamp)
    try:
        return str(stamp(**params) if inspect.signature(stamp).parameters else stamp())
    except DataError as error:
        if not (spec.files or spec.obtain) or params.get("source") is not None or raw_folder(spec.name).exists():
            raise
        raise DataError(f"data set {spec.name!r} is not in the data home {data_home()}: {how_to_get(spec)}") from error


def differences(facts: Mapping[str, int], header: Header) -> tuple[str, ...]:
    """What was found where the data set's own description says something else."""
    found = {name: getattr(header, name) for name in facts}
    return tuple(
        f"{name} {fact:,} expected, {found[name] if found[name] is None else format(found[name], ',')} found"
        for name, fact in facts.items()
        if fact != found[name]
    )


def read_header(folder: Path) -> Header | None:
    """The header of a kept data set, or None when it is not kept."""
    try:
        content = json.loads((folder / "header.json").read_text())
        content["splits"] = {name: tuple(sizes) for name, sizes in content["splits"].items()}
        del content["class_names"], content["node_names"]
        return Header(folder=str(folder), **content)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise DataError(f"{folder} is damaged ({reason}): remove it, and the data set is parsed again") from error


def parse_job(payload: dict[str, Any], send: Any) -> tuple[dict[str, str], None]:
    """A job: load a data set through its plugin, check it and keep it; gives an error's text, or none."""
    send("loading")
    try:
        inside = {name: open_dataset(Path(folder)) for name, folder in payload.get("inner", {}).items()}
        loaded = import_target(payload["load"])(**{**payload["params"], **inside})
        send("checking")
        keep(checked(payload["name"], loaded), Path(payload["folder"]))
    except Exception as error:
        expected = isinstance(error, DataError | ValueError)
        prefix = f"data set {payload['name']!r}: "
        text = str(error) if expected else f"{type(error).__name__}: {error}"
        return {"error": text if text.startswith(prefix) else prefix + text}, None
    return {}, None


# -- checking --------------------------------------------------------------------------------------------------------


def checked(name: str, data: Dataset) -> Dataset:
    """The data set in canonical form: CSR of float32, duplicates summed, labels in range; DataError otherwise."""
    if not isinstance(data, Dataset):
        raise DataError(f"data set {name!r}: its loader gave {type(data).__name__}, expected harness.Dataset")
    X = csr_array(data.X, dtype=np.float32)
    if X.ndim != 2:
        raise DataError(f"data set {name!r}: X has shape {X.shape}, expected rows x features")
    if not X.has_canonical_format or not X.data.all():  # else a copy would only double the memory
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    bad = np.flatnonzero(~np.isfinite(X.data))
    if bad.size:
        row = int(np.searchsorted(X.indptr, bad[0], side="right")) - 1
        raise DataError(
            f"data set {name!r}: row {row}, feature {X.indices[bad[0]]} is {X.data[bad[0]]} ({bad.size} such values): "
            "remove or replace NaN and infinite values"
        )
    if max(X.nnz, X.shape[1]) < 2**31:
        X.indices, X.indptr = X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int32, copy=False)
    classes = len(data.class_names)
    if classes < 2:
        many = f"1 class, {str(data.class_names[0])!r}" if classes else "no classes"
        read = f" (read: {data.found})" if data.found else ""
        raise DataError(f"data set {name!r}: it has {many}: at least two are needed to compare learners{read}")
    y = _checked_labels(name, data.y, X.shape[0], classes)
    taxonomy = _checked_taxonomy(name, data.taxonomy, classes) if data.taxonomy is not None else None
    splits = {split: _checked_given(name, split, parts, X.shape[0]) for split, parts in data.splits.items()}
    return Dataset(X, y, tuple(map(str, data.class_names)), taxonomy, splits, data.found)


def _checked_labels(name: str, y: Any, rows: int, classes: int) -> Any:
    if not issparse(y):
        y = np.asarray(y)
        if y.ndim != 1 or not np.issubdtype(y.dtype, np.integer):
            raise DataError(
                f"data set {name!r}: labels are {y.dtype} of shape {y.shape}, expected class positions, 1-D"
            )
    if y.shape[0] != rows:
        raise DataError(f"data set {name!r}: {y.shape[0]} labels for {rows} rows")
    if issparse(y):
        if y.shape[1:] != (classes,):
            raise DataError(f"data set {name!r}: the label matrix has shape {y.shape} for {classes} classes")
        indicator = csr_array(csr_array(y) != 0).astype(np.int8)
        indicator.sum_duplicates()
        return indicator
    wrong = np.flatnonzero((y < 0) | (y >= classes))
    if wrong.size:
        raise DataError(f"data set {name!r}: the label of row {wrong[0]} is {y[wrong[0]]}, expected 0 to {classes - 1}")
    return y.astype(np.int64)


def _checked_taxonomy(name: str, taxonomy: Taxonomy, classes: int) -> Taxonomy:
    parent, class_node = np.asarray(taxonomy.parent), np.asarray(taxonomy.class_node)
    nodes = len(parent)
    if not np.issubdtype(parent.dtype, np.integer) or not np.issubdtype(class_node.dtype, np.integer):
        raise DataError(f"data set {name!r}: its taxonomy must be given in whole numbers")
    if len(class_node) != classes or ((class_node < 0) | (class_node >= nodes)).any():
        raise DataError(f"data set {name!r}: its taxonomy must place each of the {classes} classes at one of its nodes")
    if (parent < -1).any() or (parent >= nodes).any() or (parent == -1).sum() != 1:
        raise DataError(
            f"data set {name!r}: its taxonomy must have one root (parent -1) and parents within 0..{nodes - 1}"
        )
    if len(taxonomy.node_names) not in (0, nodes):
        raise DataError(f"data set {name!r}: its taxonomy has {len(taxonomy.node_names)} names for {nodes} nodes")
    above = parent
    for _ in range(nodes.bit_length()):  # after doubling the step often enough every node must have met the root
        above = np.where(above >= 0, above[above], -1)
    if (above >= 0).any():
        lost = np.flatnonzero(above >= 0)[0]
        raise DataError(f"data set {name!r}: its taxonomy has a cycle: node {lost} never reaches the root")
    return Taxonomy(parent.astype(np.int64), class_node.astype(np.int64), tuple(map(str, taxonomy.node_names)))


def _checked_given(name: str, split: str, parts: Any, rows: int) -> tuple[Any, Any]:
    if not re.fullmatch(r"[\w.-]+", split):
        raise DataError(f"data set {name!r}: the split name {split!r} must be letters, digits, '-', '_', '.'")
    train, test = (np.asarray(part) for part in parts)
    both = np.concatenate([train, test])
    if both.size and not np.issubdtype(both.dtype, np.integer):
        raise DataError(f"data set {name!r}: split {split!r} holds {both.dtype}, expected positions of rows")
    if both.size and (both.min() < 0 or both.max() >= rows):
        raise DataError(f"data set {name!r}: split {split!r} names rows outside 0..{rows - 1}")
    if np.unique(both).size != both.size:
        raise DataError(f"data set {name!r}: split {split!r} uses a row twice, or in both parts")
    return train.astype(np.int64), test.astype(np.int64)


# -- keeping and opening ---------------------------------------------------------------------------------------------


def keep(data: Dataset, folder: Path) -> None:
    """Write all arrays beside each other and move the folder into place in one step."""
    node_names = data.taxonomy.node_names if data.taxonomy else ()
    header = asdict(header_of(data, fingerprint_of(data)))
    del header["folder"]
    header |= {"class_names": data.class_names, "node_names": node_names}
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=folder.name, dir=folder.parent, ignore_cleanup_errors=True) as beside:
            for name, array in _arrays(data).items():
                np.save(Path(beside) / f"{name}.npy", array)
            (Path(beside) / "header.json").write_text(json.dumps(header))
            _move(Path(beside), folder)
    except OSError as error:
        raise not_writable(error) from error


def _move(beside: Path, folder: Path) -> None:
    try:
        os.rename(beside, folder)
    except OSError as error:
        if not (folder / "header.json").exists():
            raise DataError(f"{folder} is in the way ({error}): remove it") from error
        # Another run was quicker, with the same content.


def fingerprint_of(data: Dataset) -> str:
    """SHA-256 of all that a trial can see of the data."""
    arrays = _arrays(data)
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name}{arrays[name].dtype}{arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).data)
    node_names = data.taxonomy.node_names if data.taxonomy else ()
    digest.update(json.dumps([data.X.shape[1], data.class_names, node_names]).encode())
    return digest.hexdigest()


def _arrays(data: Dataset) -> dict[str, Any]:
    arrays = {f"X_{part}": getattr(data.X, part) for part in _MATRIX}
    if issparse(data.y):
        arrays |= {f"y_{part}": getattr(data.y, part) for part in _MATRIX}
    else:
        arrays["y"] = data.y
    if data.taxonomy is not None:
        arrays |= {"parent": data.taxonomy.parent, "class_node": data.taxonomy.class_node}
    for name, (train, test) in data.splits.items():
        arrays |= {f"train_{name}": np.asarray(train, np.int64), f"test_{name}": np.asarray(test, np.int64)}
    return arrays


def header_of(data: Dataset, fingerprint: str, folder: str = "") -> Header:
    """What a header says of this data."""
    labels = data.y.indices if issparse(data.y) else data.y
    return Header(
        folder=folder,
        fingerprint=fingerprint,
        rows=data.X.shape[0],
        features=data.X.shape[1],
        classes=len(data.class_names),
        nonzeros=int(data.X.nnz),
        empty_rows=int((np.diff(data.X.indptr) == 0).sum()),
        negative=bool((data.X.data < 0).any()),
        multilabel=bool(issparse(data.y)),
        largest_class=int(np.bincount(labels, minlength=1).max()),
        taxonomy_depth=data.taxonomy.depth if data.taxonomy else None,
        splits={name: (len(train), len(test)) for name, (train, test) in data.splits.items()},
        found=data.found,
    )


def open_dataset(folder: Path) -> Dataset:
    """A kept data set, its arrays mapped into memory read-only."""
    header = json.loads((folder / "header.json").read_text())

    def array(name: str) -> Any:
        return np.load(folder / f"{name}.npy", mmap_mode="r")

    def matrix(name: str, columns: int) -> csr_array:
        indptr, indices, data = (array(f"{name}_{part}") for part in _MATRIX)
        return csr_array((data, indices, indptr), shape=(header["rows"], columns), copy=False)

    taxonomy = None
    if header["taxonomy_depth"] is not None:
        taxonomy = Taxonomy(array("parent"), array("class_node"), tuple(header["node_names"]))
    return Dataset(
        X=matrix("X", header["features"]),
        y=matrix("y", header["classes"]) if header["multilabel"] else array("y"),
        class_names=tuple(header["class_names"]),
        taxonomy=taxonomy,
        splits={name: (array(f"train_{name}"), array(f"test_{name}")) for name in header["splits"]},
        found=header["found"],
    )
