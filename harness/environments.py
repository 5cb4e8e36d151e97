"""Virtual environments for learners that need other packages than the harness itself: describe, build and remove them.

An environment shares the packages of the running Python, including the harness. Only packages that are missing there,
or that are needed in another version, are installed in the environment, where Python finds them first.
"""

from __future__ import annotations

import base64
import contextlib
import csv
import hashlib
import importlib.util
import json
import os
import platform
import re
import signal
import site
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import Distribution, MetadataPathFinder, requires
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from harness.errors import HarnessError, UnknownName
from harness.files.atomic import publish_folder, size_of
from harness.files.home import environments_root, remove, remove_unfinished, work_folder
from harness.host.catalog import HOST_DISTRIBUTION
from harness.text import nearest

if TYPE_CHECKING:
    from packaging.requirements import Requirement


MANIFEST = "environment.json"
FAILED = ".failed"
"""Ending of the file with the reason why a build failed."""
INSTALLERS = ("pip", "ensurepip")
"""Modules to install packages. One is enough: pip, or the module that installs pip."""
State = Literal["ready", "can be built", "cannot"]
"""State of an environment. cannot: it cannot be built, or the last build failed."""
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True)
class ReadyEnvironment:
    """An environment that is built and can be used."""

    name: str
    python: Path
    """Its Python interpreter."""
    packages: Mapping[str, str]
    """Versions of the requirements and of their dependencies."""


@dataclass(frozen=True)
class Environment:
    """The environment for a set of requirements, built or not.

    Parameters
    ----------
    requirements : tuple of str
        The requirements, as pip takes them.
    """

    requirements: tuple[str, ...]

    @property
    def name(self) -> str:
        """The first package, and a digest of the requirements, the version of Python and its prefix."""
        first = _PACKAGE.match(self.requirements[0])
        decisive = [*self.requirements, platform.python_version(), sys.prefix]
        digest = hashlib.sha256("\n".join(decisive).encode()).hexdigest()[:16]
        return f"{first.group().lower() if first else 'environment'}-{digest}"

    @property
    def folder(self) -> Path:
        """The folder of the environment in the data home."""
        return environments_root() / self.name

    @property
    def failure_file(self) -> Path:
        """The file with the reason why the last build failed."""
        return environments_root() / f"{self.name}{FAILED}"

    def find(self) -> ReadyEnvironment | None:
        """Return the environment if it is built; None if not, or if packages that it shares have changed since."""
        manifest = read_environment_manifest(self.folder)
        if manifest is None or not python_of(self.folder).exists():  # it is a link to a Python that may be removed
            return None
        written = {**manifest.packages, **manifest.beneath}
        if find_versions(written, [packages_of(self.folder), *host_packages()]) != written:
            return None
        return ReadyEnvironment(self.name, python_of(self.folder), manifest.packages)

    def state(self) -> tuple[State, str]:
        """Return the state of the environment, and the reason if it cannot be used."""
        if self.find() is not None:
            return "ready", ""
        if importlib.util.find_spec("venv") is None:
            return "cannot", "this Python has no module venv"
        if not any(map(importlib.util.find_spec, INSTALLERS)):
            return "cannot", "this Python has no pip, and no ensurepip to install it"
        if self.failure_file.is_file():
            return "cannot", self.failure_file.read_text().partition("\n")[0]
        return "can be built", ""


def environment_for(requirements: tuple[str, ...]) -> Environment | None:
    """Return the environment for these requirements, in any order; None if there are none.

    Parameters
    ----------
    requirements : tuple of str
        Requirements as pip takes them; duplicates count once.
    """
    return Environment(tuple(sorted(set(requirements)))) if requirements else None


def describe_state(environment: Environment | None) -> str:
    """Return the state of an environment and the reason, as text; empty if there is no environment.

    Parameters
    ----------
    environment : Environment or None
        None for a learner without requirements.
    """
    if environment is None:
        return ""
    state, reason = environment.state()
    return f"{state}: {reason}" if reason else state


# -- paths -----------------------------------------------------------------------------------------------------------


def python_of(folder: Path) -> Path:
    """Return the path of the Python interpreter of an environment."""
    return folder / "bin" / "python"


def packages_of(folder: Path) -> str:
    """Return the folder with the packages that are installed in an environment itself."""
    return str(folder / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages")


def host_packages() -> list[str]:
    """Return the folders with packages of the running Python, in the order in which Python searches them."""
    places = [*site.getsitepackages(), site.getusersitepackages()]
    return [place for place in sys.path if place in places]


# -- manifests -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class EnvironmentManifest:
    """The description of an environment, written when it is built."""

    requirements: tuple[str, ...]
    """The requirements."""
    packages: Mapping[str, str]
    """Versions of the requirements, of their dependencies, and of all other packages installed in the environment."""
    beneath: Mapping[str, str]
    """Versions of the shared packages that the harness needs. If they change, the environment is built again."""
    prefix: str = ""
    """`sys.prefix` of the Python whose packages are shared; empty in old manifests."""
    overwritten: tuple[str, ...] = ()
    """Files that differed from their recorded hash after the build, since another package overwrites them."""


def read_environment_manifest(folder: Path) -> EnvironmentManifest | None:
    """Return the manifest of an environment; None if it cannot be read."""
    try:
        content = json.loads((folder / MANIFEST).read_text())
        return EnvironmentManifest(
            requirements=tuple(content.get("requirements", content.get("asked"))),  # "asked" in old manifests
            packages=dict(content["packages"]),
            beneath=dict(content["beneath"]),
            prefix=str(content.get("prefix", "")),
            overwritten=tuple(content.get("overwritten", ())),
        )
    except (OSError, ValueError, TypeError, KeyError):
        return None


def write_environment_manifest(folder: Path, manifest: EnvironmentManifest) -> None:
    """Write the manifest of an environment."""
    (folder / MANIFEST).write_text(json.dumps(asdict(manifest), indent=1) + "\n")


# -- damage ----------------------------------------------------------------------------------------------------------


def find_damage(folder: Path) -> str:
    """Return the first file of an environment that has changed since the build; empty if there is none."""
    manifest = read_environment_manifest(folder)
    expected = manifest.overwritten if manifest else ()
    return next((name for name in changed_files(folder) if name not in expected), "")


def changed_files(folder: Path) -> Iterator[str]:
    """Yield the files of an environment that are missing, or differ from the hash in the RECORD of their package.

    Scripts in `bin` are left out: they contain the path of the environment, which changes when it is moved.
    """
    root = Path(packages_of(folder))
    for package in sorted(root.glob("*.dist-info")):
        for name, digest in _read_record(package / "RECORD"):
            if _digest_file(root / name) != digest:
                yield name


def _read_record(file: Path) -> Iterator[tuple[str, str]]:
    """Yield the files of a package with their hashes. An unreadable RECORD is yielded as a changed file."""
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            rows = [row for row in csv.reader(lines) if len(row) == 3]  # path, hash, size
    except (OSError, ValueError, csv.Error):
        yield f"{file.parent.name}/{file.name}", "unreadable"
        return
    for name, digest, _ in rows:
        if digest.startswith("sha256=") and ".." not in Path(name).parts:
            yield name, digest


def _digest_file(path: Path) -> str:
    """Return the hash of a file as RECORD writes it; empty if the file cannot be read."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return ""
    return f"sha256={base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


# -- all environments of the data home -------------------------------------------------------------------------------


@dataclass(frozen=True)
class KeptEnvironment:
    """A built environment in the data home, with its size."""

    name: str
    manifest: EnvironmentManifest
    n_bytes: int


def list_environments() -> list[KeptEnvironment]:
    """Return all environments in the data home, sorted by name."""
    kept = []
    for file in sorted(environments_root().glob(f"[!.]*/{MANIFEST}")):
        manifest = read_environment_manifest(file.parent)
        if manifest is not None:
            kept.append(KeptEnvironment(file.parent.name, manifest, size_of(file.parent)))
    return kept


def check_kept(name: str) -> None:
    """Raise UnknownName if the data home has neither an environment of this name nor the report of a failed build."""
    known = {path.name.removesuffix(FAILED) for path in environments_root().glob("[!.]*")}
    if name not in known:
        near = nearest(name, sorted(known))
        hint = f"Did you mean {' or '.join(near)}? " if near else ""
        raise UnknownName(f"no environment {name!r}. {hint}`harness env list` lists all.")


def remove_environment(name: str) -> None:
    """Remove an environment and the report of a failed build; raise UnknownName if there is neither."""
    check_kept(name)
    folder = environments_root() / name
    if folder.is_dir():
        remove(folder)
    (environments_root() / f"{name}{FAILED}").unlink(missing_ok=True)


# -- versions of packages --------------------------------------------------------------------------------------------


def find_versions(names: Iterable[str], path: Sequence[str]) -> dict[str, str]:
    """Return the versions of packages from the metadata in folders, without starting another Python.

    Parameters
    ----------
    names : iterable of str
        Names of packages.
    path : sequence of str
        Folders with packages. The first folder that has a package decides its version.

    Returns
    -------
    dict
        Versions by normalised name; packages that are not installed are left out.
    """
    from packaging.utils import canonicalize_name  # noqa: PLC0415 (not needed to list learners)

    versions: dict[str, str] = {}
    for name in names:
        found = find_distribution(name, path)
        if found is not None:
            versions[canonicalize_name(name)] = found.version
    return dict(sorted(versions.items()))


def find_distribution(name: str, path: Sequence[str]) -> Distribution | None:
    """Return the distribution of this name from the first folder that has it; None if there is none."""
    context = MetadataPathFinder.Context(name=name, path=list(path))
    return next(iter(MetadataPathFinder.find_distributions(context)), None)


def list_packages(folder: str) -> list[str]:
    """Return the names of the packages that are installed in a folder."""
    from packaging.utils import canonicalize_name  # noqa: PLC0415 (not needed to list learners)

    found = MetadataPathFinder.find_distributions(MetadataPathFinder.Context(path=[folder]))
    return [canonicalize_name(distribution.name) for distribution in found]


def with_dependencies(wanted: Iterable[str], path: Sequence[str]) -> list[str]:
    """Return the names of the required packages and of all their dependencies.

    Parameters
    ----------
    wanted : iterable of str
        Requirements as pip takes them.
    path : sequence of str
        Folders with packages. Dependencies of packages that are not installed there are not known.
    """
    from packaging.requirements import Requirement  # noqa: PLC0415 (not needed to list learners)
    from packaging.utils import canonicalize_name  # noqa: PLC0415 (not needed to list learners)

    waiting = [Requirement(text) for text in wanted]
    extras_of: dict[str, set[str]] = {}
    while waiting:
        requirement = waiting.pop()
        name = canonicalize_name(requirement.name)
        fresh = name not in extras_of or not requirement.extras <= extras_of[name]
        if not fresh or not applies(requirement):
            continue
        extras_of.setdefault(name, set()).update(requirement.extras)
        found = find_distribution(name, path)
        for text in (found.requires or ()) if found else ():
            needed = Requirement(text)
            if applies(needed, extras_of[name]):
                waiting.append(Requirement(text.partition(";")[0]))
    return sorted(extras_of)


def applies(requirement: Requirement, extras: Iterable[str] = ()) -> bool:
    """Return whether the marker of a requirement holds on this machine, with these extras."""
    if requirement.marker is None:
        return True
    return any(requirement.marker.evaluate({"extra": extra}) for extra in ("", *extras))


def host_requirements() -> list[str]:
    """Return the requirements of the harness that apply on this machine."""
    from packaging.requirements import Requirement  # noqa: PLC0415 (not needed to list learners)

    needed = [Requirement(text) for text in requires(HOST_DISTRIBUTION) or ()]
    return [str(requirement) for requirement in needed if applies(requirement)]


LAST_LINES = 15
"""Number of lines of pip's output in the report of a failed build."""
BENEATH = "beneath.pth"
"""File that adds the packages of the running Python to an environment."""
PINS = "pins.txt"
"""File with the versions that pip has to install."""
Say = Callable[[str], None]


def build_environment(
    environment: Environment, say: Say, versions: Mapping[str, str] | None = None
) -> ReadyEnvironment:
    """Return an environment, and build it if it is missing, outdated or damaged.

    It is built in a temporary folder, which is then renamed: other processes never see a partial environment.

    Parameters
    ----------
    environment : Environment
        The requirements.
    say : callable
        Receives lines on the progress.
    versions : mapping, optional
        Versions of packages to install, such as those of the environment on another machine.

    Raises
    ------
    HarnessError
        If a package could not be installed. The message names the package.
    """
    ready = find_intact(environment, say)
    if ready is not None:
        return ready
    remove_unfinished(environment.folder)
    say(f"building an environment with {', '.join(environment.requirements)}; this happens once")
    with work_folder(environments_root(), environment.name) as made:
        folder = made / environment.name
        _make(folder)
        _install(folder, environment, say, versions or {})
        write_environment_manifest(folder, _describe(folder, environment))
        _readdress(folder, environment.folder)
        _move(folder, environment)
    environment.failure_file.unlink(missing_ok=True)
    ready = environment.find()
    if ready is None:
        raise HarnessError("packages changed while it was built", culprit="its environment")
    say(f"environment {environment.name} is ready")
    return ready


def find_intact(environment: Environment, say: Say) -> ReadyEnvironment | None:
    """Return an environment after verifying all its files; None if it is missing, outdated or damaged.

    This reads all files, so call it only before the first use of an environment in a run.

    Parameters
    ----------
    environment : Environment
        The environment to look for.
    say : Say
        Receives a warning if the environment is damaged.
    """
    ready = environment.find()
    if ready is None:
        return None
    damaged = find_damage(environment.folder)
    if not damaged:
        return ready
    say(f"warning: environment {environment.name} is damaged: {damaged} is not as it was installed")
    return None


def _make(folder: Path) -> None:
    """Create a virtual environment that has no packages, but shares those of the running Python."""
    import venv  # noqa: PLC0415 (not needed to list learners; some Pythons lack it)

    has_pip = importlib.util.find_spec("pip") is not None
    try:
        venv.create(folder, symlinks=True, with_pip=not has_pip)
    except (OSError, subprocess.CalledProcessError) as error:
        raise HarnessError(
            f"this Python cannot create a virtual environment: {error}",
            culprit="its environment",
            next_step="Install its venv and pip modules (on Debian python3-venv).",
        ) from error
    # Python searches folders from a .pth file after the packages of the environment itself. `addsitedir` also reads the
    # .pth files in these folders, which editable installs need.
    lines = [f"import site; site.addsitedir({place!r})" for place in host_packages()]
    Path(packages_of(folder), BENEATH).write_text("\n".join(lines) + "\n")


def _install(folder: Path, environment: Environment, say: Say, versions: Mapping[str, str]) -> None:
    """Install the requirements together with those of the harness, so that pip resolves conflicts between them."""
    wanted = [*environment.requirements, *host_requirements()]
    if versions:
        pins = folder / PINS
        pins.write_text("".join(f"{name}=={version}\n" for name, version in versions.items()))
        wanted += ["--constraint", str(pins)]
    lines = []
    with _pip(folder, wanted) as process:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.rstrip())
            if is_progress(line):
                say(f"  {line.strip()}")
        if process.wait() != 0:
            raise _failed(environment, lines)


@contextlib.contextmanager
def _pip(folder: Path, wanted: list[str]) -> Iterator[subprocess.Popen[str]]:
    """Start pip for the block, and kill it and its children when the block ends."""
    from harness.executors.server import variables_for  # noqa: PLC0415 (not needed to list learners)

    command = [str(python_of(folder)), "-P", "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    process = subprocess.Popen(
        [*command, "--no-warn-script-location", "--progress-bar", "off", *wanted],
        env=variables_for(command[0], os.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,  # to kill pip together with the compilers that it starts
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _failed(environment: Environment, lines: list[str]) -> HarnessError:
    """Return the error for a failed build, and write its reason to a file for `harness list`."""
    problem = f"{find_culprit(lines) or ', '.join(environment.requirements)} could not be installed"
    last = lines[-LAST_LINES:]
    with contextlib.suppress(OSError):  # a failing report must not hide the error itself
        environment.failure_file.write_text("\n".join([problem, *last]) + "\n")
    shown = "\n".join(f"  | {line}" for line in last)
    next_step = f"see the last lines of pip below; repeat with `harness env build`\n{shown}"
    return HarnessError(problem, culprit="its environment", next_step=next_step)


def _describe(folder: Path, environment: Environment) -> EnvironmentManifest:
    """Return the manifest of a new environment, with the versions of all packages."""
    own = packages_of(folder)
    path = [own, *host_packages()]
    names = {*with_dependencies(environment.requirements, path), *list_packages(own)}
    others = {*with_dependencies(host_requirements(), path)} - names
    return EnvironmentManifest(
        requirements=environment.requirements,
        packages=find_versions(names, path),
        beneath=find_versions(others, path),
        prefix=sys.prefix,
        overwritten=tuple(changed_files(folder)),
    )


def _readdress(folder: Path, place: Path) -> None:
    """Replace the temporary path of an environment by its final path, in its scripts and in `pyvenv.cfg`."""
    for file in [folder / "pyvenv.cfg", *(folder / "bin").iterdir()]:
        content = b"" if file.is_symlink() else file.read_bytes()
        if os.fsencode(folder) in content:
            file.write_bytes(content.replace(os.fsencode(folder), os.fsencode(place)))


def _move(folder: Path, environment: Environment) -> None:
    """Rename a new environment to its final folder, after removing an outdated or damaged one there."""
    if environment.folder.exists():
        if find_intact(environment, lambda _: None) is not None:  # built by another process meanwhile
            return
        remove(environment.folder)
    publish_folder(folder, environment.folder)


# -- output of pip ---------------------------------------------------------------------------------------------------

_AT_WORK = re.compile(r"\s*(?:Collecting|Building wheels? for) ([^\s(:]+)")
_SHOWN = re.compile(r"\s*(?:Collecting|Building wheel for|Downloading|Installing collected packages:) ?.*")
_BLAMED = (
    re.compile(r"No matching distribution found for (\S+)"),
    re.compile(r"Cannot install (.+?) because"),
    re.compile(r"Failed building wheel for (\S+)"),
    re.compile(r"Failed to build '?([^\s']+)'? when"),
)
_STEP_FAILED = "finished with status 'error'"


def is_progress(line: str) -> bool:
    """Return whether a line of pip's output shows progress, such as a download or the build of a wheel.

    Examples
    --------
    >>> is_progress("Collecting numpy"), is_progress("Requirement already satisfied: numpy")
    (True, False)
    """
    return _SHOWN.fullmatch(line.rstrip()) is not None


def find_culprit(lines: Iterable[str]) -> str:
    """Return the first package that the output of pip names as the cause of a failure.

    The result is empty if pip names none, for example because the disk is full.

    Parameters
    ----------
    lines : iterable of str
        Output of pip, in order.

    Examples
    --------
    >>> find_culprit(["Collecting nosuch", "ERROR: No matching distribution found for nosuch"])
    'nosuch'
    """
    at_work = ""  # the line that reports a failed step may not name the package, but an earlier line does
    for line in lines:
        found = _AT_WORK.match(line)
        if found:
            at_work = found.group(1)
        for pattern in _BLAMED:
            blamed = pattern.search(line)
            if blamed:
                return blamed.group(1)
        if _STEP_FAILED in line and at_work:
            return at_work
    return ""
