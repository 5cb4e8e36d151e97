"""The kinds of figures by name: what each shows, what its x may be, and how lines become it.

The only list of them. It imports nothing heavy: the command line reads it for its choices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.choices import choose
from harness.contract import MetricSpec
from harness.errors import HarnessError
from harness.figures.answers import ReadAnswers, coverage_panels, frequency_panels, level_panels
from harness.figures.drawing import Diagram, Drawing, Panels
from harness.figures.panels import SIZES, bar_panels, curve_panels, pareto_panels, scaling_panels, title_of
from harness.figures.sweep import sweep_panels
from harness.groups import Line, rank_learners

FindMetric = Callable[[str], MetricSpec]
"""Looks a metric up by the name that a user gives it."""


@dataclass(frozen=True)
class FigureRequest:
    """What is to be drawn of which lines."""

    lines: Sequence[Line]
    metric: MetricSpec
    """What is judged by."""
    x: str
    """What stands along the bottom, as the user gave it; empty where neither the user nor the kind says."""
    find_metric: FindMetric
    read_answers: ReadAnswers


@dataclass(frozen=True)
class FigureKind:
    """A kind of figure."""

    summary: str
    """What it shows, in the words of the help."""
    draw: Callable[[FigureRequest], Drawing]
    metric: str = "r1"
    """What is judged by unless the user says otherwise."""
    x: str = ""
    """What the user may choose as x, in the words of the help; empty where there is no choice."""
    default_x: str = ""


def make_drawing(
    kind: str,
    lines: Sequence[Line],
    find_metric: FindMetric,
    read_answers: ReadAnswers,
    *,
    metric: str | None = None,
    x: str | None = None,
) -> Drawing:
    """The figure of some lines, its metrics looked up; HarnessError where there is nothing to draw."""
    chosen = choose(FIGURE_KINDS, kind, "figure of kind")
    if x and not chosen.x:
        raise HarnessError(f"a figure of kind {kind!r} has no x to choose", culprit=f"--x {x}")
    judged = find_metric(metric or chosen.metric)
    return chosen.draw(FigureRequest(lines, judged, x or chosen.default_x, find_metric, read_answers))


def _curve_drawing(asked: FigureRequest) -> Drawing:
    x = asked.find_metric(asked.x) if asked.x else None
    return Panels(tuple(curve_panels(asked.lines, asked.metric, x)))


def _sweep_drawing(asked: FigureRequest) -> Drawing:
    return Panels(tuple(sweep_panels(asked.lines, asked.metric, asked.x or None)))


def _scaling_drawing(asked: FigureRequest) -> Drawing:
    return Panels(tuple(scaling_panels(asked.lines, asked.metric, asked.x)))


def _pareto_drawing(asked: FigureRequest) -> Drawing:
    return Panels(tuple(pareto_panels(asked.lines, asked.metric, asked.find_metric(asked.x))))


def _ranks_drawing(asked: FigureRequest) -> Drawing:
    return Diagram(title_of(asked.metric), rank_learners(asked.lines, asked.metric))


def _bars_drawing(asked: FigureRequest) -> Drawing:
    return Panels(tuple(bar_panels(asked.lines, asked.metric)))


def _coverage_drawing(asked: FigureRequest) -> Drawing:
    return Panels(tuple(coverage_panels(asked.lines, asked.read_answers)))


def _frequency_drawing(asked: FigureRequest) -> Drawing:
    return Panels(tuple(frequency_panels(asked.lines, asked.read_answers)))


def _levels_drawing(asked: FigureRequest) -> Drawing:
    return Panels(tuple(level_panels(asked.lines, asked.read_answers)))


FIGURE_KINDS: dict[str, FigureKind] = {
    "curve": FigureKind("by pass (run with --curves)", _curve_drawing, x="a metric instead of passes"),
    "sweep": FigureKind("by a parameter", _sweep_drawing, x="the parameter, where several were swept"),
    "scaling": FigureKind(
        "by the size of the data, with the slope",
        _scaling_drawing,
        metric="train",
        x=", ".join(SIZES),
        default_x="classes",
    ),
    "pareto": FigureKind("score against cost", _pareto_drawing, x="the cost", default_x="train"),
    "cd": FigureKind("mean ranks over data sets and their critical difference", _ranks_drawing),
    "bar": FigureKind("side by side", _bars_drawing),
    "coverage": FigureKind("accuracy on the share of rows that a learner is surest of", _coverage_drawing),
    "frequency": FigureKind("R1 by how often training saw the class", _frequency_drawing),
    "levels": FigureKind("share of rows right at each level of the class tree", _levels_drawing),
}
