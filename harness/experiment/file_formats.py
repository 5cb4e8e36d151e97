"""Which data set opens what the user names: the one that says so of an ending or of what stands before a colon, that
takes the parameters given, or else the one that knows the content."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from harness.catalog import Catalog, Entry
from harness.contract import DatasetSpec
from harness.errors import DataError, SpecError
from harness.experiment.dataset_ref import PACKINGS
from harness.params import Params
from harness.signature import import_target, parameters_of

FOLDER = "/"


def find_address(source: str, catalog: Catalog, params: Params) -> Entry[DatasetSpec] | None:
    """The data set that reads an address such as `hf:NAME`: of several the one that takes these parameters, and then
    the one that is called by what stands before the colon. None where nobody says that this is an address of his."""
    scheme, colon, _ = source.partition(":")
    readers = [entry for entry in catalog.datasets if f"{scheme}{colon}" in entry.spec.opens]
    if not colon or not readers:
        return None
    able = _taking(readers, params)
    named = [entry for entry in able if entry.spec.name == scheme]
    return (named or able)[0]


def find_file_format(path: str, catalog: Catalog, params: Params | None = None) -> Entry[DatasetSpec]:
    """The data set that reads this file or folder: where several read such an ending, or none says that it does, the
    parameters decide, and then the content."""
    file = Path(os.path.expanduser(path))
    if not os.path.exists(file):
        raise DataError(
            "there is no such file or folder (nor a data set of that name)",
            culprit=f"data set {path!r}",
            next_step=f"give its path from {Path.cwd()}, or one of `harness list datasets`",
        )
    if not file.is_file() and not file.is_dir():  # whoever reads a pipe may wait for ever
        raise DataError(
            "neither a file nor a folder, but a pipe or a device",
            culprit=f"data set {path!r}",
            next_step="write its content to a file",
        )
    formats = [entry for entry in catalog.datasets if entry.spec.opens]
    by_ending = [entry for entry in formats if ending_of(file) in entry.spec.opens]
    able = _taking(by_ending, params or {})
    telling = [entry for entry in able if entry.spec.recognises]
    for only in (able, telling):
        if len(only) == 1:
            return only[0]
    recognised = _recognised(by_ending or formats, file)
    if len(recognised) == 1:
        return recognised[0]
    able = recognised or by_ending or formats
    ways = " or ".join(f"\"{entry.spec.name}(path='{path}')\"" for entry in able) or "a plugin that opens files"
    trouble = "could be read in several ways" if recognised else "is of no format that is known by its name or content"
    raise SpecError(f"data set {path!r} {trouble}: say which with --data {ways}")


def _taking(entries: Sequence[Entry[DatasetSpec]], params: Params) -> list[Entry[DatasetSpec]]:
    """Those whose loaders take all these parameters; where none does, all: an error will tell what each takes."""
    able = [entry for entry in entries if params.keys() <= parameters_of(entry.spec).keys()]
    return able or list(entries)


def _recognised(formats: Sequence[Entry[DatasetSpec]], file: Path) -> list[Entry[DatasetSpec]]:
    """The formats that say of the content that it is theirs."""
    found = []
    for entry in formats:
        if entry.spec.recognises and import_target(entry.spec.recognises)(str(file)):
            found.append(entry)
    return found


def ending_of(file: Path) -> str:
    """The ending that tells the format: without what a packing adds, in lower case; FOLDER for a folder."""
    if file.is_dir():
        return FOLDER
    endings = [ending.lower() for ending in file.suffixes]
    telling = [ending for ending in endings if ending not in PACKINGS]
    return telling[-1] if telling else ""
