"""One environment: what is asked for, where it lies, whether it is there, and which versions are in it.

It lies over the packages of the Python that runs this: what the two agree on is shared, and what clashes is installed
in the environment, where it is found first. So harness itself comes along from wherever it is running.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import platform
import re
import site
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from harness.environments.versions import find_versions
from harness.home import environments_root

MANIFEST = "environment.json"
FAILED = ".failed"
"""How the file ends that says why an environment could not be built."""
INSTALLERS = ("pip", "ensurepip")
"""Modules of which one has to be there: pip, or what brings it."""
State = Literal["ready", "can be built", "cannot"]
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class Manifest:
    """What is written down of an environment when it is built."""

    asked: tuple[str, ...]
    packages: Mapping[str, str]
    """Versions of what is asked for, of all that this needs, and of what had to be installed beside it."""
    beneath: Mapping[str, str]
    """Versions of what else harness needs, which the environment was resolved with."""
    prefix: str = ""
    """Where the Python is that it lies over; older ones do not say."""


@dataclass(frozen=True)
class ReadyEnvironment:
    """An environment that is there: its Python, and the packages that a learner really finds in it, with versions."""

    name: str
    python: Path
    packages: Mapping[str, str]


@dataclass(frozen=True)
class Environment:
    """The packages that a learner asks for, as pip takes them."""

    asked: tuple[str, ...]

    @property
    def name(self) -> str:
        """The first package, and a hash of all that decides what is built."""
        first = _PACKAGE.match(self.asked[0])
        decisive = [*self.asked, platform.python_version(), sys.prefix]
        digest = hashlib.sha256("\n".join(decisive).encode()).hexdigest()[:16]
        return f"{first.group().lower() if first else 'environment'}-{digest}"

    @property
    def folder(self) -> Path:
        """Where it lies, once it is built."""
        return environments_root() / self.name

    @property
    def failure_file(self) -> Path:
        """Where it is kept why the last attempt to build it failed."""
        return environments_root() / f"{self.name}{FAILED}"

    def find(self) -> ReadyEnvironment | None:
        """The environment, if it is there and nothing beneath it has changed since it was resolved."""
        manifest = read_manifest(self.folder)
        if manifest is None or not python_of(self.folder).exists():  # a link, whose Python may have been removed
            return None
        written = {**manifest.packages, **manifest.beneath}
        if find_versions(written, [packages_of(self.folder), *host_packages()]) != written:
            return None
        return ReadyEnvironment(self.name, python_of(self.folder), manifest.packages)

    def state(self) -> tuple[State, str]:
        """Whether it can be used, and why not."""
        if self.find() is not None:
            return "ready", ""
        if importlib.util.find_spec("venv") is None:
            return "cannot", "this Python has no module venv"
        if not any(map(importlib.util.find_spec, INSTALLERS)):
            return "cannot", "this Python has no pip, and no module ensurepip to get it by"
        if self.failure_file.is_file():
            return "cannot", self.failure_file.read_text().partition("\n")[0]
        return "can be built", ""


def environment_for(asked: tuple[str, ...]) -> Environment | None:
    """The environment of a learner that asks for these packages; None where it asks for none."""
    return Environment(tuple(sorted(set(asked)))) if asked else None


def tell_state(environment: Environment | None) -> str:
    """How far a learner is from running, in a few words; nothing for one that needs no environment."""
    if environment is None:
        return ""
    state, reason = environment.state()
    return f"{state}: {reason}" if reason else state


# -- places ----------------------------------------------------------------------------------------------------------


def python_of(folder: Path) -> Path:
    """The interpreter of an environment."""
    return folder / "bin" / "python"


def packages_of(folder: Path) -> str:
    """Where the packages of an environment's own are."""
    return str(folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages")


def host_packages() -> list[str]:
    """Where the packages of the running Python are, in the order in which it looks."""
    places = [*site.getsitepackages(), site.getusersitepackages()]
    return [place for place in sys.path if place in places]


# -- manifests -------------------------------------------------------------------------------------------------------


def read_manifest(folder: Path) -> Manifest | None:
    """What was written down when the environment was built; None where there is none that can be read."""
    try:
        content = json.loads((folder / MANIFEST).read_text())
        versions = dict(content["packages"]), dict(content["beneath"])
        return Manifest(tuple(content["asked"]), *versions, prefix=str(content.get("prefix", "")))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Put it where the environment is."""
    (folder / MANIFEST).write_text(json.dumps(asdict(manifest), indent=1) + "\n")
