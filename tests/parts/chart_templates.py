"""The chart templates of a page, written by altair: harness/report/page/files/charts.json contains them as Vega-Lite.

    python tests/parts/chart_templates.py

writes that file anew; a test compares it. The templates contain no data: the page's script adds data, titles and
scales. All charts share the parameter `chosen`: the learner that is highlighted everywhere, or "" to highlight all.
"""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

import altair as alt

KINDS_OF_LEARNERS = ["flat", "tree", "both", "other"]
KIND_COLOURS = ["#3b75af", "#d07a1d", "#8c5aa6", "#6d8f2e"]
Layers = alt.LayerChart | alt.FacetChart
Chart = dict[str, Any]
"""A chart in the language of Vega-Lite."""
TEMPLATES = resources.files("harness.report.page") / "files" / "charts.json"

_CHOSEN = alt.param(name="chosen", value="")
_FEW = alt.param(name="few", value=True)
_IS_CHOSEN = "datum.learner === chosen || datum.family === chosen"
_LIT = f"chosen === '' || {_IS_CHOSEN}"


def chart_templates() -> dict[str, Chart]:
    """Return every chart by its name in the page's script."""
    charts = {"pareto": _pareto(), "bars": _bars(), "series": _series(), "ranks": _ranks()}
    return {name: chart.add_params(_CHOSEN).to_dict() for name, chart in charts.items()}


def as_text() -> str:
    """Return the content of the committed file."""
    return json.dumps(chart_templates(), indent=1) + "\n"


def _lit(strong: float = 1.0) -> Any:
    """Return full opacity for the chosen learner, and for all if none is chosen."""
    return alt.condition(_LIT, alt.value(strong), alt.value(0.25 * strong))


def _by_kind() -> alt.Color:
    scale = alt.Scale(domain=KINDS_OF_LEARNERS, range=KIND_COLOURS)
    return alt.Color("kind:N", scale=scale, legend=alt.Legend(title=None, orient="top"))


def _tooltips() -> list[alt.Tooltip]:
    return [alt.Tooltip("learner:N"), alt.Tooltip("told_x:N", title="x"), alt.Tooltip("told_y:N", title="y")]


def _pareto() -> Layers:
    """Score against cost: one labelled point per learner, and the Pareto front."""
    points = alt.Chart(alt.NamedData("points"))
    # Not nice: the script that places the labels knows where points are, since the padding is the only margin.
    x = alt.X("x:Q", scale=alt.Scale(zero=False, nice=False, padding=16))
    y = alt.Y("y:Q", scale=alt.Scale(zero=False, nice=False, padding=16))
    front = (
        alt.Chart(alt.NamedData("front"))
        .mark_line(strokeDash=[5, 4], color="#888", interpolate="step-after")
        .encode(x=x, y=y, order="place:Q")
    )
    dots = points.mark_point(filled=True, size=70, cursor="pointer")
    # The page's script places the labels. The chosen learner has its label even where the script found no room for it.
    names = points.transform_calculate(label=f"{_IS_CHOSEN} ? datum.learner : datum.name").mark_text(
        align=alt.expr("datum.align"),
        dx=alt.expr("datum.dx"),
        dy=alt.expr("datum.dy"),
        baseline="middle",
        cursor="pointer",
    )
    return alt.layer(
        front,
        dots.encode(
            x=x, y=y, color=_by_kind(), opacity=_lit(), tooltip=_tooltips(), shape=alt.Shape("kind:N", legend=None)
        ),
        names.encode(x=x, y=y, text="label:N", opacity=_lit()),
    )


def _bars() -> Layers:
    """One bar per learner in table order, with its value at the end."""
    rows = alt.Chart(alt.NamedData("rows"))
    y = alt.Y("learner:N", sort=None, axis=alt.Axis(title=None, labelLimit=180))
    x = alt.X("y:Q")
    bars = rows.mark_bar(cursor="pointer", height=alt.RelativeBandSize(0.7))
    words = rows.mark_text(align="left", dx=4, cursor="pointer")
    return alt.layer(
        bars.encode(y=y, x=x, x2="low:Q", color=_by_kind(), opacity=_lit(), tooltip=_tooltips()),
        words.encode(y=y, x=x, text="told_y:N", opacity=_lit()),
    )


def _series() -> Layers:
    """Curves, sweeps, scaling: one line per learner with a band of one standard deviation."""
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
            x=x, y=y, color=colour, opacity=_lit(), tooltip=_tooltips()
        ),
    )


def _ranks() -> Layers:
    """Average ranks, best on top; learners with overlapping bars do not differ significantly (Nemenyi)."""
    rows = alt.Chart(alt.NamedData("rows"))
    y = alt.Y("learner:N", sort=None, axis=alt.Axis(title=None, labelLimit=180))
    x = alt.X("x:Q", scale=alt.Scale(zero=False))
    return alt.layer(
        rows.mark_rule(strokeWidth=5, color="#9ab").encode(y=y, x=alt.X("low:Q"), x2="high:Q", opacity=_lit(0.6)),
        rows.mark_point(filled=True, size=70, color="#3b75af", cursor="pointer").encode(
            y=y, x=x, opacity=_lit(), tooltip=_tooltips()
        ),
        rows.mark_text(align="left", dy=-9, cursor="pointer").encode(y=y, x=x, text="told_x:N", opacity=_lit()),
    )


if __name__ == "__main__":
    TEMPLATES.write_text(as_text(), encoding="utf-8")
