"""Pages of results: `make_page` collects the content of a page from the results of one or more folders."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from harness.errors import HarnessError, UnknownName
from harness.host.catalog import find_metric
from harness.host.contract import MetricSpec
from harness.report.page import Page, Part, PartRequest, make_part

if TYPE_CHECKING:
    from harness.report.tables.render import Grid
    from harness.results.results import Results


def make_page(
    several: Sequence[Results], *, title: str = "Results", test: str | None = None, mixed_machines: bool = False
) -> Page:
    """Return a page with a part for each of several results, between which the reader chooses.

    Parameters
    ----------
    several : sequence of Results
        The results of each part. Results without records are left out.
    title : str, default="Results"
        Title of the page.
    test : str, optional
        Statistical test; by default that of each experiment.
    mixed_machines : bool, default=False
        True to show times even if machines or thread counts differ.

    Raises
    ------
    HarnessError
        If there are no records.
    """
    parts = []
    for part_title, results in zip(_title_parts(several), several, strict=True):
        if results.records:
            parts.append(_part_of(results, part_title, test or results.test, mixed_machines))
    if not parts:
        raise HarnessError("no records to make a page of", next_step="`harness run ... --out FOLDER` writes some.")
    return Page(tuple(parts), title=title)


def _title_parts(several: Sequence[Results]) -> list[str]:
    """Return titles of the parts: their folders, relative to the folder that they share."""
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
    offered, unknown = offered_metrics(results)
    notes = list(results.incompatible)
    if unknown:
        notes.append(f"Left out, since no installed plugin has them: {', '.join(unknown)}.")
    lines = results.lines()
    return make_part(
        PartRequest(
            title=title,
            lines=lines,
            shown=shown,
            more=[metric for metric in offered if metric not in shown],
            machines=results.machines,
            answers=results.saved_ranks.answers_of(lines, skip_missing=True),
            published=_published_of(results),
            notes=notes,
            test=test,
            hits=results.row_hits(lines, [*shown, *offered], test),
            folder=results.place(),
            mixed_machines=mixed_machines,
        )
    )


def offered_metrics(results: Results) -> tuple[list[MetricSpec], list[str]]:
    """Return the metrics of all trials, and the names of those that no plugin knows."""
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
    """Return the published numbers of the experiment in a list; empty if there are none."""
    try:
        return [results.against()]
    except HarnessError:
        return []
