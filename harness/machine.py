"""What the numbers were measured on: processor, memory, system, versions, commit. No host or user name."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

LIBRARIES = ("manyclass-harness", "numpy", "scipy", "scikit-learn", "numba")


@dataclass(frozen=True)
class Machine:
    """A machine's facts and an id made of them: two records with one id were timed on alike machines."""

    id: str
    processor: str
    cores: int | None
    memory_bytes: int
    system: str


def describe_machine() -> Machine:
    """The machine that this process runs on."""
    processor, cores = _processor(), os.cpu_count()
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    system = f"{platform.system()} {platform.release()}"
    # Memory is rounded: a virtual machine's differs by some pages from boot to boot.
    decisive = (processor, cores, round(memory_bytes / 2**30), system)
    name = hashlib.sha256(repr(decisive).encode()).hexdigest()[:8]
    return Machine(name, processor, cores, memory_bytes, system)


def describe_versions() -> dict[str, str]:
    """Versions of Python and of the libraries that decide results and times."""
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "absent"
    return found


def read_commit() -> str | None:
    """The commit of the checkout that harness runs from, with a + when it has changes; None outside a checkout."""
    root = Path(__file__).resolve().parent.parent
    if not (root / ".git").exists():
        return None
    try:
        head = _git(root, "rev-parse", "--short=12", "HEAD")
        return head + ("+" if _git(root, "status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return None


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True).stdout.strip()


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
