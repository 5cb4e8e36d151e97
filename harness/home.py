"""Where data is kept: the data home, in it the raw files of each data set with their manifest, and how to get them."""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

import platformdirs

from harness.contract import DatasetSpec
from harness.errors import DataError

HOME_VARIABLE = "HARNESS_DATA_HOME"
MANIFEST = "manifest.json"


def data_home() -> Path:
    """The folder that holds all data: HARNESS_DATA_HOME, or the platform's cache folder."""
    given = os.environ.get(HOME_VARIABLE)
    return Path(given) if given else Path(platformdirs.user_cache_dir("harness"))


def raw_folder(dataset: str) -> Path:
    """Where the raw files of a data set are, once they were fetched or imported."""
    return data_home() / "raw" / dataset


def download_folder(dataset: str) -> Path:
    """Where downloads of a data set grow, and where what was refused is kept aside."""
    return data_home() / "downloads" / dataset


def parsed_root() -> Path:
    """The folder that holds the parsed forms of all data sets."""
    return data_home() / "parsed"


def how_to_get(spec: DatasetSpec) -> str:
    """What a data set is made from, where it can be had, and the command that brings it into the data home."""
    lines = [f"  {file.name} from {url}" for file in spec.files for url in file.urls]
    lines += [f"  {file.name}" for file in spec.files if not file.urls]
    fetchable = bool(spec.files) and all(file.urls for file in spec.files)
    text = f"it is made from {spec.obtain}\n" if spec.obtain else "it is made from these files:\n"
    text += "".join(f"{line}\n" for line in lines)
    if fetchable:
        text += f"`harness data fetch {spec.name}` downloads them, "
    return text + f"`harness data import {spec.name} FILE...` takes files that you have"


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
        """Names the content, whenever and from wherever it came."""
        return hashlib.sha256(repr(sorted((file.file, file.sha256) for file in self.files)).encode()).hexdigest()

    def check_sizes(self, folder: Path) -> None:
        """DataError for a file that is gone or has another size than it came with; no content is read."""
        for file in self.files:
            path = folder / file.file
            if not path.is_file() or path.stat().st_size != file.bytes:
                raise DataError(
                    f"data set {self.dataset!r}: {path} is not the file of {file.bytes:,} bytes that was put there: "
                    f"`harness data verify {self.dataset}` tells what changed, "
                    f"`harness data clear {self.dataset} --raw` makes room to get it again"
                )


def read_manifest(folder: Path) -> Manifest | None:
    """The manifest in a folder of raw files; None where there is none."""
    try:
        content = json.loads((folder / MANIFEST).read_text())
        files = tuple(RawEntry(**file) for file in content["files"])
        return Manifest(content["dataset"], files, tuple(content["differences"]))
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError, TypeError, KeyError) as error:
        reason = f"{type(error).__name__}: {error}"
        raise DataError(
            f"{folder / MANIFEST} is damaged ({reason}): `harness data clear {folder.name} --raw`"
        ) from error


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Put the manifest beside the files."""
    (folder / MANIFEST).write_text(json.dumps(asdict(manifest), indent=1) + "\n")
