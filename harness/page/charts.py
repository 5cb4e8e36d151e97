"""The charts of a page as Vega-Lite, without data: the page's script puts in data, titles and scales. Imports altair.

All charts share the parameter `chosen`: the learner that is lit up everywhere; empty where all are.
"""

from __future__ import annotations

from typing import Any

import altair as alt

KINDS_OF_LEARNERS = ["flat", "tree", "other"]
KIND_COLOURS = ["#3b75af", "#d07a1d", "#6d8f2e"]
Layers = alt.LayerChart | alt.FacetChart
Chart = dict[str, Any]
"""A chart in the language of Vega-Lite."""

_CHOSEN = alt.param(name="chosen", value="")
_FEW = alt.param(name="few", value=True)
_LIT = "chosen === '' || datum.learner === chosen || datum.family === chosen"


def chart_templates() -> dict[str, Chart]:
    """Every chart by the name that the page's script knows it by."""
    charts = {"pareto": _pareto(), "bars": _bars(), "series": _series(), "ranks": _ranks()}
    return {name: chart.add_params(_CHOSEN).to_dict() for name, chart in charts.items()}


def _lit(strong: float = 1.0) -> Any:
    """Full strength for what is chosen, and for all where nothing is."""
    return alt.condition(_LIT, alt.value(strong), alt.value(0.12 * strong))


def _by_kind() -> alt.Color:
    scale = alt.Scale(domain=KINDS_OF_LEARNERS, range=KIND_COLOURS)
    return alt.Color("kind:N", scale=scale, legend=alt.Legend(title=None, orient="top"))


def _told() -> list[alt.Tooltip]:
    return [alt.Tooltip("learner:N"), alt.Tooltip("told_x:N", title="x"), alt.Tooltip("told_y:N", title="y")]


def _pareto() -> Layers:
    """Score against cost: a point a learner, its name beside it, and the front of those that nobody beats in both."""
    points = alt.Chart(alt.NamedData("points"))
    x = alt.X("x:Q", scale=alt.Scale(zero=False, nice=True, padding=12))
    y = alt.Y("y:Q", scale=alt.Scale(zero=False, nice=True, padding=12))
    front = (
        alt.Chart(alt.NamedData("front"))
        .mark_line(strokeDash=[5, 4], color="#888", interpolate="step-after")
        .encode(x=x, y=y, order="place:Q")
    )
    dots = points.mark_point(filled=True, size=70, cursor="pointer")
    # The page's script finds room for each name.
    names = points.mark_text(
        align=alt.expr("datum.align"),
        dx=alt.expr("datum.dx"),
        dy=alt.expr("datum.dy"),
        baseline="middle",
        cursor="pointer",
    )
    return alt.layer(
        front,
        dots.encode(
            x=x, y=y, color=_by_kind(), opacity=_lit(), tooltip=_told(), shape=alt.Shape("kind:N", legend=None)
        ),
        names.encode(x=x, y=y, text="name:N", opacity=_lit()),
    )


def _bars() -> Layers:
    """A bar a learner, in the order of the table, with its value behind it."""
    rows = alt.Chart(alt.NamedData("rows"))
    y = alt.Y("learner:N", sort=None, axis=alt.Axis(title=None, labelLimit=180))
    x = alt.X("y:Q")
    bars = rows.mark_bar(cursor="pointer", height=alt.RelativeBandSize(0.7))
    words = rows.mark_text(align="left", dx=4, cursor="pointer")
    return alt.layer(
        bars.encode(y=y, x=x, x2="low:Q", color=_by_kind(), opacity=_lit(), tooltip=_told()),
        words.encode(y=y, x=x, text="told_y:N", opacity=_lit()),
    )


def _series() -> Layers:
    """Curves, sweeps, scaling: a line a learner with a band of one standard deviation."""
    points = alt.Chart(alt.NamedData("points"))
    x = alt.X("x:Q", scale=alt.Scale(zero=False, nice=False))
    y = alt.Y("y:Q", scale=alt.Scale(zero=False))
    colour = alt.Color(
        "learner:N",
        sort=None,
        scale=alt.Scale(scheme="tableau20"),
        legend=alt.Legend(title=None, orient="bottom", columns=3, labelLimit=220, symbolOpacity=1),
    )
    # Many bands hide each other: of many learners only the chosen one has its band.
    banded = alt.condition(f"chosen === '' ? few : ({_LIT})", alt.value(0.15), alt.value(0))
    bands = points.mark_area().encode(x=x, y=alt.Y("low:Q"), y2="high:Q", color=colour, opacity=banded)
    return alt.layer(
        bands.add_params(_FEW),
        points.mark_line(cursor="pointer").encode(x=x, y=y, color=colour, opacity=_lit()),
        points.mark_point(filled=True, size=36, cursor="pointer").encode(
            x=x, y=y, color=colour, opacity=_lit(), tooltip=_told()
        ),
    )


def _ranks() -> Layers:
    """Average ranks, best on top; learners whose bars overlap cannot be told apart (Nemenyi)."""
    rows = alt.Chart(alt.NamedData("rows"))
    y = alt.Y("learner:N", sort=None, axis=alt.Axis(title=None, labelLimit=180))
    x = alt.X("x:Q", scale=alt.Scale(zero=False))
    return alt.layer(
        rows.mark_rule(strokeWidth=5, color="#9ab").encode(y=y, x=alt.X("low:Q"), x2="high:Q", opacity=_lit(0.6)),
        rows.mark_point(filled=True, size=70, color="#3b75af", cursor="pointer").encode(
            y=y, x=x, opacity=_lit(), tooltip=_told()
        ),
        rows.mark_text(align="left", dy=-9, cursor="pointer").encode(y=y, x=x, text="told_x:N", opacity=_lit()),
    )
