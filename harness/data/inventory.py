"""What lies in the data home: the state of each data set, whether it is still what it was, and what may be cleared."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness import home
from harness.catalog import Entry
from harness.contract import DatasetSpec
from harness.data.arrays import (
    HEADER,
    Header,
    differences,
    fingerprint_of,
    folder_of,
    header_of,
    open_dataset,
    read_header,
)
from harness.data.downloading import hash_file
from harness.data.folders import is_anybody_at_work, remove, size_of
from harness.errors import DataError
from harness.signature import parameters_of

State = Literal["built in", "parsed", "raw there", "to fetch", "to import", "your file", "your choice"]


@dataclass(frozen=True)
class Finding:
    """What was looked at, and what is wrong with it; nothing when `trouble` is empty."""

    path: Path
    trouble: str = ""


def state_of(spec: DatasetSpec) -> State:
    """How far a data set is from being run on."""
    if spec.wraps or any(opened.endswith(":") for opened in spec.opens):  # an address is as good as a name
        return "your choice"
    if spec.opens:
        return "your file"
    is_brought = bool(spec.files or spec.obtain)
    if is_brought and not home.raw_folder(spec.name).exists():  # then a parsed form is of no use
        return "to fetch" if home.can_be_fetched(spec) else "to import"
    if kept_forms(spec.name):
        return "parsed"
    return "raw there" if home.raw_folder(spec.name).exists() else "built in"


def kept_forms(dataset: str) -> list[Path]:
    """The folders with parsed forms of a data set."""
    return [path for path in _owned_in(home.parsed_root(), [dataset]) if (path / HEADER).is_file()]


def default_form(entry: Entry[DatasetSpec]) -> Header | None:
    """What was found with the default parameters; None where it is not parsed, or lacks its raw files."""
    try:
        return read_header(folder_of(entry, parameters_of(entry.spec)))
    except DataError:
        return None


def bytes_of(dataset: str) -> int:
    """What a data set takes in the data home."""
    return sum(map(size_of, belongings([dataset])))


# -- verifying -------------------------------------------------------------------------------------------------------


def verify(entry: Entry[DatasetSpec]) -> Iterator[Finding]:
    """Raw files against the manifest, parsed forms against their fingerprints, the facts against what was found."""
    yield from verify_raw(entry.spec.name)
    forms = kept_forms(entry.spec.name)
    yield from map(verify_form, forms)
    header = default_form(entry) if forms else None  # which one it is, is asked of the plugin only where there are any
    if header is not None:
        manifest = home.read_manifest(home.raw_folder(entry.spec.name))
        wrong = differences(entry.spec.facts, header)
        if manifest is not None:
            wrong = tuple(text for text in wrong if text not in manifest.differences)
        trouble = f"is not as described: {'; '.join(wrong)}" if wrong else ""
        yield Finding(Path(header.folder), trouble)


def verify_raw(dataset: str) -> Iterator[Finding]:
    """The raw files of a data set, each hashed."""
    folder = home.raw_folder(dataset)
    if not folder.exists():
        return
    try:
        manifest = home.read_manifest(folder)
    except DataError as error:
        yield Finding(folder / home.MANIFEST, str(error))
        return
    if manifest is None:
        yield Finding(folder, f"has no {home.MANIFEST}: `harness data import {dataset} {folder}` makes one")
        return
    if folder.name not in (dataset, manifest.folder_name()):
        yield Finding(folder / home.MANIFEST, "has changed: it is not the one that its folder is named by")
    for file in manifest.files:
        yield Finding(folder / file.file, _trouble_with(folder / file.file, file.bytes, file.sha256))
    yield from _unknown_files(folder, manifest)


def _trouble_with(path: Path, n_bytes: int, sha256: str) -> str:
    if not path.is_file():
        return "is missing"
    if path.stat().st_size != n_bytes:
        return f"has {path.stat().st_size:,} bytes, the manifest says {n_bytes:,}"
    found = hash_file(path)
    if found != sha256:
        return f"has changed: SHA-256 {found}, the manifest says {sha256}"
    return ""


def _unknown_files(folder: Path, manifest: home.Manifest) -> Iterator[Finding]:
    known = {home.MANIFEST, *(file.file for file in manifest.files)}
    for path in sorted(folder.rglob("*")):
        if not path.is_dir() and path.relative_to(folder).as_posix() not in known:
            yield Finding(path, "is not in the manifest: nobody vouches for it")


def verify_form(folder: Path) -> Finding:
    """The arrays of a parsed form against the fingerprint and the counts in its header."""
    try:
        header = read_header(folder)
        data = open_dataset(folder)
        found = fingerprint_of(data)
        if header is None or found != header.fingerprint:
            return Finding(folder, f"has changed: fingerprint {found}, its header says {header and header.fingerprint}")
        if header_of(data, found, str(folder)) != header:
            return Finding(folder, "has changed: the counts in its header are not those of its arrays")
    except Exception as error:  # whatever a damaged array brings about
        return Finding(folder, f"is damaged ({type(error).__name__}: {error})")
    return Finding(folder)


# -- clearing --------------------------------------------------------------------------------------------------------


def names_at_hand(known: Iterable[str]) -> list[str]:
    """The data sets that have anything in the data home: known ones, and others that left their mark there."""
    names = set(known)
    for mark in [*home.raw_root().glob(f"[!.]*/{home.MANIFEST}"), *home.parsed_root().glob(f"[!.]*/{HEADER}")]:
        names.add(home.owner_of(mark.parent) or "")
    return [name for name in sorted(names) if belongings([name])]


def belongings(datasets: Iterable[str], *, raw: bool = True, parsed: bool = True) -> list[Path]:
    """What belongs to these data sets in the data home, but for what another process may be making of them."""
    names = list(datasets)
    found = []
    if parsed:
        found += _owned_in(home.parsed_root(), names)
        found += _owned_in(home.represented_root(), names)
    if raw:
        found += _owned_in(home.raw_root(), names)
        found += _owned_in(home.downloads_root(), names)
    if is_anybody_at_work():
        found = [path for path in found if not path.name.startswith(".")]
    return found


def sweep(dataset: str) -> None:
    """Remove what killed imports and parses of a data set left, and raw files that others took the place of.

    Not while another process is at work, which may be about to use them: what is listed before that is known was left,
    and what is current after it stays so.
    """
    found = belongings([dataset])
    if is_anybody_at_work():
        return
    in_use = {home.raw_folder(dataset), home.current_file(dataset), home.download_folder(dataset), *kept_forms(dataset)}
    for path in found:
        if path not in in_use:
            with contextlib.suppress(OSError):  # then it waits for the next import
                remove(path)


def _owned_in(place: Path, datasets: Collection[str]) -> list[Path]:
    """What belongs to these data sets in a folder, hidden things first."""
    return [path for path in sorted(place.glob("*")) if home.owner_of(path) in datasets]
