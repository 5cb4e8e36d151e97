"""A bell that rings when a child of this process ends: something that a selector can wait for, on any POSIX system."""

from __future__ import annotations

import contextlib
import signal
import socket


class Bell:
    """Rings from when it is made; a process has one at most, and what it forks takes it down."""

    def __init__(self) -> None:
        self.heard, self._rope = socket.socketpair()
        self.heard.setblocking(False)
        self._rope.setblocking(False)
        signal.set_wakeup_fd(self._rope.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # a signal that nobody handles rings no bell

    def silence(self) -> None:
        """Wait for the next ring."""
        with contextlib.suppress(BlockingIOError):
            while self.heard.recv(1 << 12):
                pass

    def take_down(self) -> None:
        """Signals are as in a process that has no bell: in a fork, and when nobody listens any more."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        self.heard.close()
        self._rope.close()
