"""Lines -> panels of what answers tell beside the truth, where ranks are kept: by coverage, class frequency and level.

Pure: what a trial answered is read by whoever asks for the figure.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from harness.figures.arithmetic import Point, series_of
from harness.figures.drawing import Panel, Series
from harness.figures.panels import nothing_to_draw, titled_rivals
from harness.groups import Line

if TYPE_CHECKING:
    from harness.record import Record
    from harness.sdk.by_class import ByClass
    from harness.sdk.selective import RiskCurve

PERCENTS = range(1, 101)


@dataclass(frozen=True)
class Answers:
    """What the kept ranks of a trial tell beside the truth."""

    risk: RiskCurve | None = None
    """None where no scores are kept beside the ranks."""
    by_class: ByClass | None = None
    """None where rows have several labels."""


ReadAnswers = Callable[["Record"], Answers | None]
"""Reads the answers of a trial; None where its ranks or its data are not at hand."""
Points = Callable[[Answers], Iterable[Point]]


def coverage_panels(lines: Sequence[Line], read_answers: ReadAnswers) -> list[Panel]:
    """The accuracy among the surest rows, by their share."""
    panels = []
    for title, series in _drawn(lines, read_answers, _coverage_points):
        panels.append(Panel(title, "share of rows, the surest first", "accuracy", series, y_unit="share"))
    if not panels:
        raise nothing_to_draw(
            "none of the records has scores beside its ranks: they are kept of learners with scores(X, ranks), "
            "decision_function or predict_proba; run again with another --out"
        )
    return panels


def frequency_panels(lines: Sequence[Line], read_answers: ReadAnswers) -> list[Panel]:
    """R1 of the rows whose classes were about equally often in training."""
    panels = []
    for title, series in _drawn(lines, read_answers, _frequency_points):
        panels.append(Panel(title, "training rows of the class", "R1", series, "log", x_unit="count", y_unit="share"))
    if not panels:
        raise nothing_to_draw("none of the records has kept ranks with one true class a row")
    return panels


def level_panels(lines: Sequence[Line], read_answers: ReadAnswers) -> list[Panel]:
    """The share of rows that are right at each level of the class tree."""
    panels = []
    for title, series in _drawn(lines, read_answers, _level_points):
        panels.append(
            Panel(title, "level of the class tree", "share of rows right", series, whole_x=True, y_unit="share")
        )
    if not panels:
        raise nothing_to_draw("none of the records has kept ranks on data with a class tree and one true class a row")
    return panels


def _drawn(
    lines: Sequence[Line], read_answers: ReadAnswers, points: Points
) -> Iterable[tuple[str, tuple[Series, ...]]]:
    """The series of each data set that any line has points on, with its title."""
    for title, rivals in titled_rivals(lines):
        series = []
        for line in rivals:
            one = series_of(line.title, line.kind, _points_of(line, read_answers, points))
            if one is not None:
                series.append(one)
        if series:
            yield title, tuple(series)


def _points_of(line: Line, read_answers: ReadAnswers, points: Points) -> Iterable[Point]:
    for record in line.finished:
        answers = read_answers(record)
        if answers is not None:
            yield from points(answers)


def _coverage_points(answers: Answers) -> Iterable[Point]:
    curve = answers.risk
    if curve is None:
        return
    for percent in PERCENTS:
        at = bisect_left(curve.coverage, percent / 100 - 1e-9)
        yield Point(percent, float(curve.coverage[at]), float(1 - curve.risk[at]))


def _frequency_points(answers: Answers) -> Iterable[Point]:
    if answers.by_class is not None:
        for one in answers.by_class.by_frequency:
            yield Point(one.least, one.frequency, one.right / one.rows)


def _level_points(answers: Answers) -> Iterable[Point]:
    if answers.by_class is not None:
        for level, share in enumerate(answers.by_class.by_level, start=1):
            yield Point(level, level, share)
