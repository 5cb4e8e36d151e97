"""What a check is: a name and a call that raises where a promise is broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import TypeVar
from unittest import SkipTest

PREFIX = "check_"
Checked = TypeVar("Checked")
"""What a check is about."""


@dataclass(frozen=True)
class Check:
    """One named check: calling it raises CheckFailed, or whatever else went wrong, where the promise is broken.

    Where it asks about something that is not claimed, it raises NotApplicable, which pytest and unittest show as
    skipped.
    """

    name: str
    run: Callable[[], None]

    def __str__(self) -> str:
        return self.name

    def __call__(self) -> None:
        self.run()


class NotApplicable(SkipTest):
    """The check asks about something that this plugin does not claim; the message says what."""


class CheckFailed(AssertionError):
    """A promise of the contract that was not kept; the message says which and what to do."""


def require(condition: bool, message: str) -> None:
    """Raise CheckFailed unless the condition holds."""
    if not condition:
        raise CheckFailed(message)


def checks_in(module: ModuleType, checked: Checked) -> list[Check]:
    """The functions of a module whose names say that they check, each bound to what it checks."""
    found = []
    for name, function in vars(module).items():
        if name.startswith(PREFIX):
            found.append(Check(name.removeprefix(PREFIX), partial(function, checked)))
    return found
