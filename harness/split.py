"""Splits as values: how rows are parted into training and test rows, read from text once.

`holdout:0.1`, `stratified:0.1`, `kfold:5`, `stratified-kfold:5`, `given`, `given:NAME`, `grouped:COLUMN`,
`grouped:text:0.2`, `time:COLUMN`. Which rows these are for a seed is drawn in `harness.trials.splitting`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Literal, cast

from harness.errors import DataError, SpecError

Kind = Literal["holdout", "stratified", "kfold", "stratified-kfold", "given", "grouped", "time"]
SHARES = ("holdout", "stratified")
FOLDS = ("kfold", "stratified-kfold")
COLUMNS = ("grouped", "time")
TEXT = "text"
"""What `grouped` takes in the place of a column: rows of equal texts stay together."""
SHARE = 0.1
"""Of test rows, where a split by a column says none."""
ALLOWED = (
    "'holdout:SHARE' or 'stratified:SHARE' with 0 < SHARE < 1, 'kfold:K' or 'stratified-kfold:K' with K of 2 or more, "
    "'given' / 'given:NAME' for a split that the data set brings, 'grouped:COLUMN', 'grouped:text' or 'time:COLUMN', "
    "each also with a share behind, as in 'grouped:text:0.2'"
)
ONE_LABEL = "needs one label a row: use holdout:SHARE or kfold:K for multi-label data"
"""What a stratified split is refused with."""


@dataclass(frozen=True)
class Split:
    """One way to part rows; only the field that its kind needs is set."""

    kind: Kind
    share: float = 0.0
    """Of test rows, for a hold-out."""
    folds: int = 0
    """How many trials go once through all rows, for a k-fold split; else 0."""
    name: str = ""
    """Of a split that the data set brings, where empty stands for its only one; or of the column that parts rows."""

    def __str__(self) -> str:
        if self.kind in SHARES:
            return f"{self.kind}:{self.share}"
        if self.kind in FOLDS:
            return f"{self.kind}:{self.folds}"
        if self.kind in COLUMNS:
            return f"{self.kind}:{self.name}:{self.share}"
        return f"given:{self.name}" if self.name else "given"

    @property
    def by_column(self) -> bool:
        """Whether rows that share a value stay together, so that the sizes of the parts are near what is asked for."""
        return self.kind in COLUMNS

    @property
    def by_text(self) -> bool:
        """Whether it is equal texts that stay together."""
        return self.kind == "grouped" and self.name == TEXT

    @property
    def is_stratified(self) -> bool:
        """Whether it looks at the labels, of which a row must then have one."""
        return self.kind in ("stratified", "stratified-kfold")

    def check_columns(self, groups: Collection[str], times: Collection[str], has_texts: bool) -> None:
        """DataError unless the data set has what this split parts rows by."""
        if not self.by_column or (self.by_text and has_texts):
            return
        known, option = (groups, "group") if self.kind == "grouped" else (times, "time")
        if self.name in known:
            return
        trouble = f"split '{self}': the data set brings no column {self.name!r} to part rows by"
        if self.by_text:
            trouble = f"split '{self}': the data set has no texts"
        brought = ", ".join(f"{self.kind}:{name}" for name in known)
        way = f"it brings {brought}" if brought else f'of a table name it, as in "titles.csv({option}={self.name})"'
        raise DataError(trouble, next_step=way)

    def settle(self, given: Mapping[str, object]) -> Split:
        """The split under its full name, so that `given` and `given:NAME` are one where the data set brings one."""
        if self.kind != "given":
            return self
        return replace(self, name=self.given_name(given))

    def given_name(self, given: Mapping[str, object]) -> str:
        """Which of the data set's own splits is meant; DataError where that is not to be told."""
        if not self.name and len(given) == 1:
            return next(iter(given))
        if self.name in given:
            return self.name
        known = ", ".join(f"given:{name}" for name in given) or "none, use holdout:SHARE"
        if not self.name and given:
            raise DataError(f"the data set brings {len(given)} splits: say which: {known}")
        raise DataError(f"the data set has no split {self.name or 'given'!r}; it brings: {known}")

    def sizes(self, rows: int, given: Mapping[str, tuple[int, int]]) -> tuple[int, int]:
        """How many rows train and test, without drawing it, of folds the least; DataError when a part is empty."""
        if self.kind == "given":
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
            raise DataError(f"split '{self}' of {rows} rows leaves the {empty} part empty: choose another {other}")
        return train, test


def parse_split(text: str) -> Split:
    """The split that a text names; SpecError when it names none."""
    kind, _, detail = text.partition(":")
    if kind == "given":
        return Split("given", name=detail)
    if kind in FOLDS and detail.isascii() and detail.isdigit() and int(detail) >= 2:
        return Split(cast(Kind, kind), folds=int(detail))
    if kind in SHARES:
        share = _read_share(detail)
        if 0 < share < 1:
            return Split(cast(Kind, kind), share=share)
    if kind in COLUMNS and detail:
        column, _, tail = detail.rpartition(":")
        share = _read_share(tail)
        if column and 0 < share < 1:
            return Split(cast(Kind, kind), share=share, name=column)
        return Split(cast(Kind, kind), share=SHARE, name=detail)
    raise SpecError(f"split {text!r} is unknown: expected {ALLOWED}")


def _read_share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
