"""Where trials run, as `--on` names it: a cluster of this machine's own, or one that is there already."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from harness.errors import SpecError

EXPECTED = "expected local:NUMBER, tcp://HOST:PORT, tls://HOST:PORT or scheduler-file:PATH"
MOST_LOCAL = 1_000
_ADDRESS = re.compile(r"(tcp|tls|ucx|ws|wss)://[^\s/]+")


@dataclass(frozen=True)
class Place:
    """A cluster: started here with so many workers, or found by its scheduler's address or file."""

    kind: Literal["local", "address", "scheduler-file"]
    where: str
    workers: int = 0

    def __str__(self) -> str:
        return self.where


def parse_place(text: str) -> Place:
    """The cluster that a text names; SpecError where it names none."""
    text = text.strip()
    if _ADDRESS.fullmatch(text):
        return Place("address", text)
    kind, _, rest = text.partition(":")
    if kind == "scheduler-file" and rest:
        return Place("scheduler-file", rest)
    if kind == "local" and rest.isascii() and rest.isdigit() and 0 < int(rest) <= MOST_LOCAL:
        return Place("local", text, int(rest))
    raise SpecError(f"{EXPECTED} (got {text!r})")
