"""Builds an environment aside and moves it into its place in one step: whoever looks finds it whole or not at all."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import venv
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from harness.data.folders import remove, remove_unfinished, work_folder
from harness.environments.environment import (
    Environment,
    Manifest,
    ReadyEnvironment,
    host_packages,
    packages_of,
    python_of,
    write_manifest,
)
from harness.environments.pip_lines import find_culprit, is_progress
from harness.environments.versions import find_versions, host_requirements, list_packages, with_dependencies
from harness.errors import HarnessError
from harness.executors.serving import variables_for
from harness.home import environments_root

LAST_LINES = 15
"""So many of what pip said are kept of a build that failed."""
BENEATH = "beneath.pth"
PINS = "pins.txt"
Say = Callable[[str], None]


def build_environment(
    environment: Environment, say: Say, versions: Mapping[str, str] | None = None
) -> ReadyEnvironment:
    """The environment, built unless it is there; HarnessError names the package that could not be had.

    `versions` are those that another machine has: what is built here has the same.
    """
    ready = environment.find()
    if ready is not None:
        return ready
    remove_unfinished(environment.folder)
    say(f"building an environment with {', '.join(environment.asked)}; this happens once")
    with work_folder(environments_root(), environment.name) as made:
        folder = made / environment.name
        _make(folder)
        _install(folder, environment, say, versions or {})
        write_manifest(folder, _describe(folder, environment))
        _readdress(folder, environment.folder)
        _move(folder, environment)
    environment.failure_file.unlink(missing_ok=True)
    ready = environment.find()
    if ready is None:
        raise HarnessError("packages were changed while it was built", culprit="its environment")
    say(f"environment {environment.name} is ready")
    return ready


def _make(folder: Path) -> None:
    """An empty environment over the packages that this Python has, harness's own among them."""
    has_pip = importlib.util.find_spec("pip") is not None
    try:
        venv.create(folder, symlinks=True, with_pip=not has_pip)
    except (OSError, subprocess.CalledProcessError) as error:
        raise HarnessError(
            f"this Python cannot make one: {error}",
            culprit="its environment",
            next_step="install its venv and pip modules (on Debian python3-venv)",
        ) from error
    # Folders named in a .pth file come after the environment's own; this way their own .pth files count as well, by
    # which a checkout that is installed for development is found.
    lines = [f"import site; site.addsitedir({place!r})" for place in host_packages()]
    Path(packages_of(folder), BENEATH).write_text("\n".join(lines) + "\n")


def _install(folder: Path, environment: Environment, say: Say, versions: Mapping[str, str]) -> None:
    """Have pip install what is asked for, and what of harness's requirements it clashes with."""
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
    """pip at work, which ends with what is inside, however that ends."""
    command = [str(python_of(folder)), "-P", "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    process = subprocess.Popen(
        [*command, "--no-warn-script-location", "--progress-bar", "off", *wanted],
        env=variables_for(command[0], os.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,  # what it starts to compile ends with it
    )
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def _failed(environment: Environment, lines: list[str]) -> HarnessError:
    """What is said of a build that failed, which is kept for whoever lists learners."""
    trouble = f"{find_culprit(lines) or ', '.join(environment.asked)} could not be installed"
    last = lines[-LAST_LINES:]
    with contextlib.suppress(OSError):  # then nobody is told later
        environment.failure_file.write_text("\n".join([trouble, *last]) + "\n")
    said = "\n".join(f"  | {line}" for line in last)
    next_step = f"pip's last lines say why; once that is mended, `harness env build` tries again\n{said}"
    return HarnessError(trouble, culprit="its environment", next_step=next_step)


def _describe(folder: Path, environment: Environment) -> Manifest:
    """What has come of it: every version that was found, its own first."""
    own = packages_of(folder)
    path = [own, *host_packages()]
    names = {*with_dependencies(environment.asked, path), *list_packages(own)}
    others = {*with_dependencies(host_requirements(), path)} - names
    return Manifest(environment.asked, find_versions(names, path), find_versions(others, path), sys.prefix)


def _readdress(folder: Path, place: Path) -> None:
    """Have its commands name the Python of where it will lie, not of where it is made."""
    for file in [folder / "pyvenv.cfg", *(folder / "bin").iterdir()]:
        content = b"" if file.is_symlink() else file.read_bytes()
        if os.fsencode(folder) in content:
            file.write_bytes(content.replace(os.fsencode(folder), os.fsencode(place)))


def _move(folder: Path, environment: Environment) -> None:
    """Put it in its place, where an earlier one may lie that the host has outgrown."""
    if environment.folder.exists():
        if environment.find() is not None:  # somebody else was quicker
            return
        remove(environment.folder)
    os.rename(folder, environment.folder)
