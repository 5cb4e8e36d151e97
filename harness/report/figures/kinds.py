"""The kinds of figures by name, each with its description, its choices for the x axis, and the function that makes it.

The command line imports this module to list the kinds, so matplotlib is not imported here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from harness.errors import HarnessError
from harness.host.contract import MetricSpec
from harness.report.figures.drawing import Diagram, Drawing, Panels
from harness.report.figures.panels import (
    SIZES,
    ReadAnswers,
    bar_panels,
    coverage_panels,
    curve_panels,
    frequency_panels,
    level_panels,
    pareto_panels,
    scaling_panels,
    sweep_panels,
    title_of,
)
from harness.report.lines import Line, rank_learners
from harness.text import choose

FindMetric = Callable[[str], MetricSpec]
"""Function that returns a metric by name."""


@dataclass(frozen=True)
class FigureRequest:
    """The input of the functions that make figures."""

    lines: Sequence[Line]
    metric: MetricSpec
    """Metric to draw."""
    x: str
    """Quantity of the x axis as given by the user; empty for the default of the kind."""
    find_metric: FindMetric
    read_answers: ReadAnswers


@dataclass(frozen=True)
class FigureKind:
    """A kind of figure."""

    summary: str
    """Description for the help text."""
    draw: Callable[[FigureRequest], Drawing]
    metric: str = "r1"
    """Default metric."""
    x: str = ""
    """Choices for x, for the help text; empty if there is no choice."""
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
    """Return a figure of some lines.

    Parameters
    ----------
    kind : str
        A name in `FIGURE_KINDS`.
    lines : sequence of Line
        The lines to draw.
    find_metric : FindMetric
        Returns a metric by name.
    read_answers : ReadAnswers
        Reads the saved ranks of a trial, for the kinds that need them.
    metric, x : str, optional
        The metric to draw and the quantity of the x axis. By default those of the kind.

    Raises
    ------
    HarnessError
        If the kind is unknown or has no choice of x, or if the lines have nothing to draw.
    """
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
    "cd": FigureKind("mean ranks over datasets and their critical difference", _ranks_drawing),
    "bar": FigureKind("side by side", _bars_drawing),
    "coverage": FigureKind("accuracy on the share of rows that a learner is surest of", _coverage_drawing),
    "frequency": FigureKind("R1 by how often training saw the class", _frequency_drawing),
    "levels": FigureKind("share of rows right at each level of the class tree", _levels_drawing),
}
