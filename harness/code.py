"""What a learner's code is, as a digest: every source file of its distribution, or of its package or folder.

A version is not enough: authors edit a plugin in place, and a trial done before must not pass for one of the new code.
Files are found without importing anything, and read: a date of change can be kept by an edit, and changed by none.
"""

from __future__ import annotations

import hashlib
import sysconfig
from collections.abc import Iterable
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

from harness.catalog import HOST_DISTRIBUTION, Origin
from harness.signature import locate

HOST = Path(__file__).parent
SHARED = ("sdk", "trials")
"""What of the host runs inside every trial, and so decides its result as the learner does."""
COMPILED = (".so", ".pyd", ".dylib")


def code_of(load: str, origin: Origin) -> str:
    """A digest of all code that decides what a learner does: its own and the host's."""
    module = load.partition(":")[0]
    return _digest(module.partition(".")[0], origin.distribution)


def host_code() -> str:
    """A digest of the host itself, every file of it."""
    whole = "\n".join(sorted(map(_describe, _code_below(HOST))))
    return hashlib.sha256(whole.encode()).hexdigest()[:12]


def _digest(package: str, distribution_name: str) -> str:
    files = {*_files_of_package(package), *_files_of_distribution(distribution_name), *_shared_files()}
    # Sorted by what they are, not by where they lie: the same code has one digest on every machine.
    whole = "\n".join(sorted(map(_describe, files)))
    return hashlib.sha256(whole.encode()).hexdigest()[:12]


def _describe(file: Path) -> str:
    try:
        if file.suffix in COMPILED:  # large, and made anew with every version
            return f"{file.name} {file.stat().st_size}"
        return f"{file.name} {hashlib.sha256(file.read_bytes()).hexdigest()}"
    except OSError:  # what cannot be read is for the import to report
        return file.name


def _shared_files() -> list[Path]:
    files: list[Path] = []
    for package in SHARED:
        files += _code_below(HOST / package)
    return files


def _files_of_package(package: str) -> list[Path]:
    """All of a package; for a module by itself all that lies beside it, which it may import."""
    try:
        spec = locate(package)
    except Exception:  # a finder that fails is the trial's to report
        return []
    if spec is None:
        return []
    folders = spec.submodule_search_locations
    if folders is not None:
        return [file for folder in folders for file in _code_below(Path(folder))]
    if not spec.has_location or spec.origin is None:
        return []
    file = Path(spec.origin)
    return [file] if _is_library(file.parent) else _code_beside(file)


def _code_below(folder: Path) -> list[Path]:
    return [file for file in folder.rglob("*") if file.suffix in (".py", *COMPILED)]


def _code_beside(file: Path) -> list[Path]:
    """The modules and packages of a user's own folder."""
    files = [other for other in file.parent.iterdir() if other.suffix in (".py", *COMPILED)]
    for inside in file.parent.iterdir():
        if (inside / "__init__.py").is_file():
            files += _code_below(inside)
    return files


def _is_library(folder: Path) -> bool:
    """Whether a folder holds what everybody installs, of which a module's neighbours say nothing about it."""
    paths = sysconfig.get_paths()
    return str(folder) in (paths["stdlib"], paths["platstdlib"], paths["purelib"], paths["platlib"])


def _files_of_distribution(name: str) -> list[Path]:
    """The code that an installed distribution lists; nothing for one in development, whose list does not name it.

    The host's own brings many learners: an edit of one must not make all others' trials new.
    """
    if name == HOST_DISTRIBUTION:
        return []
    try:
        installed = distribution(name)
    except (PackageNotFoundError, ValueError):
        return []
    return [*_listed_files(installed), *_developed_files(installed)]


def _listed_files(installed: Distribution) -> Iterable[Path]:
    for file in installed.files or ():
        if file.suffix in (".py", *COMPILED):
            yield Path(str(installed.locate_file(file)))


def _developed_files(installed: Distribution) -> Iterable[Path]:
    """Of one that is installed for development: the packages that it says are its own."""
    for package in (installed.read_text("top_level.txt") or "").split():
        yield from _files_of_package(package)
