"""Parsed data sets, kept in the data home as memory-mapped arrays that every trial opens in milliseconds.

A data set is parsed once, in a process of its own, and kept under a name made of everything that decides its content:
plugin version, loader version, parameters, and the loader's own stamp of the raw files.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array, issparse

from harness.catalog import Entry
from harness.contract import Dataset, DatasetSpec, Taxonomy
from harness.data.folders import work_folder
from harness.errors import DataError
from harness.home import data_home, missing_data, not_writable, parsed_root, raw_folder
from harness.params import Params
from harness.sdk.texts import Texts
from harness.signature import import_target

LAYOUT = 3
"""Raised when the kept form changes, so that older folders are passed over."""
HEADER = "header.json"
_MATRIX = ("indptr", "indices", "data")


@dataclass(frozen=True)
class Header:
    """What is known of a kept data set without opening its arrays."""

    folder: str
    fingerprint: str
    rows: int
    features: int | None
    """None where the rows are texts: what they are counted by is for each trial to find out."""
    classes: int
    nonzeros: int | None
    text_bytes: int | None
    """None where the rows have no texts."""
    empty_rows: int
    negative: bool
    multilabel: bool
    largest_class: int
    taxonomy_depth: int | None
    splits: dict[str, tuple[int, int]]
    found: str
    counting: str = ""
    """The representation that comes before one that takes counts."""
    groups: tuple[str, ...] = ()
    """Columns by which rows can be kept together."""
    times: tuple[str, ...] = ()
    """Columns by which rows can be parted into earlier and later ones."""
    revision: str = ""
    """Which state of the data this is, in the words of whoever keeps it."""


# -- names -----------------------------------------------------------------------------------------------------------


def folder_of(entry: Entry[DatasetSpec], params: Params) -> Path:
    """Where this data set with these parameters is kept."""
    spec, origin = entry.spec, entry.origin
    content = _stamp_of(spec, params)
    decisive = [LAYOUT, spec.name, spec.version, origin.distribution, origin.version, content, sorted(params.items())]
    text = json.dumps(decisive, default=repr)
    return parsed_root() / f"{spec.name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def call_stamp(target: str, params: Params) -> Any:
    """What a stamp says; it gets the loader's parameters, with their defaults, if it takes any."""
    stamp = import_target(target)
    takes_parameters = bool(inspect.signature(stamp).parameters)
    return stamp(**params) if takes_parameters else stamp()


def _stamp_of(spec: DatasetSpec, params: Params) -> str:
    """What the loader says of its raw content, which may depend on the parameters."""
    if spec.stamp is None:
        return ""
    try:
        return str(call_stamp(spec.stamp, params))
    except DataError as error:
        is_brought = bool(spec.files or spec.obtain)
        if not is_brought or params.get("source") is not None or raw_folder(spec.name).exists():
            raise
        raise missing_data(spec, f"it is not in the data home {data_home()}") from error


def differences(facts: Mapping[str, int], header: Header) -> tuple[str, ...]:
    """What was found where the data set's own description says something else."""
    told = []
    for name, fact in facts.items():
        found = getattr(header, name)
        if found != fact:
            shown = "None" if found is None else f"{found:,}"
            told.append(f"{name} {fact:,} expected, {shown} found")
    return tuple(told)


# -- keeping ---------------------------------------------------------------------------------------------------------


def keep(data: Dataset, folder: Path) -> None:
    """Write all arrays into a folder beside this one, which then takes this one's place in one step."""
    header = asdict(header_of(data, fingerprint_of(data)))
    del header["folder"]
    header |= {"class_names": data.class_names, "node_names": _node_names(data)}
    with work_folder(folder.parent, folder.name) as work:
        form = work / folder.name
        try:
            form.mkdir()
            for name, array in _arrays(data).items():
                np.save(form / f"{name}.npy", array)
            (form / HEADER).write_text(json.dumps(header))
            for file in form.iterdir():
                file.chmod(0o444)  # nobody has a reason to change what is kept
        except OSError as error:
            raise not_writable(error) from error
        move_form(form, folder)


def move_form(made: Path, folder: Path) -> None:
    """Move a parsed form to where it is looked for; one that is there already has the same content."""
    try:
        os.rename(made, folder)
    except OSError as error:
        if not (folder / HEADER).exists():
            raise DataError(f"{folder} is in the way ({error}): remove it") from error


def fingerprint_of(data: Dataset) -> str:
    """SHA-256 of all that a trial can see of the data."""
    arrays = _arrays(data)
    digest = hashlib.sha256()
    for name in sorted(arrays):
        digest.update(f"{name}{arrays[name].dtype}{arrays[name].shape}".encode())
        digest.update(np.ascontiguousarray(arrays[name]).data)
    width = None if data.X is None else data.X.shape[1]
    digest.update(json.dumps([width, data.class_names, _node_names(data), data.counting]).encode())
    columns = [*data.groups, *data.times]
    if columns:  # data sets without any keep the fingerprint that they had before there were columns
        digest.update(json.dumps(columns).encode())
    return digest.hexdigest()


def _node_names(data: Dataset) -> tuple[str, ...]:
    return data.taxonomy.node_names if data.taxonomy else ()


def _arrays(data: Dataset) -> dict[str, Any]:
    """All arrays by the names of their files."""
    arrays = {} if data.X is None else _pieces("X", data.X)
    if data.texts is not None:
        texts = Texts.of(data.texts)
        arrays |= {"texts_content": texts.content, "texts_bounds": texts.bounds}
    if issparse(data.y):
        arrays |= _pieces("y", data.y)
    else:
        arrays["y"] = data.y
    if data.taxonomy is not None:
        arrays |= {"parent": data.taxonomy.parent, "class_node": data.taxonomy.class_node}
    for name, (train, test) in data.splits.items():
        arrays[f"train_{name}"] = np.asarray(train, np.int64)
        arrays[f"test_{name}"] = np.asarray(test, np.int64)
    for kind, columns in (("group", data.groups), ("time", data.times)):
        arrays |= {f"{kind}_{number}": codes for number, codes in enumerate(columns.values())}
    return arrays


def _pieces(name: str, matrix: csr_array) -> dict[str, Any]:
    return {f"{name}_{piece}": getattr(matrix, piece) for piece in _MATRIX}


def header_of(data: Dataset, fingerprint: str, folder: str = "") -> Header:
    """What a header says of this data."""
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
    )


# -- opening ---------------------------------------------------------------------------------------------------------


def read_header(folder: Path) -> Header | None:
    """The header of a kept data set, or None when it is not kept."""
    try:
        content = json.loads((folder / HEADER).read_text())
        content["splits"] = {name: tuple(sizes) for name, sizes in content["splits"].items()}
        content |= {kind: tuple(content.get(kind, ())) for kind in ("groups", "times")}
        del content["class_names"], content["node_names"]
        return Header(folder=str(folder), **content)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise DataError(f"{folder} is damaged ({reason}): remove it, and the data set is parsed again") from error


def is_whole(header: Header) -> bool:
    """Whether what is kept is what was parsed: its content is read and compared with its fingerprint."""
    try:
        return fingerprint_of(open_dataset(Path(header.folder))) == header.fingerprint
    except Exception:  # arrays that are cut short, of other types, or gone
        return False


def open_dataset(folder: Path) -> Dataset:
    """A kept data set, its arrays mapped into memory read-only."""
    header = json.loads((folder / HEADER).read_text())

    def array(name: str) -> Any:
        return np.load(folder / f"{name}.npy", mmap_mode="r")

    def matrix(name: str, columns: int) -> csr_array:
        indptr, indices, data = (array(f"{name}_{piece}") for piece in _MATRIX)
        return csr_array((data, indices, indptr), shape=(header["rows"], columns), copy=False)

    taxonomy = None
    if header["taxonomy_depth"] is not None:
        taxonomy = Taxonomy(array("parent"), array("class_node"), tuple(header["node_names"]))
    X = None if header["features"] is None else matrix("X", header["features"])
    texts = None
    if header["text_bytes"] is not None:
        texts = Texts(array("texts_content"), array("texts_bounds"))
    return Dataset(
        X=X,
        y=matrix("y", header["classes"]) if header["multilabel"] else array("y"),
        class_names=tuple(header["class_names"]),
        taxonomy=taxonomy,
        splits={name: (array(f"train_{name}"), array(f"test_{name}")) for name in header["splits"]},
        found=header["found"],
        texts=texts,
        counting=header["counting"],
        groups={name: array(f"group_{number}") for number, name in enumerate(header.get("groups", ()))},
        times={name: array(f"time_{number}") for number, name in enumerate(header.get("times", ()))},
        revision=header.get("revision", ""),
    )
