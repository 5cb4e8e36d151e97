"""What lies in the data home: the state of each data set, whether it is still what it was, and what may be cleared."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.catalog import Entry
from harness.contract import DatasetSpec
from harness.data.arrays import Header, differences, fingerprint_of, folder_of, header_of, open_dataset, read_header
from harness.data.fetch import hash_file
from harness.errors import DataError
from harness.home import (
    MANIFEST,
    before_of,
    data_home,
    download_folder,
    import_folders,
    lock_of,
    parsed_root,
    raw_folder,
    read_manifest,
)
from harness.signature import parameters_of

State = Literal["built in", "parsed", "raw there", "to fetch", "to import", "your file", "your choice"]
_FORM = re.compile(r"(.+)-[0-9a-f]{16}")


@dataclass(frozen=True)
class Finding:
    """What was looked at, and what is wrong with it; nothing when `trouble` is empty."""

    path: Path
    trouble: str = ""


def state_of(spec: DatasetSpec) -> State:
    """How far a data set is from being run on."""
    parsed = any(kept_forms(spec.name))
    if spec.opens or spec.wraps:
        return "your file" if spec.opens else "your choice"
    if raw_folder(spec.name).exists():
        return "parsed" if parsed else "raw there"
    if not (spec.files or spec.obtain):
        return "parsed" if parsed else "built in"
    return "to fetch" if spec.files and all(file.urls for file in spec.files) else "to import"


def kept_forms(dataset: str) -> Iterator[Path]:
    """The folders with parsed forms of a data set."""
    for folder in sorted(parsed_root().glob(f"{dataset}-*")):
        name = _FORM.fullmatch(folder.name)
        if name and name[1] == dataset and (folder / "header.json").is_file():
            yield folder


def default_form(entry: Entry[DatasetSpec]) -> Header | None:
    """What was found with the default parameters; None where it is not parsed, or lacks its raw files."""
    try:
        return read_header(folder_of(entry, parameters_of(entry.spec)))
    except DataError:
        return None


def bytes_of(dataset: str) -> int:
    """What a data set takes in the data home."""
    return sum(size_of(path) for path in belongings([dataset]))


def size_of(path: Path) -> int:
    """The bytes of a file or of all files in a folder; links count for nothing."""
    if path.is_symlink():
        return 0
    if path.is_file():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file() and not file.is_symlink())


# -- verifying -------------------------------------------------------------------------------------------------------


def verify(entry: Entry[DatasetSpec]) -> Iterator[Finding]:
    """Raw files against the manifest, parsed forms against their fingerprints, the facts against what was found."""
    yield from verify_raw(entry.spec.name)
    for folder in kept_forms(entry.spec.name):
        yield verify_form(folder)
    header = default_form(entry)
    if header is not None:
        manifest = read_manifest(raw_folder(entry.spec.name))
        accepted = manifest.differences if manifest else ()
        wrong = [text for text in differences(entry.spec.facts, header) if text not in accepted]
        yield Finding(Path(header.folder), f"is not as described: {'; '.join(wrong)}" if wrong else "")


def verify_raw(dataset: str) -> Iterator[Finding]:
    """The raw files of a data set, each hashed."""
    folder = raw_folder(dataset)
    if not folder.exists():
        return
    try:
        manifest = read_manifest(folder)
    except DataError as error:
        yield Finding(folder / MANIFEST, str(error))
        return
    if manifest is None:
        yield Finding(folder, f"has no {MANIFEST}: `harness data import {dataset} {folder}` makes one")
        return
    for file in manifest.files:
        yield Finding(folder / file.file, _trouble_with(folder / file.file, file.bytes, file.sha256))
    known = {MANIFEST, *(file.file for file in manifest.files)}
    for path in sorted(folder.rglob("*")):
        if not path.is_dir() and path.relative_to(folder).as_posix() not in known:
            yield Finding(path, "is not in the manifest: nobody vouches for it")


def _trouble_with(path: Path, n_bytes: int, sha256: str) -> str:
    if not path.is_file():
        return "is missing"
    if path.stat().st_size != n_bytes:
        return f"has {path.stat().st_size:,} bytes, the manifest says {n_bytes:,}"
    found = hash_file(path)
    return "" if found == sha256 else f"has changed: SHA-256 {found}, the manifest says {sha256}"


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
    raw = {folder.parent.name for folder in (data_home() / "raw").glob(f"[!.]*/{MANIFEST}")}
    parsed = {name[1] for path in parsed_root().glob("*/header.json") if (name := _FORM.fullmatch(path.parent.name))}
    return sorted(name for name in {*known, *raw, *parsed} if _has_content(name))


def _has_content(name: str) -> bool:
    """Whether there is more than the lock, which every import leaves, refused or not."""
    return any(path != lock_of(raw_folder(name)) for path in belongings([name]))


def belongings(names: Iterable[str], *, raw: bool = True, parsed: bool = True) -> list[Path]:
    """The folders in the data home that belong to these data sets."""
    found: list[Path] = []
    for name in names:
        if parsed:
            found += kept_forms(name)
        if raw:
            folder = raw_folder(name)  # after what was left aside, which would be put back in its place
            places = [*import_folders(name), before_of(folder), folder, lock_of(folder), download_folder(name)]
            found += [path for path in places if os.path.lexists(path)]
    return found


def remove(path: Path) -> None:
    """Remove a file or folder of the data home; what lies elsewhere, or is reached by a link, is never touched."""
    home = data_home().resolve()
    if home not in path.parent.resolve().parents:
        raise DataError(f"{path} is not inside the data home {home}: it is left alone, remove it yourself")
    if path.is_symlink() or not path.is_dir():
        path.unlink(missing_ok=True)
    else:
        shutil.rmtree(path)
