"""Looking up what a user chose by name, in a list that stands in one place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from harness.errors import HarnessError

T = TypeVar("T")


def choose(choices: Mapping[str, T], name: str, what: str) -> T:
    """The choice of this name; HarnessError says what was chosen wrongly and lists all that can be."""
    if name not in choices:
        raise HarnessError(f"expected one of {', '.join(choices)}", culprit=f"{what} {name!r}")
    return choices[name]
