"""Which columns hold text, label, split and id: as told, or as their names make plain."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.errors import DataError
from harness_files.places import option

if TYPE_CHECKING:
    from harness_files.rows import Table

TEXT = (
    *("text", "texts", "document", "content", "body", "title", "name", "description", "sentence", "message"),
    *("abstract", "query", "question", "utterance", "review", "comment", "term", "product", "job_title"),
)
LABEL = (
    *("label", "labels", "class", "classes", "category", "categories", "target", "y", "topic", "topics", "intent"),
    *("code", "tag", "tags", "class_name", "class_label"),
)
SPLIT = ("split", "part", "subset", "partition")
PLAIN = frozenset([*TEXT, *LABEL, *SPLIT])
"""Names that tell what a column holds."""
VAGUE = frozenset(["name", "y"])
"""Names that tell it alone, but not at the end of a longer name: a file name is no text to classify."""


@dataclass(frozen=True)
class Chosen:
    """Positions of columns. `columns` has them in the order in which cells are read, from texts to label."""

    text: tuple[int, ...]
    label: int
    split: int | None
    id: int | None
    told: str
    group: tuple[int, ...] = ()
    time: tuple[int, ...] = ()

    @property
    def columns(self) -> list[int]:
        columns = list(self.text)
        if self.split is not None:
            columns.append(self.split)
        columns += [*self.group, *self.time]
        if self.id is not None:
            columns.append(self.id)
        return [*columns, self.label]

    @property
    def parting(self) -> slice:
        """Where among the cells those of group and time are."""
        begin = len(self.text) + (self.split is not None)
        return slice(begin, begin + len(self.group) + len(self.time))


def looks_like_names(cells: Sequence[str], asked: Mapping[str, Any]) -> bool:
    """Whether a first line holds names of columns: one that was asked for, or one that is plain."""
    wanted = set()
    for value in asked.values():
        if isinstance(value, str):
            wanted.update([value, *re.split(r"\s*[+,]\s*", value)])
    names = set(map(str.strip, cells))
    known = {*map(_plain_name, names), *map(_last_word, names)}
    return bool(names & wanted or known & PLAIN)


def choose_columns(table: Table, asked: Mapping[str, Any]) -> Chosen:
    """The columns to read; DataError lists what there is and says how to name them."""
    text, label = _text_and_label(table, asked)
    if len({*text, label}) <= len(text):
        raise DataError(f"{table.name}: the column {table.columns[label]!r} cannot be both text and label")
    split = _place(table, "split", asked["split"])
    if split is None:
        split = _guess(table.columns, SPLIT, (*text, label))
    texts = " and ".join(repr(table.columns[place]) for place in text)
    told = f"text from {texts}, label from {table.columns[label]!r}"
    if split is not None:
        told += f", split from {table.columns[split]!r}"
    group = _places(table, "group", asked.get("group"))
    time = _places(table, "time", asked.get("time"))
    return Chosen(text, label, split, _place(table, "id", asked["id"]), told, group, time)


def choose_numbers(table: Table, asked: Mapping[str, Any]) -> Chosen:
    """The columns of numbers, and the label's: those named, else all that nothing else is read from and that are not
    to be left out."""
    label = _place(table, "label", asked["label"])
    if label is None:
        label = _guess(table.columns, LABEL, ())
    if label is None:
        flag = option("label", "COLUMN", table.name)
        raise DataError(f"{table.name}: which column holds the label? {_listed(table)}; say it with {flag}")
    split = _place(table, "split", asked.get("split"))
    group = _places(table, "group", asked.get("group"))
    time = _places(table, "time", asked.get("time"))
    found = _place(table, "id", asked.get("id"))
    if asked["features"] is None:
        taken = (label, split, found, *group, *time)
        left_out = asked.get("left_out", ())
        features = [place for place, name in enumerate(table.columns) if place not in taken and name not in left_out]
    else:
        features = list(_features(table, asked["features"]))
    if label in features:
        raise DataError(f"{table.name}: the column {table.columns[label]!r} cannot be both feature and label")
    if not features:
        way = option("text", "COLUMN", table.name)
        raise DataError(
            f"{table.name}: no column of numbers beside the label; {_listed(table)}; texts are read by {way}"
        )
    told = f"label from {table.columns[label]!r}"
    if split is not None:
        told += f", split from {table.columns[split]!r}"
    return Chosen(tuple(features), label, split, found, told, group, time)


def _features(table: Table, asked: Any) -> Iterator[int]:
    """The columns named as `'a, b'`."""
    names = [asked]
    if isinstance(asked, str) and asked not in table.columns:
        names = asked.split(",")
    for name in names:
        yield from _places(table, "features", name)


def _text_and_label(table: Table, asked: Mapping[str, Any]) -> tuple[tuple[int, ...], int]:
    """As asked for, else as their names tell; of two columns the one is told by the other."""
    label = _place(table, "label", asked["label"])
    if label is None:
        label = _guess(table.columns, LABEL, ())
    text = _places(table, "text", asked["text"])
    if not text:
        taken = () if label is None else (label,)
        guess = _guess(table.columns, TEXT, taken)
        text = () if guess is None else (guess,)
    if len(table.columns) == 2:
        if label is None and text:
            label = 1 - text[0]
        elif label is not None and not text:
            text = (1 - label,)
    if not text or label is None:
        raise _undecided(table, text, label)
    return text, label


def _guess(names: Sequence[str], plain: tuple[str, ...], taken: tuple[int, ...]) -> int | None:
    """The one column whose name makes it plain; of several the one that has the plainest name of all.

    Where no name does, its last word may: "Job Title" is a title, "SOC code" a code.
    """
    for read in (_plain_name, _last_word):
        found: dict[str, list[int]] = {}
        for place, name in enumerate(names):
            if place not in taken:
                found.setdefault(read(name), []).append(place)
        known = [place for name in plain for place in found.get(name, ())]
        if len(known) == 1 or len(found.get(plain[0], ())) == 1:
            return known[0]
        if known:
            return None
    return None


def _plain_name(name: str) -> str:
    """A name in small letters, its words joined as in job_title: of "Job Title", "job-title" and "jobTitle"."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name)
    return re.sub(r"[\W_]+", "_", parted).strip("_").lower()


def _last_word(name: str) -> str:
    """The last word of a name, unless it tells nothing there."""
    word = _plain_name(name).rpartition("_")[2]
    return "" if word in VAGUE else word


def _places(table: Table, what: str, value: Any) -> tuple[int, ...]:
    """One column, or several as 'title+body'."""
    if value is None:
        return ()
    names = [value]
    if isinstance(value, list | tuple):
        names = list(value)
    elif isinstance(value, str) and value not in table.columns:
        names = value.split("+")
    places = []
    for name in names:
        place = _place(table, what, name)
        if place is not None:
            places.append(place)
    return tuple(places)


def _place(table: Table, what: str, value: Any) -> int | None:
    """A column by its name, or by its number from 1 on."""
    if value is None:
        return None
    names = list(map(str.strip, table.columns))
    if str(value).strip() in names:
        return names.index(str(value).strip())
    if isinstance(value, int) and 1 <= value <= len(names):
        return value - 1
    raise DataError(f"{table.name}: there is no column {value!r} for {what}; {_listed(table)}")


def _undecided(table: Table, text: tuple[int, ...], label: int | None) -> DataError:
    if len(table.columns) == 1:
        way = option("delimiter", ";", table.name)
        expected = f"expected text and label; {way} sets the mark between columns"
        return DataError(f"{table.name} has a single column, {table.columns[0]!r}: {expected}")
    unknown = []
    if not text:
        unknown.append("text")
    if label is None:
        unknown.append("label")
    flags = " ".join(option(what, "COLUMN", table.name) for what in unknown)
    is_delimited = table.kind.startswith(("CSV", "TSV"))
    doubt = ", and header=false if the first line holds no names" if is_delimited else ""
    return DataError(
        f"{table.name}: which column holds the {' and which the '.join(unknown)}? {_listed(table)}; "
        f"say it with {flags}{doubt}"
    )


def _listed(table: Table) -> str:
    shown = list(map(repr, table.columns[:20]))
    if len(table.columns) > 20:
        shown.append("...")
    return f"columns: {', '.join(shown)}"
