"""What a check is: a name and a call that raises where a promise is broken."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

PREFIX = "check_"


@dataclass(frozen=True)
class Check:
    """One named check; calling it raises where the promise is broken."""

    name: str
    run: Callable[[], None]

    def __str__(self) -> str:
        return self.name

    def __call__(self) -> None:
        with contextlib.suppress(NotApplicable):
            self.run()


class NotApplicable(Exception):  # it is no error
    """The check asks about something that this plugin does not claim."""


class CheckFailed(AssertionError):
    """A promise of the contract that was not kept; the message says which and what to do."""


def require(condition: bool, message: str) -> None:
    """Raise CheckFailed unless the condition holds."""
    if not condition:
        raise CheckFailed(message)


def checks_in(module: ModuleType, spec: Any) -> list[Check]:
    """The functions of a module whose names say that they check, each bound to what it checks."""
    functions = [(name, function) for name, function in vars(module).items() if name.startswith(PREFIX)]
    return [Check(name.removeprefix(PREFIX), partial(function, spec)) for name, function in functions]
