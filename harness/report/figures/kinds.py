"""The kinds of figures by name, each with its description, its choices for the x axis, and the function that makes it.

The command line imports this module to list the kinds, so matplotlib is not imported here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from harness.errors import HarnessError
from harness.host.contract import MetricSpec
from harness.report.figures.drawing import Diagram, Drawing, Panels
from harness.report.figures.panels import (
    SIZES,
    AnswersByTrial,
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


@dataclass(frozen=True)
class FigureRequest:
    """The input of the functions that make figures."""

    lines: Sequence[Line]
    metric: MetricSpec
    """Metric to draw."""
    x: str = ""
    """Quantity of the x axis; empty for the default of the kind."""
    x_metric: MetricSpec | None = None
    """The metric of the x axis, for kinds where x is a metric."""
    answers: AnswersByTrial = field(default_factory=dict)
    """For kinds that show saved ranks."""


@dataclass(frozen=True)
class FigureKind:
    """A kind of figure."""

    summary: str
    """Description for the help text."""
    draw: Callable[[FigureRequest], Drawing]
    """Returns the figure; raises HarnessError if the lines have nothing to draw."""
    metric: str = "r1"
    """Default metric."""
    x: str = ""
    """Choices for x, for the help text; empty if there is no choice."""
    default_x: str = ""
    x_is_metric: bool = False
    """True if x is the name of a metric."""
    shows_answers: bool = False
    """True if the figure shows saved ranks."""


def choose_kind(name: str, x: str | None = None) -> FigureKind:
    """Return the kind of a name.

    Raises
    ------
    HarnessError
        If the kind is unknown, or if `x` is given and the kind has no choice of x.
    """
    kind = choose(FIGURE_KINDS, name, "figure of kind")
    if x and not kind.x:
        raise HarnessError(f"a figure of kind {name!r} has no x to choose", culprit=f"--x {x}")
    return kind


def _curve_drawing(request: FigureRequest) -> Drawing:
    return Panels(tuple(curve_panels(request.lines, request.metric, request.x_metric)))


def _sweep_drawing(request: FigureRequest) -> Drawing:
    return Panels(tuple(sweep_panels(request.lines, request.metric, request.x or None)))


def _scaling_drawing(request: FigureRequest) -> Drawing:
    return Panels(tuple(scaling_panels(request.lines, request.metric, request.x)))


def _pareto_drawing(request: FigureRequest) -> Drawing:
    assert request.x_metric is not None, "the kind has a default"
    return Panels(tuple(pareto_panels(request.lines, request.metric, request.x_metric)))


def _ranks_drawing(request: FigureRequest) -> Drawing:
    return Diagram(title_of(request.metric), rank_learners(request.lines, request.metric))


def _bars_drawing(request: FigureRequest) -> Drawing:
    return Panels(tuple(bar_panels(request.lines, request.metric)))


def _coverage_drawing(request: FigureRequest) -> Drawing:
    return Panels(tuple(coverage_panels(request.lines, request.answers)))


def _frequency_drawing(request: FigureRequest) -> Drawing:
    return Panels(tuple(frequency_panels(request.lines, request.answers)))


def _levels_drawing(request: FigureRequest) -> Drawing:
    return Panels(tuple(level_panels(request.lines, request.answers)))


FIGURE_KINDS: dict[str, FigureKind] = {
    "curve": FigureKind(
        "by pass (run with --curves)", _curve_drawing, x="a metric instead of passes", x_is_metric=True
    ),
    "sweep": FigureKind("by a parameter", _sweep_drawing, x="the parameter, where several were swept"),
    "scaling": FigureKind(
        "by the size of the data, with the slope",
        _scaling_drawing,
        metric="train",
        x=", ".join(SIZES),
        default_x="classes",
    ),
    "pareto": FigureKind("score against cost", _pareto_drawing, x="the cost", default_x="train", x_is_metric=True),
    "cd": FigureKind("mean ranks over datasets and their critical difference", _ranks_drawing),
    "bar": FigureKind("side by side", _bars_drawing),
    "coverage": FigureKind(
        "accuracy on the share of rows that a learner is surest of", _coverage_drawing, shows_answers=True
    ),
    "frequency": FigureKind("R1 by how often training saw the class", _frequency_drawing, shows_answers=True),
    "levels": FigureKind("share of rows right at each level of the class tree", _levels_drawing, shows_answers=True),
}
