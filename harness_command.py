"""The command `harness`, before anything of the package is imported: Ctrl-C ends in no traceback, not even then."""

from __future__ import annotations

import os
import signal

INTERRUPTED = 130


def main() -> None:
    """Import the command line and run it; it hears of Ctrl-C by itself once it is there."""
    signal.signal(signal.SIGINT, _leave)
    from harness.cli import main as run  # noqa: PLC0415 (an import that takes as long as a hand to the keyboard)

    run()


def _leave(*_: object) -> None:
    """End at once: nothing has begun that would have to be ended first."""
    os.write(2, b"interrupted\n")
    os._exit(INTERRUPTED)
