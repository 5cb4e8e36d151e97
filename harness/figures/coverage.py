"""Lines -> panels of accuracy by coverage: how right a learner is on the share of rows that it is surest of. Pure."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from harness.figures.arithmetic import Point, series_of
from harness.figures.drawing import Panel
from harness.figures.panels import nothing_to_draw, titled_rivals
from harness.groups import Line

if TYPE_CHECKING:
    from harness.record import Record
    from harness.sdk.selective import RiskCurve

ReadRisk = Callable[["Record"], "RiskCurve | None"]
"""The risk of a trial by coverage, from what is kept beside its ranks; None where no scores are."""
PERCENTS = range(1, 101)


def coverage_panels(lines: Sequence[Line], read_risk: ReadRisk) -> list[Panel]:
    """The accuracy among the surest rows, by their share."""
    panels = []
    for title, rivals in titled_rivals(lines):
        series = []
        for line in rivals:
            one = series_of(line.title, line.kind, _points(line, read_risk))
            if one is not None:
                series.append(one)
        if series:
            panels.append(Panel(title, "share of rows, the surest first", "accuracy", tuple(series)))
    if not panels:
        raise nothing_to_draw(
            "none of the records has scores beside its ranks: they are kept of learners with scores(X, ranks), "
            "decision_function or predict_proba; run again with another --out"
        )
    return panels


def _points(line: Line, read_risk: ReadRisk) -> list[Point]:
    points = []
    for record in line.finished:
        curve = read_risk(record)
        if curve is None:
            continue
        for percent in PERCENTS:
            at = bisect_left(curve.coverage, percent / 100 - 1e-9)
            points.append(Point(percent, float(curve.coverage[at]), float(1 - curve.risk[at])))
    return points
