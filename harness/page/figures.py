"""The figures that are drawn as they are: curves, sweeps and scaling, by the panels of `harness plot`; average ranks.

Bars and score against cost are made in the page from the table's own numbers, for any metrics that the reader chooses.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.contract import MetricSpec
from harness.errors import HarnessError
from harness.figures.answers import ReadAnswers
from harness.figures.drawing import Panel, Panels, Series
from harness.figures.kinds import FindMetric, make_drawing
from harness.figures.panels import SIZES
from harness.figures.sweep import swept_parameters
from harness.groups import Line, Prepared, rank_learners
from harness.page.content import PageFigure, PageRanks, PageSeries
from harness.page.rounding import rounded_all

OF_ANSWERS = ("coverage", "frequency", "levels")
"""The kinds that are drawn of kept ranks."""


def figures_of(
    lines: Sequence[Line], metrics: Sequence[MetricSpec], find_metric: FindMetric, read_answers: ReadAnswers
) -> Iterable[PageFigure]:
    """All figures of these kinds and metrics that the lines have anything for."""
    for kind, x, judged in _wanted(lines, metrics):
        for metric in judged:
            try:
                drawing = make_drawing(kind, lines, find_metric, read_answers, metric=metric.name, x=x)
            except HarnessError:  # these lines have nothing of this kind, which is no trouble here
                continue
            if isinstance(drawing, Panels):
                for panel in drawing.panels:
                    yield _page_figure(kind, metric, panel)


def _wanted(
    lines: Sequence[Line], metrics: Sequence[MetricSpec]
) -> Iterable[tuple[str, str | None, Sequence[MetricSpec]]]:
    """Each kind of figure, once for everything that may stand along its bottom, with what it is to be judged by."""
    yield "curve", None, metrics
    for parameter in swept_parameters(lines):
        yield "sweep", parameter, metrics
    for size in SIZES:
        yield "scaling", size, metrics
    for kind in OF_ANSWERS:
        yield kind, None, metrics[:1]  # they show how right answers are, whatever the metric


def _page_figure(kind: str, metric: MetricSpec, panel: Panel) -> PageFigure:
    return PageFigure(
        kind=kind,
        metric=metric.name,
        title=panel.title,
        x_title=panel.x_title,
        y_title=panel.y_title,
        x_scale=panel.x_scale,
        y_scale=panel.y_scale,
        x_unit=panel.x_unit,
        y_unit=panel.y_unit,
        whole_x=panel.whole_x,
        series=tuple(map(_page_series, panel.series)),
    )


def _page_series(one: Series) -> PageSeries:
    numbers = rounded_all(one.x), rounded_all(one.y), rounded_all(one.spread)
    return PageSeries(one.label, one.kind, one.note, *numbers)


def ranks_of_learners(lines: Sequence[Line], metrics: Sequence[MetricSpec]) -> Iterable[PageRanks]:
    """Average ranks by each metric, where there are learners and data sets enough to rank by it."""
    for metric in metrics:
        left_out = _not_everywhere(lines, metric)
        ranked = [line for line in lines if line.title not in left_out]
        try:
            found = rank_learners(ranked, metric)
        except HarnessError:
            continue
        yield PageRanks(metric.name, found.ranks, found.difference, found.n_datasets, found.p_value, tuple(left_out))


def _not_everywhere(lines: Sequence[Line], metric: MetricSpec) -> dict[str, None]:
    """The learners that lack a value on some data set that others have one on."""
    finished: dict[str, set[Prepared]] = {}
    everywhere: set[Prepared] = set()
    for line in lines:
        on_data = finished.setdefault(line.title, set())
        if line.values(metric.name):
            on_data.add(line.prepared)
            everywhere.add(line.prepared)
    lacking = [title for title, on_data in finished.items() if on_data < everywhere]
    return dict.fromkeys(lacking)
