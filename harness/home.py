"""Where data is kept: the data home, in it the raw files of each data set with their manifest, and how to get them.

Raw files lie in a folder that is named by its content and never changed. Which one is current stands in a file of one
line, replaced by a rename: whoever reads needs no lock, and finds the old files or the new ones, whole.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path

import platformdirs

from harness.contract import DatasetSpec
from harness.errors import DataError, MissingData

HOME_VARIABLE = "HARNESS_DATA_HOME"
MANIFEST = "manifest.json"
REPRESENTED_LAYOUT = 1
"""Raised when the kept form of represented rows changes."""
_CONTENT, _CHANCE = "[0-9a-f]{16}", "[a-z0-9_]{8}"
_MADE = rf"\.(.+?)(?:-{_CONTENT})?-{_CHANCE}"
"""How a folder is called in which something is made; what is kept is named by the beginning of a SHA-256."""
_PARSED_NAMES = re.compile(rf"{_MADE}|(.+)-{_CONTENT}(?:{_CHANCE})?")
_RAW_NAMES = re.compile(rf"{_MADE}|(.+)-{_CONTENT}|(.+)\.current|\.(.+)\.(?:before|lock)|([^.].*)")
"""In both, what stands last are names that releases before 0.2 gave."""


# -- places ----------------------------------------------------------------------------------------------------------


def data_home() -> Path:
    """The folder that holds all data: HARNESS_DATA_HOME, or the platform's cache folder."""
    home = Path(os.environ.get(HOME_VARIABLE) or platformdirs.user_cache_dir("harness"))
    if os.path.exists(home) and not home.is_dir():
        raise DataError(f"the data home {home} is a file: --data-home or {HOME_VARIABLE} must name a folder")
    return home


def not_writable(error: OSError) -> DataError:
    """What is said when nothing can be put into the data home."""
    return DataError(
        f"cannot write the data home {data_home()} ({error}): --data-home or {HOME_VARIABLE} names another one"
    )


def raw_root() -> Path:
    """The folder that holds the raw files of all data sets."""
    return data_home() / "raw"


def parsed_root() -> Path:
    """The folder that holds the parsed forms of all data sets."""
    return data_home() / "parsed"


def represented_root() -> Path:
    """The folder that holds what learners see of data sets, computed once for all of them."""
    return data_home() / "represented"


def represented_name(dataset: str, fingerprint: str, split: str, seed: int, identity: str) -> str:
    """The folder, below `represented_root`, of the parts of a data set, split with a seed and represented in a way."""
    decisive = json.dumps([REPRESENTED_LAYOUT, fingerprint, split, seed, identity])
    return f"{dataset}-{hashlib.sha256(decisive.encode()).hexdigest()[:16]}"


def downloads_root() -> Path:
    """The folder that holds what is being downloaded."""
    return data_home() / "downloads"


def environments_root() -> Path:
    """The folder that holds the Python environments of learners that need packages of their own."""
    return data_home() / "environments"


def download_folder(dataset: str) -> Path:
    """Where downloads of a data set grow, and where what was refused is kept aside."""
    return downloads_root() / dataset


def current_file(dataset: str) -> Path:
    """The file of one line that names the folder with the current raw files of a data set."""
    return raw_root() / f"{dataset}.current"


def raw_folder(dataset: str) -> Path:
    """Where the raw files of a data set are; a folder that does not exist where there are none."""
    try:
        name = current_file(dataset).read_text().strip()
    except OSError:
        name = ""
    if name.startswith(f"{dataset}-"):
        return raw_root() / name
    return raw_root() / dataset  # where releases before 0.2 kept them


def owner_of(path: Path) -> str | None:
    """The data set that something in the data home belongs to, which its name tells; None for what is nobody's."""
    is_made = path.parent in (parsed_root(), represented_root())
    names = _PARSED_NAMES if is_made else _RAW_NAMES
    match = names.fullmatch(path.name)
    if match is None:
        return None
    owner: str = next(filter(None, match.groups()))
    return owner


# -- how data is to be had -------------------------------------------------------------------------------------------


def can_be_fetched(spec: DatasetSpec) -> bool:
    """Whether every file of a data set has an address."""
    return bool(spec.files) and all(file.urls for file in spec.files)


def missing_data(spec: DatasetSpec, trouble: str) -> MissingData:
    """The error for data that is not at hand: what it is made from, where that is, and the command that brings it."""
    addresses = []
    for file in spec.files:
        for url in file.urls:
            addresses.append(f"  {file.name} from {url}")
        if not file.urls:
            addresses.append(f"  {file.name}")
    command = f"harness data import {spec.name} FILE..."
    next_step = f"`{command}` takes files that you have"
    if can_be_fetched(spec):
        command = f"harness data fetch {spec.name}"
        next_step = f"`{command}` downloads them, {next_step}"
    return MissingData(
        f"{trouble}: it is made from {spec.obtain or 'these files:'}",
        culprit=f"data set {spec.name!r}",
        next_step=next_step,
        command=command,
        addresses="\n".join(addresses),
    )


# -- manifests -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RawEntry:
    """One raw file as it was put into the data home."""

    file: str
    """Its path below the data set's folder, written with slashes."""
    bytes: int
    sha256: str
    origin: str
    """The URL it came from, or "imported"."""
    when: str


@dataclass(frozen=True)
class Manifest:
    """All raw files of a data set, and what of its facts did not hold but was accepted."""

    dataset: str
    files: tuple[RawEntry, ...]
    differences: tuple[str, ...] = ()

    def stamp(self) -> str:
        """Names the content of the files, whenever and from wherever they came."""
        contents = sorted((file.file, file.sha256) for file in self.files)
        return hashlib.sha256(repr(contents).encode()).hexdigest()

    def as_text(self) -> str:
        """What stands in manifest.json."""
        return json.dumps(asdict(self), indent=1) + "\n"

    def folder_name(self) -> str:
        """What a folder with these files is called: no two imports have the same, since they differ in time."""
        return f"{self.dataset}-{hashlib.sha256(self.as_text().encode()).hexdigest()[:16]}"

    def check_sizes(self, folder: Path) -> None:
        """DataError for a file that is gone or has another size than it came with; no content is read."""
        for file in self.files:
            path = folder / file.file
            if not path.is_file() or path.stat().st_size != file.bytes:
                raise DataError(
                    f"{path} is not the file of {file.bytes:,} bytes that was put there",
                    culprit=f"data set {self.dataset!r}",
                    next_step=f"`harness data verify {self.dataset}` tells what changed, "
                    f"`harness data clear {self.dataset} --raw` makes room to get it again",
                )


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest in a folder of raw files; None where there is none."""
    path = folder / MANIFEST
    try:
        content = json.loads(path.read_text())
        files = tuple(RawEntry(**file) for file in content["files"])
        return Manifest(content["dataset"], files, tuple(content["differences"]))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise DataError(
            f"{path} is damaged ({type(error).__name__}: {error})",
            next_step=f"`harness data clear {owner_of(folder)} --raw`",
        ) from error


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Put the manifest beside the files."""
    (folder / MANIFEST).write_text(manifest.as_text())
