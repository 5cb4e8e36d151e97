"""Which columns hold text, label, split and id: as told, or as their names make plain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from harness.errors import DataError
from harness_files.places import option

if TYPE_CHECKING:
    from harness_files.rows import Table

TEXT = (
    *(
        "text",
        "texts",
        "document",
        "content",
        "body",
        "title",
        "name",
        "description",
        "sentence",
        "message",
        "abstract",
    ),
    *("query", "question", "utterance", "review", "comment", "term", "product", "job_title"),
)
LABEL = (
    *("label", "labels", "class", "classes", "category", "categories", "target", "y", "topic", "topics", "intent"),
    *("code", "tag", "tags", "class_name", "class_label"),
)
SPLIT = ("split", "part", "subset", "partition")
GUESSED: Mapping[str, tuple[str, ...]] = {"text": TEXT, "label": LABEL, "split": SPLIT}


@dataclass(frozen=True)
class Chosen:
    """Positions of columns. `columns` has them in the order in which cells are read: texts, split, id, label."""

    text: tuple[int, ...]
    label: int
    split: int | None
    id: int | None
    told: str

    @property
    def columns(self) -> list[int]:
        return [*self.text, *(place for place in (self.split, self.id) if place is not None), self.label]


def looks_like_names(cells: Sequence[str], asked: Mapping[str, Any]) -> bool:
    """Whether a first line holds names of columns: one that was asked for, or one that is plain."""
    wanted = {part for value in asked.values() if isinstance(value, str) for part in (value, *value.split("+"))}
    plain = {name for names in GUESSED.values() for name in names}
    return any(cell.strip() in wanted or cell.strip().lower() in plain for cell in cells)


def choose_columns(table: Table, asked: Mapping[str, Any]) -> Chosen:
    """The columns to read; DataError lists what there is and says how to name them."""
    names = table.columns
    label = _place(table, "label", asked["label"])
    label = _guess(names, LABEL, ()) if label is None else label
    text = _text_places(table, asked["text"])
    if not text:
        guess = _guess(names, TEXT, () if label is None else (label,))
        text = () if guess is None else (guess,)
    if len(names) == 2 and (label is None) != (not text):  # the other one is plain
        label, text = (1 - text[0], text) if label is None else (label, (1 - label,))
    if not text or label is None:
        raise _undecided(table, text, label)
    split = _place(table, "split", asked["split"])
    split = _guess(names, SPLIT, (*text, label)) if split is None else split
    used = [*text, label]
    if len(set(used)) < len(used):
        raise DataError(f"{table.name}: the column {names[label]!r} cannot be both text and label")
    told = f"text from {' and '.join(repr(names[place]) for place in text)}, label from {names[label]!r}"
    told += f", split from {names[split]!r}" if split is not None else ""
    return Chosen(text, label, split, _place(table, "id", asked["id"]), told)


def _guess(names: Sequence[str], plain: tuple[str, ...], taken: tuple[int, ...]) -> int | None:
    """The one column whose name makes it plain; of several the one that has the plainest name of all."""
    found = {name.strip().lower(): place for place, name in enumerate(names) if place not in taken}
    known = [found[name] for name in plain if name in found]
    return known[0] if len(known) == 1 or (known and plain[0] in found) else None


def _text_places(table: Table, value: Any) -> tuple[int, ...]:
    """One column, or several as 'title+body'."""
    if value is None:
        return ()
    whole = value if not isinstance(value, str) or value in table.columns else value.split("+")
    items = whole if isinstance(whole, list | tuple) else [whole]
    return tuple(place for item in items if (place := _place(table, "text", item)) is not None)


def _place(table: Table, what: str, value: Any) -> int | None:
    """A column by its name, or by its number from 1 on."""
    if value is None:
        return None
    names = [name.strip() for name in table.columns]
    if str(value).strip() in names:
        return names.index(str(value).strip())
    if isinstance(value, int) and 1 <= value <= len(names):
        return value - 1
    raise DataError(f"{table.name}: there is no column {value!r} for {what}; {_listed(table)}")


def _undecided(table: Table, text: tuple[int, ...], label: int | None) -> DataError:
    unknown = [what for what, found in (("text", text), ("label", label is not None)) if not found]
    if len(table.columns) == 1:
        way = option("delimiter", ";", table.name)
        expected = f"expected text and label; {way} sets the mark between columns"
        return DataError(f"{table.name} has a single column, {table.columns[0]!r}: {expected}")
    flags = " ".join(option(what, "COLUMN", table.name) for what in unknown)
    doubt = ", and header=false if the first line holds no names" if table.kind[:3] in ("CSV", "TSV") else ""
    return DataError(
        f"{table.name}: which column holds the {' and which the '.join(unknown)}? {_listed(table)}; "
        f"say it with {flags}{doubt}"
    )


def _listed(table: Table) -> str:
    names = [repr(name) for name in table.columns]
    return f"columns: {', '.join(names[:20])}{', ...' if len(names) > 20 else ''}"
