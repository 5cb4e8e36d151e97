"""Which data set opens a file of the user's: the one that names its ending, or else the one that knows its content."""

from __future__ import annotations

from pathlib import Path

from harness.contract import DatasetSpec
from harness.errors import DataError, SpecError
from harness.experiment.dataset_ref import PACKINGS
from harness.host import Catalog, Entry
from harness.signature import import_target

FOLDER = "/"


def find_opener(path: str, catalog: Catalog) -> Entry[DatasetSpec]:
    """The data set that reads this file or folder; where several do, or none says so by the ending, content decides."""
    file = Path(path).expanduser()
    if not file.exists():
        raise DataError(f"data set {path!r}: there is no such file or folder (nor a data set of that name)")
    openers = [entry for entry in catalog.datasets if entry.spec.opens]
    by_ending = [entry for entry in openers if ending_of(file) in entry.spec.opens]
    if len(by_ending) == 1:
        return by_ending[0]
    asked = [entry for entry in by_ending or openers if entry.spec.recognises]
    found = [entry for entry in asked if import_target(str(entry.spec.recognises))(str(file))]
    if len(found) == 1:
        return found[0]
    able = found or by_ending or openers
    ways = " or ".join(f"\"{entry.spec.name}(path='{path}')\"" for entry in able) or "a plugin that opens files"
    trouble = "could be read in several ways" if found else "is of no format that is known by its name or content"
    raise SpecError(f"data set {path!r} {trouble}: say which with --data {ways}")


def ending_of(file: Path) -> str:
    """The ending that tells the format: without what a packing adds, in lower case; FOLDER for a folder."""
    if file.is_dir():
        return FOLDER
    endings = [ending.lower() for ending in file.suffixes if ending.lower() not in PACKINGS]
    return endings[-1] if endings else ""
