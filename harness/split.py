"""Splits as values: how rows are parted into training and test rows, read from text once.

`holdout:0.1`, `stratified:0.1`, `kfold:5`, `stratified-kfold:5`, `given`, `given:NAME`. Which rows these are for a seed
is drawn in `harness.trials.splitting`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, cast

from harness.errors import DataError, SpecError

Kind = Literal["holdout", "stratified", "kfold", "stratified-kfold", "given"]
SHARES = ("holdout", "stratified")
FOLDS = ("kfold", "stratified-kfold")
ALLOWED = (
    "'holdout:SHARE' or 'stratified:SHARE' with 0 < SHARE < 1, 'kfold:K' or 'stratified-kfold:K' with K of 2 or more, "
    "or 'given' / 'given:NAME' for a split that the data set brings"
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
    """Of a split that the data set brings; empty stands for its only one."""

    def __str__(self) -> str:
        if self.kind in SHARES:
            return f"{self.kind}:{self.share}"
        if self.kind in FOLDS:
            return f"{self.kind}:{self.folds}"
        return f"given:{self.name}" if self.name else "given"

    @property
    def is_stratified(self) -> bool:
        """Whether it looks at the labels, of which a row must then have one."""
        return self.kind in ("stratified", "stratified-kfold")

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
    raise SpecError(f"split {text!r} is unknown: expected {ALLOWED}")


def _read_share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
