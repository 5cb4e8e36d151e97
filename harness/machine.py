"""What the numbers were measured on: processor, memory, system, versions, commit. No host or user name."""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from harness.system import SYSTEM
from harness.wording import counted, in_a_line

LIBRARIES = ("manyclass-harness", "numpy", "scipy", "scikit-learn", "numba")
MOST_LETTERS = 200
"""Of a name that a file gives."""


@dataclass(frozen=True)
class Machine:
    """What times were measured on; all but the id may be unknown, as of a machine that nobody wrote down."""

    id: str
    processor: str = ""
    cores: int | None = None
    memory_bytes: int | None = None
    system: str = ""

    def __str__(self) -> str:
        cores = counted(self.cores or "?", "core")
        return f"{self.processor or 'unknown processor'}, {cores} ({self.id})"


def describe_machine() -> Machine:
    """The machine's facts and an id made of them: two records with one id were timed on alike machines."""
    processor, cores = _processor_name(), os.cpu_count()
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    system = f"{platform.system()} {platform.release()}"
    # Memory is rounded: a virtual machine's differs by some pages from boot to boot.
    decisive = (processor, cores, round(memory_bytes / 2**30), system)
    known_by = hashlib.sha256(repr(decisive).encode()).hexdigest()[:8]
    return Machine(known_by, processor, cores, memory_bytes, system)


def read_machine(facts: object) -> Machine | None:
    """The machine that a file tells of; facts that are not what they should be are taken for unknown."""
    if not isinstance(facts, dict) or not isinstance(facts.get("id"), str):
        return None
    cores, memory_bytes = facts.get("cores"), facts.get("memory_bytes")
    return Machine(
        id=in_a_line(facts["id"], MOST_LETTERS),
        processor=in_a_line(str(facts.get("processor") or ""), MOST_LETTERS),
        cores=cores if isinstance(cores, int) else None,
        memory_bytes=memory_bytes if isinstance(memory_bytes, int) else None,
        system=in_a_line(str(facts.get("system") or ""), MOST_LETTERS),
    )


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
        changes = _git(root, "status", "--porcelain", "--untracked-files=no")
        return f"{head}+" if changes else head
    except (OSError, subprocess.SubprocessError):
        return None


def _git(root: Path, *words: str) -> str:
    return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=True).stdout.strip()


def _processor_name() -> str:
    return SYSTEM.processor_name() or platform.processor() or platform.machine()
