"""The store of parsed datasets in the data home, as arrays that trials map into memory in milliseconds.

A dataset is parsed once. The name of its folder has a digest of everything that determines the content: the versions of
plugin and loader, the parameters, and the stamp of the raw files.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from harness.errors import DataError, MissingData
from harness.files.atomic import publish_folder
from harness.files.home import data_home, not_writable, parsed_root, raw_folder, work_folder
from harness.host.catalog import Entry
from harness.host.contract import Dataset, DatasetSpec, TableLayout, Taxonomy
from harness.host.introspection import import_target
from harness.host.taxonomy import OPTIONAL
from harness.sdk.texts import Texts
from harness.syntax.expression import Params

LAYOUT = 5
"""Version of the file layout. It is part of the digest, so folders of other versions are ignored."""
HEADER = "header.json"
ROWS, LABELS = "rows", "labels"
"""Folders of a stored dataset. The process of a trial gets the path of the rows; labels are read outside of it."""
_MATRIX = ("indptr", "indices", "data")
_ROW_FACTS = ("rows", "features", "classes", "text_bytes", "taxonomy_depth", "node_names")
"""Fields of the header that are stored again beside the rows, to open the rows without the labels."""


@dataclass(frozen=True)
class Header:
    """Facts about a stored dataset, which can be read without opening its arrays."""

    folder: str
    fingerprint: str
    rows: int
    features: int | None
    """Number of features; None if the rows are texts, since each trial fits its own vocabulary."""
    classes: int
    nonzeros: int | None
    text_bytes: int | None
    """Size of all texts; None if the rows have no texts."""
    empty_rows: int
    negative: bool
    """True if a value is below 0."""
    multilabel: bool
    largest_class: int
    """Number of rows of the largest class."""
    taxonomy_depth: int | None
    splits: dict[str, tuple[int, int]]
    """Number of training and test rows of each fixed split."""
    found: str
    """One line on what the loader read."""
    counting: str = ""
    """Representation that turns the texts into counts, if the chosen representation takes counts."""
    groups: tuple[str, ...] = ()
    """Columns for splits by group."""
    times: tuple[str, ...] = ()
    """Columns for splits by time."""
    revision: str = ""
    """The version of the data at its source, such as a commit."""
    table: TableLayout | None = None
    """Columns and format of the table file that was read."""


# -- names -----------------------------------------------------------------------------------------------------------


def parsed_folder(entry: Entry[DatasetSpec], params: Params) -> Path:
    """Return the folder where a dataset with these parameters is stored once it is parsed.

    Parameters
    ----------
    entry : Entry of DatasetSpec
        The dataset.
    params : Params
        All parameters of its loader, with defaults.

    Raises
    ------
    MissingData
        If the raw files are needed for the name of the folder, but are not in the data home.
    """
    spec, origin = entry.spec, entry.origin
    content = _stamp_of(spec, params)
    decisive = [LAYOUT, spec.name, spec.version, origin.distribution, origin.version, content, sorted(params.items())]
    text = json.dumps(decisive, default=repr)
    return parsed_root() / f"{spec.name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def call_stamp(target: str, params: Params) -> Any:
    """Call a stamp function, with the parameters of the loader if it takes any, and return its result."""
    stamp = import_target(target)
    takes_parameters = bool(inspect.signature(stamp).parameters)
    return stamp(**params) if takes_parameters else stamp()


def _stamp_of(spec: DatasetSpec, params: Params) -> str:
    """Return the stamp of the raw content; empty if the dataset has none."""
    if spec.stamp is None:
        return ""
    try:
        return str(call_stamp(spec.stamp, params))
    except DataError as error:
        needs_files = bool(spec.files or spec.obtain)
        if not needs_files or params.get("source") is not None or raw_folder(spec.name).exists():
            raise
        raise missing_data(spec, f"it is not in the data home {data_home()}") from error


def differences(facts: Mapping[str, int], header: Header) -> tuple[str, ...]:
    """Return a sentence for each expected fact that the header of a dataset does not meet."""
    differing = []
    for name, fact in facts.items():
        found = getattr(header, name)
        if found != fact:
            shown = "None" if found is None else f"{found:,}"
            differing.append(f"{name} {fact:,} expected, {shown} found")
    return tuple(differing)


# -- keeping ---------------------------------------------------------------------------------------------------------


def keep(data: Dataset, folder: Path) -> None:
    """Store a dataset in a folder.

    It is written to a temporary folder, which is then renamed: other processes never see a partial dataset.

    Parameters
    ----------
    data : Dataset
        A dataset that `harness.data.load.checked` returned.
    folder : Path
        The folder for the arrays; it must not exist.

    Raises
    ------
    DataError
        If the data home cannot be written.
    """
    header = asdict(header_of(data, fingerprint_of(data)))
    del header["folder"]
    header |= {"class_names": data.class_names, "node_names": _node_names(data)}
    with work_folder(folder.parent, folder.name) as work:
        form = work / folder.name
        try:
            for name in (ROWS, LABELS):
                (form / name).mkdir(parents=True)
            for name, array in _row_arrays(data).items():
                np.save(form / ROWS / f"{name}.npy", array)
            for name, array in _label_arrays(data).items():
                np.save(form / LABELS / f"{name}.npy", array)
            (form / ROWS / HEADER).write_text(json.dumps({name: header[name] for name in _ROW_FACTS}))
            (form / HEADER).write_text(json.dumps(header))
        except OSError as error:
            raise not_writable(error) from error
        move_form(form, folder)


def move_form(made: Path, folder: Path) -> None:
    """Rename the folder of a stored dataset to its final name.

    If another process has stored the dataset meanwhile, its folder stays: it has the same content.

    Raises
    ------
    DataError
        If the folder cannot be moved, or if something else has that name.
    """
    try:
        is_moved = publish_folder(made, folder, read_only=True)
    except OSError as error:
        raise not_writable(error) from error
    if not is_moved and not (folder / HEADER).exists():
        raise DataError(f"{folder} is in the way. Remove it.")


def fingerprint_of(data: Dataset) -> str:
    """Return the SHA-256 of everything in a dataset that can influence a result: arrays, class names and node names."""
    arrays = _row_arrays(data) | _label_arrays(data)
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name}{arrays[name].dtype}{arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).data)
    width = None if data.X is None else data.X.shape[1]
    digest.update(json.dumps([width, data.class_names, _node_names(data), data.counting]).encode())
    columns = [*data.groups, *data.times]
    if columns:  # so that datasets without columns keep the fingerprint of releases that had no columns
        digest.update(json.dumps(columns).encode())
    return digest.hexdigest()


def _node_names(data: Dataset) -> tuple[str, ...]:
    return data.taxonomy.node_names if data.taxonomy else ()


def _label_arrays(data: Dataset) -> dict[str, Any]:
    return _pieces("y", data.y) if issparse(data.y) else {"y": data.y}


def _row_arrays(data: Dataset) -> dict[str, Any]:
    """Return all arrays except for the labels, by file name."""
    arrays = {} if data.X is None else _pieces("X", data.X)
    if data.texts is not None:
        texts = Texts.of(data.texts)
        arrays |= {"texts_content": texts.content, "texts_bounds": texts.bounds}
    if data.taxonomy is not None:
        arrays |= {"parent": data.taxonomy.parent, "class_node": data.taxonomy.class_node}
        for name in OPTIONAL:
            values = getattr(data.taxonomy, name)
            if values is not None:  # a tree keeps the fingerprint of releases that knew only trees
                arrays[f"node_{name}"] = values
    for name, (train, test) in data.splits.items():
        arrays[f"train_{name}"] = np.asarray(train, np.int64)
        arrays[f"test_{name}"] = np.asarray(test, np.int64)
    for kind, columns in (("group", data.groups), ("time", data.times)):
        arrays |= {f"{kind}_{number}": codes for number, codes in enumerate(columns.values())}
    return arrays


def _pieces(name: str, matrix: csr_array) -> dict[str, Any]:
    return {f"{name}_{piece}": getattr(matrix, piece) for piece in _MATRIX}


def header_of(data: Dataset, fingerprint: str, folder: str = "") -> Header:
    """Return the header of a dataset, with counts taken from its arrays.

    Parameters
    ----------
    data : Dataset
        The dataset.
    fingerprint : str
        Its digest from `fingerprint_of`.
    folder : str, default=""
        The folder where it is stored; empty if it is not stored.
    """
    labels = data.y.indices if issparse(data.y) else data.y
    X, texts = data.X, None if data.texts is None else Texts.of(data.texts)
    ends = texts.bounds if texts is not None else X.indptr  # type: ignore[union-attr]  # one of the two is there
    return Header(
        folder=folder,
        fingerprint=fingerprint,
        rows=data.rows,
        features=None if X is None else X.shape[1],
        classes=len(data.class_names),
        nonzeros=None if X is None else int(X.nnz),
        text_bytes=None if texts is None else len(texts.content),
        empty_rows=int((np.diff(ends) == 0).sum()),
        negative=X is not None and bool((X.data < 0).any()),
        multilabel=bool(issparse(data.y)),
        largest_class=int(np.bincount(labels, minlength=1).max()),
        taxonomy_depth=data.taxonomy.depth if data.taxonomy else None,
        splits={name: (len(train), len(test)) for name, (train, test) in data.splits.items()},
        found=data.found,
        counting=data.counting,
        groups=tuple(data.groups),
        times=tuple(data.times),
        revision=data.revision,
        table=data.table,
    )


# -- opening ---------------------------------------------------------------------------------------------------------


def read_header(folder: Path) -> Header | None:
    """Return the header of a stored dataset; None if the folder does not exist or has an older layout.

    Raises
    ------
    DataError
        If the header is damaged.
    """
    if (folder / HEADER).is_file() and not (folder / ROWS).is_dir():
        return None
    try:
        content = json.loads((folder / HEADER).read_text())
        content["splits"] = {name: tuple(sizes) for name, sizes in content["splits"].items()}
        content |= {kind: tuple(content.get(kind, ())) for kind in ("groups", "times")}
        content["table"] = _table_layout(content)
        del content["class_names"], content["node_names"]
        return Header(folder=str(folder), **content)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise DataError(f"{folder} is damaged ({reason}). Remove it, and the dataset is parsed again.") from error


def _table_layout(content: Mapping[str, Any]) -> TableLayout | None:
    plain = content.get("table")
    return None if plain is None else TableLayout.from_plain(plain)


def is_complete(header: Header) -> bool:
    """Return whether the stored arrays still have the fingerprint of the header."""
    try:
        return fingerprint_of(open_dataset(Path(header.folder))) == header.fingerprint
    except Exception:  # truncated, changed or missing arrays can raise any error
        return False


@dataclass(frozen=True)
class StoredRows:
    """The rows of a stored dataset without its labels."""

    X: csr_array | None
    texts: Texts | None
    n_classes: int
    taxonomy: Taxonomy | None


def rows_folder(folder: str | Path) -> Path:
    """Return the folder with the rows of a stored dataset."""
    return Path(folder) / ROWS


def open_rows(folder: Path) -> StoredRows:
    """Return the rows of a stored dataset, mapped into memory read-only, from the path that `rows_folder` returns."""
    header = json.loads((folder / HEADER).read_text())
    taxonomy = None
    if header["taxonomy_depth"] is not None:
        stored = {name: _array(folder, f"node_{name}") for name in OPTIONAL if (folder / f"node_{name}.npy").exists()}
        names = tuple(header["node_names"])
        taxonomy = Taxonomy(_array(folder, "parent"), _array(folder, "class_node"), names, **stored)
    X = None if header["features"] is None else _matrix(folder, "X", header["rows"], header["features"])
    texts = None
    if header["text_bytes"] is not None:
        texts = Texts(_array(folder, "texts_content"), _array(folder, "texts_bounds"))
    return StoredRows(X, texts, header["classes"], taxonomy)


def open_dataset(folder: Path) -> Dataset:
    """Return a stored dataset, with its arrays mapped into memory read-only."""
    header = json.loads((folder / HEADER).read_text())
    place, rows = folder / ROWS, open_rows(folder / ROWS)
    labels = folder / LABELS
    y = _matrix(labels, "y", header["rows"], header["classes"]) if header["multilabel"] else _array(labels, "y")
    return Dataset(
        X=rows.X,
        y=y,
        class_names=tuple(header["class_names"]),
        taxonomy=rows.taxonomy,
        splits={name: (_array(place, f"train_{name}"), _array(place, f"test_{name}")) for name in header["splits"]},
        found=header["found"],
        texts=rows.texts,
        counting=header["counting"],
        groups={name: _array(place, f"group_{number}") for number, name in enumerate(header.get("groups", ()))},
        times={name: _array(place, f"time_{number}") for number, name in enumerate(header.get("times", ()))},
        revision=header.get("revision", ""),
        table=_table_layout(header),
    )


def _array(folder: Path, name: str) -> Any:
    return np.load(folder / f"{name}.npy", mmap_mode="r")


def _matrix(folder: Path, name: str, rows: int, columns: int) -> csr_array:
    indptr, indices, data = (_array(folder, f"{name}_{piece}") for piece in _MATRIX)
    return csr_array((data, indices, indptr), shape=(rows, columns), copy=False)


def missing_data(spec: DatasetSpec, trouble: str) -> MissingData:
    """Return the error for a dataset whose files are missing, with their addresses and the command to get them."""
    addresses = []
    for file in spec.files:
        for url in file.urls:
            addresses.append(f"  {file.name} from {url}")
        if not file.urls:
            addresses.append(f"  {file.name}")
    command = f"harness data import {spec.name} FILE..."
    next_step = f"`{command}` reads files that you have."
    if can_be_fetched(spec):
        command = f"harness data fetch {spec.name}"
        next_step = f"`{command}` downloads them; {next_step}"
    return MissingData(
        f"{trouble}. It is made from {spec.obtain or 'these files:'}",
        culprit=f"dataset {spec.name!r}",
        next_step=next_step,
        command=command,
        addresses="\n".join(addresses),
    )


def can_be_fetched(spec: DatasetSpec) -> bool:
    """Return whether a dataset has files, and each file has a download address."""
    return bool(spec.files) and all(file.urls for file in spec.files)
