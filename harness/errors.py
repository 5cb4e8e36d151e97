"""The errors a user may meet. Each has fields: the culprit, what is wrong with it, and the next step.

Code that needs one of them reads the field; nobody takes the sentence apart again.
"""

from __future__ import annotations

from typing import Self


class HarnessError(Exception):
    """Something the user can put right; the command line prints it without a traceback and exits with 2."""

    def __init__(self, trouble: str, *, culprit: str = "", next_step: str = "") -> None:
        super().__init__(trouble)
        self.trouble = trouble
        self.culprit = culprit
        """Who or what it is about, such as "data set 'titles'"; empty where the trouble says it itself."""
        self.next_step = next_step
        """What to do now; empty where the trouble says it itself."""

    def __str__(self) -> str:
        return f"{self.complaint}: {self.next_step}" if self.next_step else self.complaint

    @property
    def complaint(self) -> str:
        """What is wrong and with what, without what to do about it."""
        return f"{self.culprit}: {self.trouble}" if self.culprit else self.trouble

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.fields())

    def fields(self) -> dict[str, str]:
        """The error in plain values, for another process: `type(error)(**error.fields())` is the same error."""
        return {"trouble": self.trouble, "culprit": self.culprit, "next_step": self.next_step}

    def about(self, culprit: str) -> Self:
        """The same error with a culprit, unless it names one already."""
        if self.culprit:
            return self
        return self._with(culprit=culprit)

    def within(self, source: str) -> Self:
        """The same error, its culprit found inside of something larger: a key of a file, a row of a table."""
        culprit = f"{source}: {self.culprit}" if self.culprit else source
        return self._with(culprit=culprit)

    def adding(self, line: str) -> Self:
        """The same error with a line more at its end: what became of things on the way, or what else to do."""
        if self.next_step:
            return self._with(next_step=f"{self.next_step}\n{line}")
        return self._with(trouble=f"{self.trouble}\n{line}")

    def _with(self, **changes: str) -> Self:
        return type(self)(**(self.fields() | changes))


def _rebuild(kind: type[HarnessError], fields: dict[str, str]) -> HarnessError:
    return kind(**fields)


class UnknownName(HarnessError):
    """A name that no plugin gives; the message carries the nearest ones."""


class AmbiguousName(HarnessError):
    """One name, several distributions; the message says how to pick one."""


class SpecError(HarnessError):
    """An experiment that cannot be run as written: the message names file, table and key."""


class DataError(HarnessError):
    """A data set that cannot be used: not to be had, malformed, or unfit for the learner it was given to."""


class MissingData(DataError):
    """A data set that is not at hand, and the command that brings it."""

    def __init__(
        self, trouble: str, *, culprit: str = "", next_step: str = "", command: str = "", addresses: str = ""
    ) -> None:
        super().__init__(trouble, culprit=culprit, next_step=next_step)
        self.command = command
        """What to type, such as "harness data fetch rcv1": short enough for a cell of a table."""
        self.addresses = addresses
        """Where its files can be had, a line each; empty where nobody knows an address."""

    def __str__(self) -> str:
        return "\n".join(filter(None, [self.complaint, self.addresses, self.next_step]))

    def fields(self) -> dict[str, str]:
        return super().fields() | {"command": self.command, "addresses": self.addresses}


class StoreError(HarnessError):
    """A results folder that cannot be read or written; what is in it is left as it was."""


class ModelError(HarnessError):
    """A model that cannot be read, written or asked: damaged, foreign, of another version, or asked the wrong thing."""


class ContractError(Exception):
    """A plugin broke its promise (wrong shape, wrong type, changed its input); becomes the record's message."""
