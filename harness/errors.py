"""Errors that a user can correct.

Each error has three parts: the culprit (a file, a dataset, a learner), the problem, and the next step. The command line
prints it as `error: CULPRIT: PROBLEM. NEXT STEP` without a traceback, and exits with 2. Code that needs one of the
parts reads the attribute and never parses the message.
"""

from __future__ import annotations

import errno
from typing import Self


class HarnessError(Exception):
    """An error that the user can correct.

    Parameters
    ----------
    trouble : str
        The problem.
    culprit : str
        The file, dataset, learner or key with the problem, such as "dataset 'titles'". Empty if `trouble` names it.
    next_step : str
        An instruction for the user. Empty if it follows from `trouble`.

    Examples
    --------
    >>> str(HarnessError("no column 'titel'", culprit="titles.csv", next_step="Columns: title, code."))
    "titles.csv: no column 'titel'. Columns: title, code."
    >>> str(HarnessError("nothing to draw", next_step="`harness run ... --curves` adds learning curves."))
    'nothing to draw. `harness run ... --curves` adds learning curves.'
    """

    def __init__(self, trouble: str, *, culprit: str = "", next_step: str = "") -> None:
        super().__init__(trouble)
        self.trouble = trouble
        self.culprit = culprit
        self.next_step = next_step

    def __str__(self) -> str:
        return join_sentences(self.complaint, self.next_step)

    @property
    def complaint(self) -> str:
        """The culprit and the problem, without the next step."""
        return f"{self.culprit}: {self.trouble}" if self.culprit else self.trouble

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.fields())

    def fields(self) -> dict[str, str]:
        """Return the parts of the error, to send to another process: `type(error)(**error.fields())` restores it."""
        return {"trouble": self.trouble, "culprit": self.culprit, "next_step": self.next_step}

    def about(self, culprit: str) -> Self:
        """Return the error with this culprit; an error that already has a culprit is returned unchanged.

        Parameters
        ----------
        culprit : str
            The file, dataset, learner or key with the problem.
        """
        if self.culprit:
            return self
        return self._with(culprit=culprit)

    def within(self, source: str) -> Self:
        """Return the error with `source` before its culprit, such as the file before the key.

        Parameters
        ----------
        source : str
            The place of the culprit.

        Examples
        --------
        >>> str(HarnessError("expected a number", culprit="trials").within("first.toml"))
        'first.toml: trials: expected a number'
        """
        culprit = f"{source}: {self.culprit}" if self.culprit else source
        return self._with(culprit=culprit)

    def adding(self, line: str) -> Self:
        """Return the error with one more line at its end.

        Parameters
        ----------
        line : str
            The line.
        """
        if self.next_step:
            return self._with(next_step=f"{self.next_step}\n{line}")
        return self._with(trouble=f"{self.trouble}\n{line}")

    def _with(self, **changes: str) -> Self:
        return type(self)(**(self.fields() | changes))


class UnknownName(HarnessError):
    """No plugin registers this name. The message lists similar names."""


class AmbiguousName(HarnessError):
    """Several plugins register this name. The next step explains how to select one."""


class SpecError(HarnessError):
    """An experiment or a spec has an invalid value. The culprit is the file, the table or the key."""


class DataError(HarnessError):
    """A dataset cannot be used: it is missing or malformed, or it does not fit the learner."""


class MissingData(DataError):
    """A dataset has not been fetched or imported.

    Parameters
    ----------
    command : str
        The command that provides the dataset, such as "harness data fetch rcv1". It must fit into a table cell.
    addresses : str
        The addresses of its files, one per line. Empty if unknown.
    """

    def __init__(
        self, trouble: str, *, culprit: str = "", next_step: str = "", command: str = "", addresses: str = ""
    ) -> None:
        super().__init__(trouble, culprit=culprit, next_step=next_step)
        self.command = command
        self.addresses = addresses

    def __str__(self) -> str:
        return "\n".join(filter(None, [self.complaint, self.addresses, self.next_step]))

    def fields(self) -> dict[str, str]:
        """Return the parts of the error, with command and addresses."""
        return super().fields() | {"command": self.command, "addresses": self.addresses}


class StoreError(HarnessError):
    """A results folder cannot be read or written. Its content is unchanged."""


class ModelError(HarnessError):
    """A model cannot be read, written or used."""


class ContractError(Exception):
    """A plugin violates its contract, such as by returning a wrong shape.

    It is not a `HarnessError`: the trial fails, its record has the message, and the run goes on.
    """


def join_sentences(first: str, second: str) -> str:
    """Join two parts of a message: with a colon if the second starts with a lower-case letter, else as two sentences.

    Examples
    --------
    >>> join_sentences("no column 'titel'", "Columns: title, code.")
    "no column 'titel'. Columns: title, code."
    >>> join_sentences("the file is empty", "write a header")
    'the file is empty: write a header'
    """
    if not second:
        return first
    if first.endswith(("?", ".", "!")):
        return f"{first} {second[0].upper()}{second[1:]}"
    return f"{first}: {second}" if second[0].islower() else f"{first}. {second}"


NEXT_STEPS = {
    errno.ENOSPC: "Make room there, or write to another place.",
    errno.EDQUOT: "Make room there, or write to another place.",
    errno.EROFS: "Choose a path on a file system that can be written to.",
    errno.EACCES: "Change the permissions, or choose another path.",
    errno.EPERM: "Change the permissions, or choose another path.",
    errno.ENAMETOOLONG: "Choose a shorter path; a file name has at most 255 bytes.",
    errno.ENOENT: "Check the path.",
    errno.ENOTDIR: "Check the path: one of its parts is a file.",
    errno.EISDIR: "Name a file, not a folder.",
    errno.ELOOP: "Check the path: its links lead in a circle.",
    errno.EMFILE: "Raise the limit of open files with `ulimit -n`.",
    errno.EIO: "Check the disk.",
}
"""Next steps by the number of an error of the operating system."""


def reason_of(error: Exception) -> str:
    """Return the message of an error; of the operating system's errors without number and path."""
    return (error.strerror if isinstance(error, OSError) else "") or str(error)


def next_step_after(error: Exception) -> str:
    """Return what the user can do about an error of the operating system; empty for other errors.

    Examples
    --------
    >>> next_step_after(NotADirectoryError(20, "Not a directory"))
    'Check the path: one of its parts is a file.'
    """
    return NEXT_STEPS.get(error.errno or 0, "") if isinstance(error, OSError) else ""


def _rebuild(kind: type[HarnessError], fields: dict[str, str]) -> HarnessError:
    return kind(**fields)
