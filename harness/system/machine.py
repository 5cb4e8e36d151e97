"""The machine on which results are measured: its description, its present load, and waiting until it is idle.

Descriptions are published with results. They contain no host name and no user name.
"""

from __future__ import annotations

import hashlib
import os
import platform
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from harness.system import SYSTEM
from harness.text import as_warning, counted, in_a_line

LIBRARIES = ("manyclass-harness", "numpy", "scipy", "scikit-learn", "numba")
MOST_LETTERS = 200
"""Longer texts in a description are cut, since a file may contain anything."""


@dataclass(frozen=True)
class Machine:
    """A machine on which times were measured.

    Parameters
    ----------
    id : str
        An identifier that machines with the same hardware and system share.
    processor : str
        The model name of the processor; empty if unknown.
    cores : int or None
        The number of logical processors.
    memory_bytes : int or None
        The size of the memory.
    system : str
        The name and the release of the operating system; empty if unknown.
    """

    id: str
    processor: str = ""
    cores: int | None = None
    memory_bytes: int | None = None
    system: str = ""

    def __str__(self) -> str:
        cores = counted(self.cores or "?", "core")
        return f"{self.processor or 'unknown processor'}, {cores} ({self.id})"


def describe_machine() -> Machine:
    """Return the description of this machine.

    The id is a digest of the processor, the number of cores, the memory in GiB and the system. Equal machines therefore
    have the same id.
    """
    processor, cores = _processor_name(), os.cpu_count()
    memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    system = f"{platform.system()} {platform.release()}"
    # The memory is rounded: in a virtual machine it changes by some pages from boot to boot.
    decisive = (processor, cores, round(memory_bytes / 2**30), system)
    known_by = hashlib.sha256(repr(decisive).encode()).hexdigest()[:8]
    return Machine(known_by, processor, cores, memory_bytes, system)


def read_machine(facts: object) -> Machine | None:
    """Return the machine that the content of a JSON file describes.

    Parameters
    ----------
    facts : object
        The fields of `Machine` by name. A field of a wrong type counts as unknown.

    Returns
    -------
    Machine or None
        None if `facts` is not a dict, or has no id.

    Examples
    --------
    >>> read_machine({"id": "1f2e3d4c", "cores": "many"})
    Machine(id='1f2e3d4c', processor='', cores=None, memory_bytes=None, system='')
    """
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
    """Return the versions of Python and of the libraries that affect results and times; "absent" for a missing one."""
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            found[name] = "absent"
    return found


def read_commit() -> str | None:
    """Return the commit of the checkout that harness is imported from, followed by "+" if files have changed since.

    Returns
    -------
    str or None
        None if harness is not imported from a checkout, or if git fails.
    """
    root = Path(__file__).resolve().parents[2]
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


IDLE_SHARE = 0.1
"""A machine is idle if it uses less than this share of one processor."""
LOOK_SECONDS = 1.0
SHORT_OF_CPU = 0.8
"""If CPU time is less than this share of wall time, the fit has waited, usually for a processor."""
TOO_SHORT_TO_TELL = 0.2
"""Wall times below this number of seconds are not judged."""


def busy_processors(seconds: float = LOOK_SECONDS) -> float:
    """Measure for some seconds how many processors are busy on average.

    Parameters
    ----------
    seconds : float
        How long to measure. The function returns after this time.

    Returns
    -------
    float
        The average number of busy processors. Systems that do not count ticks return the load average of one minute.
    """
    before = SYSTEM.processor_ticks()
    time.sleep(seconds)
    after = SYSTEM.processor_ticks()
    if before is None or after is None:
        return os.getloadavg()[0]
    busy, idle = after[0] - before[0], after[1] - before[1]
    return (os.cpu_count() or 1) * busy / max(busy + idle, 1)


def wait_until_idle(most_seconds: float, say: Callable[[str], None]) -> bool:
    """Wait until less than `IDLE_SHARE` of one processor is busy.

    Parameters
    ----------
    most_seconds : float
        The longest time to wait.
    say : callable
        Called with a line of text when the function starts to wait, and with a warning when the time is over.

    Returns
    -------
    bool
        False if the machine was still busy at the end.
    """
    deadline = time.monotonic() + most_seconds
    has_warned = False
    while True:
        busy = busy_processors()
        if busy < IDLE_SHARE:
            return True
        if time.monotonic() > deadline:
            say(as_warning(f"the machine is still busy after {most_seconds:g} s ({busy:.1f} processors at work)."))
            return False
        if not has_warned:
            say(f"waiting: {busy:.1f} processors are at work")
            has_warned = True


def has_waited(wall_seconds: float | None, cpu_seconds: float | None) -> bool:
    """Return whether wall time clearly exceeds CPU time, as it does on a busy machine.

    Unknown times and wall times under `TOO_SHORT_TO_TELL` seconds return False.

    Examples
    --------
    >>> has_waited(wall_seconds=10.0, cpu_seconds=6.0)
    True
    >>> has_waited(wall_seconds=10.0, cpu_seconds=9.5)
    False
    """
    if wall_seconds is None or cpu_seconds is None or wall_seconds < TOO_SHORT_TO_TELL:
        return False
    return cpu_seconds < SHORT_OF_CPU * wall_seconds
