"""What the operating system is asked for: processes, memory, clocks. Linux has all of it, other POSIX systems less.

`SYSTEM` is the one place that chooses. Setting HARNESS_SYSTEM=posix asks for the plain version on Linux too, which is
how it is tested.
"""

from __future__ import annotations

import os
import sys

from harness.system import linux, posix
from harness.system.asking import System

SYSTEM_VARIABLE = "HARNESS_SYSTEM"


def choose_system(platform: str, wanted: str | None) -> System:
    """The version for a platform, unless the plain one is wanted."""
    if platform == "linux" and wanted != posix.NAME:
        return linux
    return posix


SYSTEM = choose_system(sys.platform, os.environ.get(SYSTEM_VARIABLE))

__all__ = ["SYSTEM", "System", "choose_system"]
