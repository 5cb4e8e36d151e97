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
        text = f"{self.culprit}: {self.trouble}" if self.culprit else self.trouble
        return f"{text}: {self.next_step}" if self.next_step else text

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.fields())

    def fields(self) -> dict[str, str]:
        """The error in plain values, for another process: `type(error)(**error.fields())` is the same error."""
        return {"trouble": self.trouble, "culprit": self.culprit, "next_step": self.next_step}

    def about(self, culprit: str) -> Self:
        """The same error with a culprit, unless it names one already."""
        if self.culprit:
            return self
        return type(self)(self.trouble, culprit=culprit, next_step=self.next_step)

    def within(self, source: str) -> Self:
        """The same error, its culprit found inside of something larger: a key of a file, a row of a table."""
        culprit = f"{source}: {self.culprit}" if self.culprit else source
        return type(self)(self.trouble, culprit=culprit, next_step=self.next_step)


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


class StoreError(HarnessError):
    """A results folder that cannot be read or written; what is in it is left as it was."""


class ContractError(Exception):
    """A plugin broke its promise (wrong shape, wrong type, changed its input); becomes the record's message."""
