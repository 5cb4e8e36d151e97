"""Which data set opens a file of the user's: the one that names its ending, or else the one that knows its content."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from harness.catalog import Catalog, Entry
from harness.contract import DatasetSpec
from harness.errors import DataError, SpecError
from harness.experiment.dataset_ref import PACKINGS
from harness.signature import import_target

FOLDER = "/"


def find_file_format(path: str, catalog: Catalog) -> Entry[DatasetSpec]:
    """The data set that reads this file or folder; where several do, or none says so by the ending, content decides."""
    file = Path(os.path.expanduser(path))
    if not os.path.exists(file):
        raise DataError(f"data set {path!r}: there is no such file or folder (nor a data set of that name)")
    if not file.is_file() and not file.is_dir():  # whoever reads a pipe may wait for ever
        raise DataError(
            "neither a file nor a folder, but a pipe or a device",
            culprit=f"data set {path!r}",
            next_step="write its content to a file",
        )
    formats = [entry for entry in catalog.datasets if entry.spec.opens]
    by_ending = [entry for entry in formats if ending_of(file) in entry.spec.opens]
    if len(by_ending) == 1:
        return by_ending[0]
    recognised = _recognised(by_ending or formats, file)
    if len(recognised) == 1:
        return recognised[0]
    able = recognised or by_ending or formats
    ways = " or ".join(f"\"{entry.spec.name}(path='{path}')\"" for entry in able) or "a plugin that opens files"
    trouble = "could be read in several ways" if recognised else "is of no format that is known by its name or content"
    raise SpecError(f"data set {path!r} {trouble}: say which with --data {ways}")


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
