"""Results as a page: which metrics it offers, which folders it is of, and what is published of them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.api.reading_answers import answer_reader
from harness.contract import MetricSpec
from harness.errors import HarnessError, StoreError, UnknownName
from harness.figures.answers import Answers, ReadAnswers
from harness.metric import find_metric
from harness.page import Page, Part, PartRequest, make_part
from harness.record import Record
from harness.store import MACHINES, RECORDS
from harness.tables.grid import Grid

if TYPE_CHECKING:
    from harness.api.results import Results


def make_page(
    several: Sequence[Results], *, title: str = "Results", test: str = "sign", mixed_machines: bool = False
) -> Page:
    """A page with a part for each of several results, between which the reader chooses."""
    parts = []
    for part_title, results in zip(_title_parts(several), several, strict=True):
        if results.records:
            parts.append(_part_of(results, part_title, test, mixed_machines))
    if not parts:
        raise HarnessError("there are no records to make a page of", next_step="harness run")
    return Page(tuple(parts), title=title)


def _title_parts(several: Sequence[Results]) -> list[str]:
    """The folders of each part, as far as they tell parts apart: where all are is not the reader's business."""
    folders: list[Path] = []
    for results in several:
        folders += map(Path.absolute, results.folders)
    above = os.path.commonpath([folder.parent for folder in folders])
    titles = []
    for results in several:
        titles.append(", ".join(os.path.relpath(folder.absolute(), above) for folder in results.folders))
    return titles


def _part_of(results: Results, title: str, test: str, mixed_machines: bool) -> Part:
    shown = results.columns()
    offered, unknown = _offered_metrics(results)
    notes = list(results.incompatible)
    if unknown:
        notes.append(f"Left out, for no plugin at hand gives them: {', '.join(unknown)}.")
    return make_part(
        PartRequest(
            title=title,
            lines=results.lines(),
            shown=shown,
            more=[metric for metric in offered if metric not in shown],
            machines=results.machines,
            find_metric=lambda name: find_metric(name, results.session.catalog).spec,
            read_answers=_read_if_at_hand(answer_reader(results)),
            published=_published_of(results),
            notes=notes,
            test=test,
            mixed_machines=mixed_machines,
        )
    )


def _read_if_at_hand(read: ReadAnswers) -> ReadAnswers:
    """Reads what is kept beside the ranks; of a trial whose ranks or data are not there a page shows less."""

    def read_answers(record: Record) -> Answers | None:
        try:
            return read(record)
        except HarnessError:
            return None

    return read_answers


def _offered_metrics(results: Results) -> tuple[list[MetricSpec], list[str]]:
    """All metrics that any trial has a value for, and the names of those that nobody knows any more."""
    names: dict[str, None] = {}
    for record in results.records:
        for name, value in record.scores.items():
            if value is not None:
                names[name] = None
    known, unknown = [], []
    for name in names:
        try:
            known.append(find_metric(name, results.session.catalog).spec)
        except UnknownName:
            unknown.append(name)
    return known, unknown


def _published_of(results: Results) -> list[Grid]:
    """The published numbers of the experiment that was run; most were never published."""
    try:
        return [results.against()]
    except HarnessError:
        return []


def find_folders(places: Iterable[Path]) -> list[Path]:
    """The results folders at these places: each is one itself, or holds some, at any depth."""
    found: dict[Path, None] = {}
    for place in places:
        below = [place] if (place / RECORDS).exists() else _folders_below(place)
        if not below:
            raise StoreError(f"{place} is not a results folder and holds none: there is no {RECORDS} below it")
        found |= dict.fromkeys(below)
    return list(found)


def _folders_below(place: Path) -> list[Path]:
    """Folders with records and the machine that made them: a file of records alone may be another program's."""
    return sorted(path.parent for path in place.rglob(RECORDS) if (path.parent / MACHINES).exists())
