"""Expressions on the command line and in experiment files: `label=name(first, parameter=value)`; and kinds of splits.

Commas separate the expressions of a list: `pa,small=pa(C=0.1),sklearn.naive_bayes:MultinomialNB(alpha=0.1)`. Values are
Python literals, bare words, or estimators written as `module:Class(...)`. No text is ever executed as code.

A split into training and test rows is written as `holdout:0.1`, `stratified:0.1`, `kfold:5`, `stratified-kfold:5`,
`given`, `given:NAME`, `grouped:COLUMN`, `grouped:text:0.2` or `time:COLUMN`. `harness.data.split` chooses its rows.
"""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from harness.errors import DataError, SpecError
from harness.text import in_a_line

Params = Mapping[str, Any]


def describe_params(params: Params) -> str:
    """Return parameters as text, sorted by name; "defaults" if there are none.

    Examples
    --------
    >>> describe_params({"d": 50, "C": 0.1}), describe_params({})
    ('C=0.1, d=50', 'defaults')
    """
    parts = [f"{name}={value!r}" for name, value in sorted(params.items())]
    return ", ".join(parts) or "defaults"


_BARE_NAME = r"[\w.:+/~-]+"
_NAME = rf"""(?P<name>{_BARE_NAME}|'[^']+'|"[^"]+")"""
_HEAD = re.compile(rf"(?:(?P<label>[^=():,\s]+)\s*=\s*)?{_NAME}\s*(?:\((?P<arguments>.*)\))?\s*", re.DOTALL)
_POSITIONAL = re.compile(r"""(?:[A-Za-z./~][\w.:+/~-]*|'[^']+'|"[^"]+")\s*(\(|$)""")
"""Matches an argument without `parameter=`: a name, with or without arguments."""
_ESTIMATOR = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*\s*\(.*\)", re.DOTALL)
_WORD = re.compile(r"[^\W\d][\w.+-]*")
_WORDS = re.compile(rf"{_WORD.pattern}(?:,{_WORD.pattern})*")
_PATH = re.compile(r"[\w.~+-]*/[\w.~+/-]*")
_RANGE = re.compile(r"\d+:\d+")
MOST_NESTED, MOST_SHOWN = 50, 300
"""Limits for the depth of nested brackets, and for the characters of an invalid text in a message."""
_OPENING, _CLOSING, _QUOTES = "([{", ")]}", "'\""
_CONSTANTS = {"true": True, "false": False, "none": None, "inf": math.inf, "-inf": -math.inf}


@dataclass(frozen=True)
class Expression:
    """A parsed expression. The caller decides the meaning of positional arguments.

    Parameters
    ----------
    name : str
        Name of a learner, dataset or other object, or the path of a file.
    label : str, optional
        The text before `=`, which replaces the name in tables.
    params : Params, default={}
        Values of the arguments with a name.
    positional : tuple of str, default=()
        Texts of the arguments without a name, not parsed.
    """

    name: str
    label: str | None = None
    params: Params = field(default_factory=dict)
    positional: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return the text that `parse` reads as this expression."""
        name = _write_name(self.name)
        head = f"{self.label}={name}" if self.label else name
        arguments = [*self.positional, *(f"{key}={write_value(value)}" for key, value in self.params.items())]
        if not arguments and not _is_estimator_name(self.name):
            return head
        return f"{head}({', '.join(arguments)})"

    def __repr__(self) -> str:
        return str(self)


def _write_name(name: str) -> str:
    """Return a name as `parse` reads it, in quotes if needed."""
    if re.fullmatch(_BARE_NAME, name):
        return name
    quote = '"' if "'" in name else "'"
    return f"{quote}{name}{quote}"


def _is_estimator_name(name: str) -> bool:
    """Return whether a value with this name needs brackets; without them it would be read as a bare word."""
    return ":" in name


def split_list(text: str, mark: str = ",") -> list[str]:
    """Split a text at the commas, or another mark, outside of brackets and quotes; drop empty items.

    Parameters
    ----------
    text : str
        The list, such as the value of an option.
    mark : str, default=","
        The character between two items.

    Raises
    ------
    SpecError
        If brackets or quotes are not closed, or if brackets are nested more than `MOST_NESTED` deep.

    Examples
    --------
    >>> split_list("pa, nb(alpha=[1, 2])")
    ['pa', 'nb(alpha=[1, 2])']
    """
    items: list[str] = []
    depth, quote, start, escaped = 0, "", 0, False
    for position, character in enumerate(text):
        if quote:
            if character == quote and not escaped:
                quote = ""
            escaped = character == "\\" and not escaped
        elif character in _QUOTES:
            quote = character
        elif character in _OPENING:
            depth += 1
            if depth > MOST_NESTED:
                raise SpecError(f"brackets more than {MOST_NESTED} deep in {in_a_line(text, MOST_SHOWN)!r}")
        elif character in _CLOSING:
            depth -= 1
        elif character == mark and depth == 0:
            items.append(text[start:position])
            start = position + 1
    items.append(text[start:])
    if depth or quote:
        raise SpecError(f"unbalanced brackets or quotes in {in_a_line(text, MOST_SHOWN)!r}")
    stripped = [item.strip() for item in items]
    return [item for item in stripped if item]


def join_wrapped(texts: Sequence[str]) -> str | None:
    """Return the expressions of wrapped learners as one text, which `split_list` splits again; None without any.

    Examples
    --------
    >>> join_wrapped(["pa", "ooz(d=5)"])
    'pa, ooz(d=5)'
    """
    return ", ".join(texts) or None


def parse(text: str) -> Expression:
    """Parse a single expression.

    Parameters
    ----------
    text : str
        An expression of the form `label=name(first, parameter=value)`; label and arguments are optional.

    Raises
    ------
    SpecError
        If the text is no expression, or names a parameter twice.

    Examples
    --------
    >>> parse("small=pa(C=0.1)")
    small=pa(C=0.1)
    >>> parse("small=pa(C=0.1)").params
    {'C': 0.1}
    """
    match = _HEAD.fullmatch(text.strip())
    if not match:
        raise SpecError(f"cannot read {text!r}: expected name, name(parameter=value) or label=name(parameter=value)")
    positional: list[str] = []
    params: dict[str, Any] = {}
    for item in _joined(split_list(match["arguments"] or "")):
        name, equals, value = item.partition("=")
        parameter = name.strip()
        if not equals or not parameter.isidentifier():
            if params or not _POSITIONAL.match(item):
                raise SpecError(f"cannot read {item!r} in {text!r}: expected parameter=value")
            positional.append(item)
        elif parameter in params:
            raise SpecError(f"parameter {parameter!r} is given twice in {text!r}")
        else:
            params[parameter] = parse_value(value.strip())
    return Expression(match["name"].strip(_QUOTES), match["label"], params, tuple(positional))


def _joined(items: list[str]) -> list[str]:
    """Return the arguments, with a bare word joined to a word before it: `features=a,b` is one argument."""
    joined: list[str] = []
    for item in items:
        name, _, given = joined[-1].partition("=") if joined else ("", "", "")
        goes_on = _WORD.fullmatch(item) and _WORDS.fullmatch(given.strip()) and given.strip().lower() not in _CONSTANTS
        if goes_on:
            joined[-1] = f"{name}={given.strip()},{item}"
        else:
            joined.append(item)
    return joined


def is_estimator(text: str) -> bool:
    """Return whether a text has the form of an estimator, `module:Class(...)`."""
    return bool(_ESTIMATOR.fullmatch(text))


def parse_value(text: str) -> Any:
    """Parse the value of a parameter.

    Parameters
    ----------
    text : str
        A Python literal, true, false, none, inf, an estimator, a bare word, or a path. Lists and tuples may contain any
        of these.

    Raises
    ------
    SpecError
        If the text has none of these forms.

    Examples
    --------
    >>> parse_value("0.1"), parse_value("TRUE"), parse_value("words"), parse_value("[1, inf]")
    (0.1, True, 'words', [1, inf])
    """
    if text.lower() in _CONSTANTS:
        return _CONSTANTS[text.lower()]
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        pass  # no Python literal
    if text.startswith("[") and text.endswith("]"):
        return [parse_value(item) for item in split_list(text[1:-1])]
    if text.startswith("(") and text.endswith(")") and "," in text:
        return tuple(parse_value(item) for item in split_list(text[1:-1]))
    if is_estimator(text):
        return parse(text)
    if any(pattern.fullmatch(text) for pattern in (_WORDS, _PATH, _RANGE)):
        return text
    raise SpecError(f"cannot read the value {text!r}: expected a Python literal, a bare word or a path")


def write_value(value: Any) -> str:
    """Return a value as a text that `parse_value` reads.

    Parameters
    ----------
    value : object
        A value that `parse_value` can return, or a list of such values.

    Examples
    --------
    >>> write_value([0.1, "words", parse("pa(C=1)")])
    "[0.1, 'words', pa(C=1)]"
    """
    if isinstance(value, list):
        return f"[{', '.join(map(write_value, value))}]"
    return str(value) if isinstance(value, Expression) else repr(value)


SplitKind = Literal["holdout", "stratified", "kfold", "stratified-kfold", "given", "grouped", "time"]
SHARES = ("holdout", "stratified")
FOLDS = ("kfold", "stratified-kfold")
COLUMNS = ("grouped", "time")
TEXT = "text"
"""Used in place of a column of `grouped`: rows with equal texts stay together."""
SHARE = 0.1
"""Default share of test rows for splits by column."""
ALLOWED = (
    "'holdout:SHARE' or 'stratified:SHARE' with 0 < SHARE < 1, 'kfold:K' or 'stratified-kfold:K' with K of 2 or more, "
    "'given' / 'given:NAME' for a split of the dataset, 'grouped:COLUMN', 'grouped:text' or 'time:COLUMN', "
    "each optionally with a share, as in 'grouped:text:0.2'"
)
ONE_LABEL = "needs one label a row: use holdout:SHARE or kfold:K for multi-label data"
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
        brought = ", ".join(f"{self.kind}:{name}" for name in known)
        way = f"it has {brought}" if brought else f'for a table set it, as in "titles.csv({option}={self.name})"'
        raise DataError(trouble, next_step=way)

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
        known = ", ".join(f"given:{name}" for name in given) or "none, use holdout:SHARE"
        if not self.name and given:
            raise DataError(f"the dataset has {len(given)} splits: choose one of {known}")
        raise DataError(f"the dataset has no split {self.name or 'given'!r}; it has: {known}")

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
    >>> parse_split("grouped:text:0.2")
    Split(kind='grouped', share=0.2, folds=0, name='text')
    """
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


def _read_share(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
