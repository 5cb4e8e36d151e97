"""Inventory of the data home: the state and size of each dataset, verification of its files, and their removal.

`profile_of` describes the content of a dataset for `harness data info`: class sizes, repeated texts, lengths of rows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np
from scipy.sparse import issparse

from harness.data.arrays import (
    HEADER,
    Header,
    can_be_fetched,
    differences,
    fingerprint_of,
    header_of,
    open_dataset,
    parsed_folder,
    read_header,
    rows_folder,
)
from harness.errors import DataError
from harness.files import home
from harness.files.atomic import hash_file, size_of
from harness.files.home import is_home_in_use, remove
from harness.host.catalog import Entry
from harness.host.contract import Dataset, DatasetSpec, Labels, Taxonomy
from harness.host.introspection import parameters_of
from harness.sdk.texts import Texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]


State = Literal["built in", "parsed", "raw there", "to fetch", "to import", "your file", "your choice"]
"""State of a dataset in the data home.

- "built in": it needs no files. "raw there": its files are present, but not parsed. "parsed": it is ready.
- "to fetch": `harness data fetch` downloads its files. "to import": the user has to provide them.
- "your file": it reads a file of the user. "your choice": it takes an address or another dataset.
"""


@dataclass(frozen=True)
class Finding:
    """The result of verifying a path."""

    path: Path
    trouble: str = ""
    """The problem; empty if there is none."""


def state_of(spec: DatasetSpec) -> State:
    """Return the state of a dataset, which includes what is missing before it can be used."""
    if spec.wraps or any(opened.endswith(":") for opened in spec.opens):  # an address works like a name
        return "your choice"
    if spec.opens:
        return "your file"
    needs_files = bool(spec.files or spec.obtain)
    if needs_files and not home.raw_folder(spec.name).exists():  # parsed forms cannot be used without the raw files
        return "to fetch" if can_be_fetched(spec) else "to import"
    if kept_forms(spec.name):
        return "parsed"
    return "raw there" if home.raw_folder(spec.name).exists() else "built in"


def kept_forms(dataset: str) -> list[Path]:
    """Return the folders with the parsed forms of a dataset, one for each set of parameters and version."""
    return [path for path in _owned_in(home.parsed_root(), [dataset]) if (rows_folder(path) / HEADER).is_file()]


def default_form(entry: Entry[DatasetSpec]) -> Header | None:
    """Return the header of a dataset with its default parameters; None if it is not parsed or lacks raw files."""
    try:
        return read_header(parsed_folder(entry, parameters_of(entry.spec)))
    except DataError:
        return None


def bytes_of(dataset: str) -> int:
    """Return the size in bytes of all files of a dataset in the data home."""
    return sum(map(size_of, belongings([dataset])))


# -- verifying -------------------------------------------------------------------------------------------------------


def verify(entry: Entry[DatasetSpec]) -> Iterator[Finding]:
    """Verify the checksum of each raw file, the fingerprint of each parsed form, and the facts of a dataset.

    Differences from the facts that the user accepted at the import are not reported.

    Parameters
    ----------
    entry : Entry of DatasetSpec
        The dataset; its plugin code runs only if a parsed form exists.

    Yields
    ------
    Finding
        The result for each path.
    """
    yield from verify_raw(entry.spec.name)
    forms = kept_forms(entry.spec.name)
    yield from map(verify_form, forms)
    header = default_form(entry) if forms else None  # without forms, do not run the plugin's code
    if header is not None:
        manifest = home.read_raw_manifest(home.raw_folder(entry.spec.name))
        wrong = differences(entry.spec.facts, header)
        if manifest is not None:
            wrong = tuple(text for text in wrong if text not in manifest.differences)
        trouble = f"is not as described: {'; '.join(wrong)}" if wrong else ""
        yield Finding(Path(header.folder), trouble)


def verify_raw(dataset: str) -> Iterator[Finding]:
    """Compare the raw files of a dataset with its manifest.

    Parameters
    ----------
    dataset : str
        The name of the dataset.

    Yields
    ------
    Finding
        The result for each file; nothing if there are no raw files.
    """
    folder = home.raw_folder(dataset)
    if not folder.exists():
        return
    try:
        manifest = home.read_raw_manifest(folder)
    except DataError as error:
        yield Finding(folder / home.MANIFEST, str(error))
        return
    if manifest is None:
        yield Finding(folder, f"has no {home.MANIFEST}. `harness data import {dataset} {folder}` writes one.")
        return
    if folder.name not in (dataset, manifest.folder_name()):
        yield Finding(folder / home.MANIFEST, "has changed: its content does not match the name of its folder")
    for file in manifest.files:
        yield Finding(folder / file.file, _trouble_with(folder / file.file, file.bytes, file.sha256))
    yield from _unknown_files(folder, manifest)


def _trouble_with(path: Path, n_bytes: int, sha256: str) -> str:
    if not path.is_file():
        return "is missing"
    if path.stat().st_size != n_bytes:
        return f"has {path.stat().st_size:,} bytes, expected {n_bytes:,} by the manifest"
    found = hash_file(path)
    if found != sha256:
        return f"has changed: SHA-256 {found}, expected {sha256} by the manifest"
    return ""


def _unknown_files(folder: Path, manifest: home.RawManifest) -> Iterator[Finding]:
    known = {home.MANIFEST, *(file.file for file in manifest.files)}
    for path in sorted(folder.rglob("*")):
        if not path.is_dir() and path.relative_to(folder).as_posix() not in known:
            yield Finding(path, "is not in the manifest")


def verify_form(folder: Path) -> Finding:
    """Compare the arrays of a parsed form with the fingerprint and the counts in its header.

    Parameters
    ----------
    folder : Path
        The folder of the parsed form.
    """
    try:
        header = read_header(folder)
        data = open_dataset(folder)
        found = fingerprint_of(data)
        if header is None or found != header.fingerprint:
            return Finding(
                folder, f"has changed: fingerprint {found}, expected {header and header.fingerprint} by its header"
            )
        if header_of(data, found, str(folder)) != header:
            return Finding(folder, "has changed: the counts in its header are not those of its arrays")
    except Exception as error:  # damaged arrays can raise any error
        return Finding(folder, f"is damaged ({type(error).__name__}: {error})")
    return Finding(folder)


# -- clearing --------------------------------------------------------------------------------------------------------


def available_names(known: Iterable[str]) -> list[str]:
    """Return the names of datasets with files in the data home, including datasets whose plugin is not installed.

    Parameters
    ----------
    known : iterable of str
        Names of the registered datasets.
    """
    names = set(known)
    for mark in [*home.raw_root().glob(f"[!.]*/{home.MANIFEST}"), *home.parsed_root().glob(f"[!.]*/{HEADER}")]:
        names.add(home.owner_of(mark.parent) or "")
    return [name for name in sorted(names) if belongings([name])]


def belongings(datasets: Iterable[str], *, raw: bool = True, parsed: bool = True) -> list[Path]:
    """Return the paths of these datasets in the data home, except for those that another process may be writing.

    Parameters
    ----------
    datasets : iterable of str
        Names of datasets.
    raw : bool, default=True
        True to include raw files and downloads.
    parsed : bool, default=True
        True to include parsed and represented forms.
    """
    names = list(datasets)
    found = []
    if parsed:
        found += _owned_in(home.parsed_root(), names)
        found += _owned_in(home.represented_root(), names)
    if raw:
        found += _owned_in(home.raw_root(), names)
        found += _owned_in(home.downloads_root(), names)
    if is_home_in_use():
        found = [path for path in found if not path.name.startswith(".")]
    return found


def sweep(dataset: str) -> None:
    """Remove leftovers of killed imports and parses of a dataset, and raw files that have been replaced.

    Nothing is removed while another process uses the data home. The order of the steps matters. First list all
    paths: those of a process that starts later are not among them. Then look for other processes. List the paths in
    use last.
    """
    found = belongings([dataset])
    if is_home_in_use():
        return
    in_use = {home.raw_folder(dataset), home.current_file(dataset), home.download_folder(dataset), *kept_forms(dataset)}
    for path in found:
        if path not in in_use:
            with contextlib.suppress(OSError):  # the next import tries again
                remove(path)


def _owned_in(place: Path, datasets: Collection[str]) -> list[Path]:
    """Return the paths of these datasets in a folder, hidden ones first."""
    return [path for path in sorted(place.glob("*")) if home.owner_of(path) in datasets]


FEW = 5
"""A class with at least 2 rows but fewer than this is near-empty."""
SHARES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)
"""Quantiles of the lengths in a profile."""
BLANKS = tuple(b" \t\n\r\x0b\x0c")


@dataclass(frozen=True)
class ClassSize:
    """A class and its number of rows."""

    name: str
    rows: int


@dataclass(frozen=True)
class Repeats:
    """Texts that occur in more than one row."""

    rows: int
    """Rows with the same text as an earlier row."""
    conflicting: int
    """Rows with the same text as another row, but other labels."""
    highest_r1: float
    """Highest possible R1 on these rows: equal texts get equal predictions, so conflicting rows cannot all be right."""


@dataclass(frozen=True)
class DataProfile:
    """Facts about the rows and classes of a dataset."""

    rows: int
    classes: int
    singletons: int
    """Number of classes with one row, which can be used for training or for testing, but not for both."""
    near_empty: int
    """Number of classes with at least 2 rows but fewer than `FEW`."""
    smallest: ClassSize
    largest: ClassSize
    unlabelled: int
    """Number of rows without a label, in multi-label data."""
    empty: int
    """Number of rows with an empty or blank text; for rows of numbers, rows without a value."""
    length_unit: Literal["characters", "features"]
    lengths: tuple[tuple[float, float], ...]
    """Pairs (share, length): this share of the rows has at most this length."""
    repeats: Repeats | None
    """Facts about repeated texts; None if the rows are numbers."""
    taxonomy_nodes: int | None
    taxonomy_depth: int | None
    several_parents: int | None
    """Number of nodes of the taxonomy that have several parents."""


def profile_of(data: Dataset) -> DataProfile:
    """Return the profile of a dataset."""
    sizes = class_sizes(data)
    texts = None if data.texts is None else Texts.of(data.texts)
    lengths = _features_a_row(data) if texts is None else _characters(texts)
    empty = (lengths == 0) if texts is None else _blank(texts)
    small, large = int(sizes.argmin()), int(sizes.argmax())
    tree = data.taxonomy
    return DataProfile(
        rows=data.rows,
        classes=len(sizes),
        singletons=int((sizes == 1).sum()),
        near_empty=int(((sizes > 1) & (sizes < FEW)).sum()),
        smallest=ClassSize(data.class_names[small], int(sizes[small])),
        largest=ClassSize(data.class_names[large], int(sizes[large])),
        unlabelled=int((np.diff(data.y.indptr) == 0).sum()) if issparse(data.y) else 0,
        empty=int(empty.sum()),
        length_unit="features" if texts is None else "characters",
        lengths=tuple(zip(SHARES, np.quantile(lengths, SHARES).tolist(), strict=True)),
        repeats=None if texts is None else _repeats(texts.codes(), data.y),
        taxonomy_nodes=None if tree is None else len(tree.parent),
        taxonomy_depth=None if tree is None else tree.depth,
        several_parents=None if tree is None else _with_several_parents(tree),
    )


def _with_several_parents(taxonomy: Taxonomy) -> int:
    pairs = taxonomy.more_parents
    return 0 if pairs is None else len(np.unique(pairs[:, 0]))


def class_sizes(data: Dataset) -> Numbers:
    """Return the number of rows of each class."""
    labels = data.y.indices if issparse(data.y) else data.y
    return np.bincount(labels, minlength=len(data.class_names))


def _characters(texts: Texts) -> Numbers:
    """Return the number of characters of each text: its bytes without the continuation bytes of UTF-8."""
    begins = (np.asarray(texts.content) & 0xC0) != 0x80
    return _counts_between(begins, texts.bounds)


def _blank(texts: Texts) -> NDArray[np.bool_]:
    """Return a mask of the texts that are empty or blank."""
    is_ink = ~np.isin(texts.content, BLANKS)
    return np.asarray(_counts_between(is_ink, texts.bounds) == 0)


def _counts_between(marked: NDArray[np.bool_], bounds: Numbers) -> Numbers:
    """Return the number of marked positions between each two consecutive bounds."""
    so_far = np.concatenate([[0], np.cumsum(marked)])
    return np.diff(so_far[bounds])


def _features_a_row(data: Dataset) -> Numbers:
    assert data.X is not None  # a dataset has texts or numbers
    return np.asarray(np.diff(data.X.indptr))


def _repeats(text: Numbers, y: Labels) -> Repeats:
    """Return facts about repeated texts. `text` has a number for each row, equal for equal texts."""
    n_texts = int(text.max()) + 1
    ways = _distinct_pairs(text, _label_sets(y))
    has_conflict = np.bincount(ways[:, 0], minlength=n_texts) > 1
    return Repeats(
        rows=len(text) - n_texts,
        conflicting=int(has_conflict[text].sum()),
        highest_r1=_most_right(text, y, n_texts) / len(text),
    )


def _label_sets(y: Labels) -> Numbers:
    """Return a number for each row, equal for equal sets of labels."""
    if not issparse(y):
        return np.asarray(y)
    numbers: dict[bytes, int] = {}
    codes = []
    for begin, end in zip(y.indptr[:-1], y.indptr[1:], strict=True):
        codes.append(numbers.setdefault(np.sort(y.indices[begin:end]).tobytes(), len(numbers)))
    return np.array(codes, dtype=np.int64)


def _most_right(text: Numbers, y: Labels, n_texts: int) -> int:
    """Return the number of correct rows if each text gets the most frequent class of its rows."""
    row, label = y.nonzero() if issparse(y) else (np.arange(len(text)), y)
    pairs, counts = np.unique(np.stack([text[row], label], axis=1), axis=0, return_counts=True)
    best = np.zeros(n_texts, dtype=np.int64)
    np.maximum.at(best, pairs[:, 0], counts)
    return int(best.sum())


def _distinct_pairs(first: Numbers, second: Numbers) -> Numbers:
    return np.unique(np.stack([first, second], axis=1), axis=0)
