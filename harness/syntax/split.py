"""Kinds of splits into training and test rows, parsed from text.

The forms are `holdout:0.1`, `stratified:0.1`, `kfold:5`, `stratified-kfold:5`, `given`, `given:NAME`, `grouped:COLUMN`,
`grouped:text:0.2` and `time:COLUMN`. `harness.data.split` chooses the rows for a seed.

Tuning once for all trials needs two more. `holdout:0.1:reserve:0.2` never tests on a reserved fifth of the rows.
`tuning:0.2` splits that fifth, and `tuning:NAME` the training part of a split of the dataset.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Literal, cast

from harness.errors import DataError, SpecError

SplitKind = Literal["holdout", "stratified", "kfold", "stratified-kfold", "given", "grouped", "time", "tuning"]
SHARES = ("holdout", "stratified")
FOLDS = ("kfold", "stratified-kfold")
COLUMNS = ("grouped", "time")
TEXT = "text"
"""Used in place of a column of `grouped`: rows with equal texts stay together."""
TUNING: Literal["tuning"] = "tuning"
RESERVE = ":reserve:"
"""Separates the share of reserved rows from the split that keeps them for training."""
SHARE = 0.1
"""Default share of test rows for splits by column, and the share of the rows of a tuning split."""
ALLOWED = (
    "'holdout:SHARE' or 'stratified:SHARE' with 0 < SHARE < 1, 'kfold:K' or 'stratified-kfold:K' with K of 2 or more, "
    "'given' / 'given:NAME' for a split of the dataset, 'grouped:COLUMN', 'grouped:text' or 'time:COLUMN', "
    "each optionally with a share, as in 'grouped:text:0.2'"
)
ONE_LABEL = "needs one label a row. Use holdout:SHARE or kfold:K for multi-label data."
"""The message for a stratified split of multi-label data."""


@dataclass(frozen=True)
class Split:
    """A kind of split with its parameters. Fields that the kind does not use have their defaults."""

    kind: SplitKind
    share: float = 0.0
    """Share of test rows."""
    folds: int = 0
    """Number of folds; 0 for other kinds."""
    name: str = ""
    """The column of a split by column; or the name of a split that the dataset provides, empty for its only one."""
    reserve: float = 0.0
    """Share of the rows that are reserved for tuning: never tested on, or the only rows of a tuning split."""

    def __str__(self) -> str:
        if self.kind == TUNING:
            return f"{TUNING}:{self.name or self.reserve}"
        if self.reserve:
            return f"{replace(self, reserve=0.0)}{RESERVE}{self.reserve}"
        if self.kind in SHARES:
            return f"{self.kind}:{self.share}"
        if self.kind in FOLDS:
            return f"{self.kind}:{self.folds}"
        if self.kind in COLUMNS:
            return f"{self.kind}:{self.name}:{self.share}"
        return f"given:{self.name}" if self.name else "given"

    @property
    def by_column(self) -> bool:
        """True if rows with equal values stay together. The share of test rows is then approximate."""
        return self.kind in COLUMNS

    @property
    def by_text(self) -> bool:
        """True if rows with equal texts stay together."""
        return self.kind == "grouped" and self.name == TEXT

    @property
    def is_stratified(self) -> bool:
        """True if the split uses the labels, and therefore needs exactly one label per row."""
        return self.kind in ("stratified", "stratified-kfold")

    def for_tuning(self, share: float) -> tuple[Split, Split]:
        """Return the split for tuning once, and the split of the trials, which share no test row.

        Parameters
        ----------
        share : float
            Share of the rows to reserve, unless the dataset provides the split: tuning then has its training part.

        Raises
        ------
        DataError
            If the split cannot reserve rows.

        Examples
        --------
        >>> [str(split) for split in parse_split("holdout:0.1").for_tuning(0.2)]
        ['tuning:0.2', 'holdout:0.1:reserve:0.2']
        >>> [str(split) for split in parse_split("given:official").for_tuning(0.2)]
        ['tuning:official', 'given:official']
        """
        if self.kind == "given":
            return Split(TUNING, share=SHARE, name=self.name), self
        if self.kind != "holdout":
            raise DataError(
                f"split '{self}' cannot reserve rows for tuning once",
                next_step="Use holdout:SHARE or a split of the dataset, or tune in every trial: leave out `once`.",
            )
        if share >= 1 - self.share:
            raise DataError(
                f"split '{self}' leaves no rows for training if {share:g} of them are reserved for tuning once",
                next_step="Choose a smaller share for `once`.",
            )
        return Split(TUNING, share=SHARE, reserve=share), replace(self, reserve=share)

    def check_columns(self, groups: Collection[str], times: Collection[str], has_texts: bool) -> None:
        """Raise DataError if the dataset lacks the column of this split.

        Parameters
        ----------
        groups, times : collection of str
            The columns that the dataset has for `grouped` and for `time`.
        has_texts : bool
            Whether the dataset has texts, which `grouped:text` needs.
        """
        if not self.by_column or (self.by_text and has_texts):
            return
        known, option = (groups, "group") if self.kind == "grouped" else (times, "time")
        if self.name in known:
            return
        trouble = f"split '{self}': the dataset has no column {self.name!r} for splits"
        if self.by_text:
            trouble = f"split '{self}': the dataset has no texts"
        named = ", ".join(f"{self.kind}:{name}" for name in known)
        advice = f"It has {named}." if named else f'For a table set it, as in "titles.csv({option}={self.name})".'
        raise DataError(trouble, next_step=advice)

    def settle(self, given: Mapping[str, object]) -> Split:
        """Return the split with its full name: `given` becomes `given:NAME` if the dataset has one split.

        Parameters
        ----------
        given : mapping of str to object
            The splits that the dataset provides, by name.

        Raises
        ------
        DataError
            If the dataset has no split of this name, or several splits and none is named.

        Examples
        --------
        >>> str(parse_split("given").settle({"official": (60, 40)}))
        'given:official'
        """
        if self.kind != "given":
            return self
        return replace(self, name=self.given_name(given))

    def given_name(self, given: Mapping[str, object]) -> str:
        """Return the name of a split that the dataset provides; raise DataError if it is missing or ambiguous."""
        if not self.name and len(given) == 1:
            return next(iter(given))
        if self.name in given:
            return self.name
        splits = ", ".join(f"given:{name}" for name in given)
        if not self.name and given:
            raise DataError(f"the dataset has {len(given)} splits. Choose one of {splits}.")
        known = f"It has {splits}." if splits else "Use holdout:SHARE."
        raise DataError(f"the dataset has no split {self.name or 'given'!r}. {known}")

    def sizes(self, rows: int, given: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
        """Return the numbers of training and test rows; for folds, the smallest of each.

        Parameters
        ----------
        rows : int
            The number of rows in the dataset.
        given : mapping
            The sizes of the splits that the dataset provides, by name.

        Raises
        ------
        DataError
            If a part would be empty.

        Examples
        --------
        >>> parse_split("kfold:3").sizes(10, {})
        (6, 3)
        """
        if self.kind == TUNING:
            pool = given[self.given_name(given)][0] if self.name else round(self.reserve * rows)
            test = round(self.share * pool)
            train = pool - test
        elif self.kind == "given":
            train, test = given[self.given_name(given)]
        elif self.folds:
            largest_fold = -(-rows // self.folds)
            train, test = rows - largest_fold, rows // self.folds
        else:
            test = round(self.share * rows)
            train = rows - test
        if min(train, test) < 1:
            empty = "test" if test < 1 else "training"
            other = "number of folds" if self.folds else "share"
            raise DataError(f"split '{self}' of {rows} rows leaves the {empty} part empty. Choose another {other}.")
        return train, test


def parse_split(text: str) -> Split:
    """Parse the text of a split.

    Parameters
    ----------
    text : str
        One of the forms in the description of this module.

    Raises
    ------
    SpecError
        If the text describes no split.

    Examples
    --------
    >>> split = parse_split("grouped:text:0.2")
    >>> split.kind, split.name, split.share
    ('grouped', 'text', 0.2)
    """
    if RESERVE in text or text.startswith(f"{TUNING}:"):
        return _read_stage(text)
    kind, _, detail = text.partition(":")
    if kind == "given":
        return Split("given", name=detail)
    if kind in FOLDS and detail.isascii() and detail.isdigit() and int(detail) >= 2:
        return Split(cast(SplitKind, kind), folds=int(detail))
    if kind in SHARES:
        share = _read_share(detail)
        if 0 < share < 1:
            return Split(cast(SplitKind, kind), share=share)
    if kind in COLUMNS and detail:
        column, _, tail = detail.rpartition(":")
        share = _read_share(tail)
        if column and 0 < share < 1:
            return Split(cast(SplitKind, kind), share=share, name=column)
        return Split(cast(SplitKind, kind), share=SHARE, name=detail)
    raise SpecError(f"split {text!r} is unknown: expected {ALLOWED}")


def _read_stage(text: str) -> Split:
    """Parse the split of a stage of an experiment that tunes once."""
    base, reserves, reserved = text.partition(RESERVE)
    if not reserves:
        detail = text.partition(":")[2]
        share = _read_share(detail)
        return Split(TUNING, share=SHARE, reserve=share) if 0 < share < 1 else Split(TUNING, share=SHARE, name=detail)
    split, reserve = parse_split(base), _read_share(reserved)
    if split.kind != "holdout" or not 0 < reserve < 1 - split.share:
        raise SpecError(f"split {text!r} is unknown: expected holdout:SHARE{RESERVE}SHARE, together less than 1")
    return replace(split, reserve=reserve)


def _read_share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
