"""A figure of results: of lines whose times, where it shows any, compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from harness.api.reading_answers import answer_reader
from harness.errors import HarnessError
from harness.figures.drawing import Drawing
from harness.figures.kinds import make_drawing
from harness.groups import Line
from harness.metric import find_metric
from harness.tables.conditions import comparable

if TYPE_CHECKING:
    from harness.api.results import Results


def draw_lines(results: Results, lines: Sequence[Line], kind: str, metric: str | None, x: str | None) -> Drawing:
    """The figure of some lines of results, by its kind; HarnessError where there is nothing to draw."""
    catalog = results.session.catalog
    timed = [entry.spec for entry in catalog.metrics if entry.spec.timed]
    found = comparable(lines, timed, results.machines)
    try:
        return make_drawing(
            kind,
            found.lines,
            lambda name: find_metric(name, catalog).spec,
            answer_reader(results),
            metric=metric,
            x=x,
        )
    except HarnessError as error:
        if not found.told:
            raise
        raise HarnessError(f"{error} ({' '.join(found.told)})") from None
