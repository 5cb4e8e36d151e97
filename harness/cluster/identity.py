"""What tells a machine from another, and a data home from another: two workers may share either."""

from __future__ import annotations

import hashlib
import os
import secrets
import socket
from pathlib import Path

from harness.home import data_home, not_writable

BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
HOME_MARK = ".home"


def describe_host() -> str:
    """A mark of this machine as it runs now, and not its name; containers on one machine have the same."""
    try:
        told = BOOT_ID.read_text()
    except OSError:  # not Linux
        told = socket.gethostname()
    return hashlib.sha256(told.encode()).hexdigest()[:12]


def describe_home() -> str:
    """A mark that lies in this data home: whoever reads the same one shares the same files."""
    mark = data_home() / HOME_MARK
    try:
        data_home().mkdir(parents=True, exist_ok=True)
        if not mark.exists():
            beside = mark.with_name(f"{HOME_MARK}.{secrets.token_hex(4)}")
            beside.write_text(secrets.token_hex(8))
            try:
                os.link(beside, mark)  # whoever is first decides; a link, unlike a rename, replaces nothing
            except FileExistsError:
                pass
            finally:
                beside.unlink()
        return mark.read_text()
    except OSError as error:
        raise not_writable(error) from error
