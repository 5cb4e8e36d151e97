"""Build environments with venv and pip. If a build fails, find the package that caused it in the output of pip."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import signal
import subprocess
import sys
import venv
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from harness.environments.environment import (
    Environment,
    EnvironmentManifest,
    ReadyEnvironment,
    changed_files,
    find_damage,
    find_versions,
    host_packages,
    host_requirements,
    list_packages,
    packages_of,
    python_of,
    with_dependencies,
    write_environment_manifest,
)
from harness.errors import HarnessError
from harness.executors.local.servers import variables_for
from harness.files.atomic import publish_folder
from harness.files.home import environments_root, remove, remove_unfinished, work_folder

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
    say(f"building an environment with {', '.join(environment.asked)}; this happens once")
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
    has_pip = importlib.util.find_spec("pip") is not None
    try:
        venv.create(folder, symlinks=True, with_pip=not has_pip)
    except (OSError, subprocess.CalledProcessError) as error:
        raise HarnessError(
            f"this Python cannot create a virtual environment: {error}",
            culprit="its environment",
            next_step="install its venv and pip modules (on Debian python3-venv)",
        ) from error
    # Python searches folders from a .pth file after the packages of the environment itself. `addsitedir` also reads the
    # .pth files in these folders, which editable installs need.
    lines = [f"import site; site.addsitedir({place!r})" for place in host_packages()]
    Path(packages_of(folder), BENEATH).write_text("\n".join(lines) + "\n")


def _install(folder: Path, environment: Environment, say: Say, versions: Mapping[str, str]) -> None:
    """Install the requirements together with those of the harness, so that pip resolves conflicts between them."""
    wanted = [*environment.asked, *host_requirements()]
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
    problem = f"{find_culprit(lines) or ', '.join(environment.asked)} could not be installed"
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
    names = {*with_dependencies(environment.asked, path), *list_packages(own)}
    others = {*with_dependencies(host_requirements(), path)} - names
    return EnvironmentManifest(
        asked=environment.asked,
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
