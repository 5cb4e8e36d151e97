"""Whether the machine is quiet: how many processors are at work now, and waiting until hardly any is."""

from __future__ import annotations

import os
import time
from collections.abc import Callable

from harness.system import SYSTEM

QUIET_SHARE = 0.1
"""Of one processor: what a machine does that does nothing."""
LOOK_SECONDS = 1.0
SHORT_OF_CPU = 0.8
"""Processor time by time on the clock below which a fit has waited: for a processor, mostly."""
TOO_SHORT_TO_TELL = 0.2


def busy_processors(seconds: float = LOOK_SECONDS) -> float:
    """How many processors were at work over some seconds from now; by the load average where nothing better tells."""
    before = SYSTEM.processor_ticks()
    time.sleep(seconds)
    after = SYSTEM.processor_ticks()
    if before is None or after is None:
        return os.getloadavg()[0]
    busy, idle = after[0] - before[0], after[1] - before[1]
    return (os.cpu_count() or 1) * busy / max(busy + idle, 1)


def wait_until_quiet(most_seconds: float, say: Callable[[str], None]) -> bool:
    """Wait until nothing else is at work, for so long at most; whether it is quiet then. What is waited for is said."""
    deadline = time.monotonic() + most_seconds
    told = False
    while True:
        busy = busy_processors()
        if busy < QUIET_SHARE:
            return True
        if time.monotonic() > deadline:
            say(f"warning: {busy:.1f} processors are still at work after {most_seconds:g} s: going on all the same")
            return False
        if not told:
            say(f"waiting: {busy:.1f} processors are at work")
            told = True


def has_waited(wall_seconds: float | None, cpu_seconds: float | None) -> bool:
    """Whether a stretch took clearly longer by the clock than it worked; a short one is too coarse to judge."""
    if wall_seconds is None or cpu_seconds is None or wall_seconds < TOO_SHORT_TO_TELL:
        return False
    return cpu_seconds < SHORT_OF_CPU * wall_seconds
