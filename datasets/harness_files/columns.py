"""Choose the columns of a table for text, label, split, group, time and id: by option, or by their names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from harness.errors import DataError
from harness.sdk.reading.tables import Table, find_columns, list_columns
from harness_files.places import option

TEXT = (
    *("text", "texts", "document", "content", "body", "title", "name", "description", "sentence", "message"),
    *("abstract", "query", "question", "utterance", "review", "comment", "term", "product", "job_title"),
)
LABEL = (
    *("label", "labels", "class", "classes", "category", "categories", "target", "y", "topic", "topics", "intent"),
    *("code", "tag", "tags", "class_name", "class_label"),
)
SPLIT = ("split", "part", "subset", "partition")
KNOWN = frozenset([*TEXT, *LABEL, *SPLIT])
"""Names with a known purpose."""
VAGUE = frozenset(["name", "y"])
"""Names without a known purpose as the last word of a longer name: a file name is not a text."""


@dataclass(frozen=True)
class ColumnChoice:
    """Positions of the columns to read."""

    text: tuple[int, ...]
    """Columns of the content: texts, or features."""
    label: int
    split: int | None
    id: int | None
    summary: str
    """Description of the choice, for the user."""
    group: tuple[int, ...] = ()
    time: tuple[int, ...] = ()

    @property
    def columns(self) -> list[int]:
        """All positions in the order in which cells are read: content, split, group, time, id, label."""
        columns = list(self.text)
        if self.split is not None:
            columns.append(self.split)
        columns += [*self.group, *self.time]
        if self.id is not None:
            columns.append(self.id)
        return [*columns, self.label]

    @property
    def group_and_time(self) -> slice:
        """The positions of group and time among the cells that are read."""
        begin = len(self.text) + (self.split is not None)
        return slice(begin, begin + len(self.group) + len(self.time))


def looks_like_names(cells: Sequence[str], requested: Mapping[str, Any]) -> bool:
    """Return whether the cells of a first line are column names.

    Parameters
    ----------
    cells : sequence of str
        Cells of the first line.
    requested : mapping
        Columns set by the user, by purpose.

    Returns
    -------
    bool
        True if a cell is one of these columns, or a name with a known purpose.
    """
    wanted = set()
    for value in requested.values():
        if isinstance(value, str):
            wanted.update([value, *re.split(r"\s*[+,]\s*", value)])
    names = set(map(str.strip, cells))
    purposes = {*map(_simple_name, names), *map(_last_word, names)}
    return bool(names & wanted or purposes & KNOWN)


def choose_columns(table: Table, requested: Mapping[str, Any]) -> ColumnChoice:
    """Return the columns of a table of texts.

    Raises
    ------
    DataError
        If the columns cannot be determined. The message lists the columns and the options that choose them.
    """
    text, label = _text_and_label(table, requested)
    if label in text:
        raise DataError(f"the column {table.columns[label]!r} cannot be both text and label", culprit=table.name)
    split = _column(table, "split", requested["split"])
    if split is None:
        split = _guess(table.columns, SPLIT, (*text, label))
    texts = " and ".join(repr(table.columns[position]) for position in text)
    summary = f"text from {texts}, {_summary(table, label, split)}"
    return ColumnChoice(
        text, label, split, _column(table, "id", requested["id"]), summary, **_parting(table, requested)
    )


def choose_numbers(table: Table, requested: Mapping[str, Any]) -> ColumnChoice:
    """Return the columns of a table of numbers.

    Features are the columns named in `requested["features"]`. Without this option, they are all columns without another
    purpose that are not in `requested["left_out"]`.
    """
    label = _column(table, "label", requested["label"])
    if label is None:
        label = _guess(table.columns, LABEL, ())
    if label is None:
        flag = option("label", "COLUMN", table.name)
        raise DataError(
            f"which column holds the label? {list_columns(table.columns)}",
            culprit=table.name,
            next_step=f"Set it with {flag}",
        )
    split, row_id = _column(table, "split", requested.get("split")), _column(table, "id", requested.get("id"))
    parting = _parting(table, requested)
    taken = (label, split, row_id, *parting["group"], *parting["time"])
    features = tuple(_features(table, requested, taken))
    _check_features(table, features, label)
    return ColumnChoice(features, label, split, row_id, _summary(table, label, split), **parting)


def _summary(table: Table, label: int, split: int | None) -> str:
    summary = f"label from {table.columns[label]!r}"
    if split is not None:
        summary += f", split from {table.columns[split]!r}"
    return summary


def _parting(table: Table, requested: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    return {name: find_columns(table.name, table.columns, requested.get(name), name) for name in ("group", "time")}


def _features(table: Table, requested: Mapping[str, Any], taken: Sequence[int | None]) -> Iterator[int]:
    """Yield the columns named as `'a, b'`, or else those without another purpose."""
    named = requested["features"]
    if named is None:
        left_out = requested.get("left_out", ())
        for position, name in enumerate(table.columns):
            if position not in taken and name not in left_out:
                yield position
        return
    names = [named]
    if isinstance(named, str) and named not in table.columns:
        names = named.split(",")
    for name in names:
        yield from find_columns(table.name, table.columns, name, "features")


def _check_features(table: Table, features: Sequence[int], label: int) -> None:
    if label in features:
        raise DataError(f"the column {table.columns[label]!r} cannot be both feature and label", culprit=table.name)
    if not features:
        flag = option("text", "COLUMN", table.name)
        raise DataError(
            f"no column of numbers beside the label. {list_columns(table.columns)}",
            culprit=table.name,
            next_step=f"For a column of texts set {flag}",
        )


def _text_and_label(table: Table, requested: Mapping[str, Any]) -> tuple[tuple[int, ...], int]:
    """Return the columns set by the user, or else by their names.

    In a table of two columns, one determines the other.
    """
    label = _column(table, "label", requested["label"])
    if label is None:
        label = _guess(table.columns, LABEL, ())
    text = find_columns(table.name, table.columns, requested["text"], "text")
    if not text:
        guess = _guess(table.columns, TEXT, () if label is None else (label,))
        text = () if guess is None else (guess,)
    if len(table.columns) == 2:
        if label is None and text:
            label = 1 - text[0]
        elif label is not None and not text:
            text = (1 - label,)
    if not text or label is None:
        raise _undecided(table, text, label)
    return text, label


def _guess(names: Sequence[str], known: tuple[str, ...], taken: tuple[int, ...]) -> int | None:
    """Return the only column with a known name; of several, the one with the first of the known names.

    Without a known name, the last word counts: "Job Title" is a title, "SOC code" a code.
    """
    for simplify in (_simple_name, _last_word):
        found: dict[str, list[int]] = {}
        for position, name in enumerate(names):
            if position not in taken:
                found.setdefault(simplify(name), []).append(position)
        positions = [position for name in known for position in found.get(name, ())]
        if len(positions) == 1 or len(found.get(known[0], ())) == 1:
            return positions[0]
        if positions:
            return None
    return None


def _simple_name(name: str) -> str:
    """Return a name in lower case with underscores: job_title for "Job Title", "job-title" and "jobTitle"."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return re.sub(r"[\W_]+", "_", words).strip("_").lower()


def _last_word(name: str) -> str:
    """Return the last word of a name; empty if it has no known purpose as a last word."""
    word = _simple_name(name).rpartition("_")[2]
    return "" if word in VAGUE else word


def _column(table: Table, purpose: str, wanted: Any) -> int | None:
    """Return one column by its name, or by its number from 1."""
    if wanted is None:
        return None
    return find_columns(table.name, table.columns, [wanted], purpose)[0]


def _undecided(table: Table, text: tuple[int, ...], label: int | None) -> DataError:
    if len(table.columns) == 1:
        flag = option("delimiter", ";", table.name)
        return DataError(
            f"has a single column, {table.columns[0]!r}, expected text and label",
            culprit=table.name,
            next_step=f"Set the mark between columns with {flag}",
        )
    unknown = []
    if not text:
        unknown.append("text")
    if label is None:
        unknown.append("label")
    flags = " ".join(option(what, "COLUMN", table.name) for what in unknown)
    is_delimited = table.kind.startswith(("CSV", "TSV"))
    doubt = ", and header=false if the first line holds no names" if is_delimited else ""
    return DataError(
        f"which column holds the {' and which the '.join(unknown)}? {list_columns(table.columns)}",
        culprit=table.name,
        next_step=f"Set it with {flags}{doubt}",
    )
