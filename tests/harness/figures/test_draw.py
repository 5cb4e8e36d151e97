"""Drawn figures: real files, of the kind that their ending says, the same for the same records."""

from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import HarnessError
from harness.figures.draw_diagram import draw_diagram
from harness.figures.draw_panels import draw_panels
from harness.figures.drawing import Diagram, Panel, Panels, Series
from harness.figures.file_formats import FILE_FORMATS
from harness.figures.ticks import log_labels, log_ticks
from harness.stats import average_ranks

LINE = Series("pa", (1, 2, 3), (0.5, 0.6, 0.7), (0.1, 0.0, 0.1), trials=10)
TREE = Series("lomtree", (1, 2, 3), (0.4, 0.5, 0.6), (0.0, 0.0, 0.0), kind="tree", note="slope 0.10", trials=10)
POINT = Series("ooz", (2,), (0.6,), (0.1,), trials=4)
PANEL = Panel("digits", "passes", "R1", (LINE, TREE, POINT), front=((1, 0.5), (3, 0.7)))
BARS = Panel("digits", "", "R1", (POINT,), names=("ooz",))
RANKS = average_ranks(
    {name: {f"d{i}": float(place * (i + 1)) for i in range(6)} for place, name in enumerate(("ff", "pa", "ooz"))},
    higher=True,
)
SIGNS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


@pytest.mark.parametrize("form", SIGNS)
def test_a_figure_is_of_the_kind_that_its_name_says_and_always_the_same(tmp_path, form):
    first, second = tmp_path / f"new/a.{form}", tmp_path / f"b.{form}"
    for path in (first, second):
        Panels((PANEL, BARS)).save(path)
    assert first.read_bytes().startswith(SIGNS[form])
    assert first.read_bytes() == second.read_bytes()


def test_texts_of_a_figure_can_be_read_in_the_svg(tmp_path):
    Panels((PANEL,)).save(tmp_path / "a.svg")
    words = " ".join(ElementTree.parse(tmp_path / "a.svg").getroot().itertext())
    for text in ("digits", "passes", "R1", "pa", "lomtree (slope 0.10)", "over 4 to 10 trials"):
        assert text in words


@pytest.mark.parametrize("drawing", [Panels((PANEL,)), Diagram("R1", RANKS)], ids=["panels", "diagram"])
def test_a_drawing_shows_itself_in_a_notebook_as_it_is_in_files(tmp_path, drawing):
    assert drawing._repr_png_() == drawing.save(tmp_path / "a.png").read_bytes()
    assert drawing._repr_svg_() == drawing.save(str(tmp_path / "a.svg")).read_text()


def test_every_kind_of_file_is_tested_here():
    assert FILE_FORMATS.keys() == SIGNS.keys()


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(HarnessError, match=r"a\.gif: the file's ending must be one of png, svg, pdf"):
        Panels((PANEL,)).save(tmp_path / "a.gif")


def test_learners_are_told_apart_without_colour():
    lines = [Series(f"l{n}", (1, 2), (n, n), (0, 0)) for n in range(12)]
    figure = draw_panels([Panel("", "x", "y", tuple(lines))])
    looks = [(line.get_marker(), line.get_linestyle()) for line in figure.axes[0].lines]
    assert len(set(looks)) == len(looks)


def test_one_learner_looks_the_same_in_every_panel():
    other = Panel("two", "x", "y", (TREE, LINE))
    one, two = draw_panels([PANEL, other]).axes
    colours = [{line.get_label(): line.get_color() for line in axis.lines} for axis in (one, two)]
    assert colours[0]["pa"] == colours[1]["pa"]
    assert colours[0]["lomtree (slope 0.10)"] == colours[1]["lomtree (slope 0.10)"]


def legend_of(figure):
    (legend,) = figure.legends
    return [text.get_text() for text in legend.get_texts()]


def test_panels_share_one_legend_that_lies_beside_them():
    figure = draw_panels([PANEL, Panel("two", "x", "y", (TREE, LINE))])
    assert legend_of(figure) == ["pa", "lomtree (slope 0.10)", "ooz", "not beaten in both"]
    assert all(axis.get_legend() is None for axis in figure.axes)
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert not any(legend.get_window_extent().overlaps(axis.get_tightbbox()) for axis in figure.axes)


def test_a_legend_of_many_long_names_stays_inside_the_figure():
    lines = [Series(f"committee(sparsify(pa, share=0.{n}))", (1, 2), (n, n), (0, 0)) for n in range(9)]
    figure = draw_panels([Panel("", "x", "y", tuple(lines))])
    figure.draw_without_rendering()
    (legend,) = figure.legends
    box = legend.get_window_extent()
    assert 0 <= box.x0 < box.x1 <= figure.bbox.width


def test_bars_need_no_legend():
    assert not draw_panels([BARS]).legends


def test_a_point_shows_the_spread_of_both_axes():
    point = replace(POINT, x_spread=(0.5,))
    (axis,) = draw_panels([Panel("", "x", "y", (point,))]).axes
    across, up = ([bar.get_segments()[0] for bar in axis.collections][place] for place in (0, 1))
    assert across.tolist() == [[1.5, 0.6], [2.5, 0.6]]
    assert up.tolist() == [[2, 0.5], [2, 0.7]]


@given(st.floats(-9, 9), st.floats(0.05, 12))
def test_ticks_of_a_logarithmic_axis_are_inside_it_few_and_told_apart(power, decades):
    low, high = 10**power, 10 ** (power + decades)
    ticks = log_ticks(low, high)
    assert 2 <= len(ticks) <= 8
    assert all(low <= tick <= high for tick in ticks)
    assert len(set(log_labels(ticks))) == len(ticks)


@pytest.mark.parametrize(
    ("low", "high", "labels"),
    [
        (8, 12_000, ["10", "100", "1,000", "10,000"]),
        (0.04, 1.2, ["0.05", "0.1", "0.2", "0.5", "1"]),
        (290, 720, ["300", "400", "500", "600", "700"]),
        (1.5e-5, 1.1e-4, [r"$2 \cdot 10^{-5}$", r"$5 \cdot 10^{-5}$", "$10^{-4}$"]),
        (0.5, 2e9, ["$10^{0}$", "$10^{2}$", "$10^{4}$", "$10^{6}$", "$10^{8}$"]),
    ],
)
def test_a_logarithmic_axis_has_plain_numbers_or_powers_of_ten_and_never_both(low, high, labels):
    assert log_labels(log_ticks(low, high)) == labels


def test_labels_of_a_logarithmic_axis_do_not_meet():
    line = Series("pa", (20_000, 50_000, 90_000), (1, 2, 3), (0, 0, 0))
    figure = draw_panels([Panel("", "x", "y", (line,), "log", "log")] * 3)
    figure.draw_without_rendering()
    labels = figure.axes[0].get_xticklabels(which="both")
    boxes = sorted((label.get_window_extent() for label in labels if label.get_text()), key=lambda box: box.x0)
    assert len(boxes) >= 3
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_a_diagram_of_ranks_tells_ranks_and_the_critical_difference(tmp_path):
    for name in ("a.svg", "b.svg"):
        Diagram("R1", RANKS).save(tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    words = " ".join(ElementTree.parse(tmp_path / "a.svg").getroot().itertext())
    for text in (
        "ooz  1.00",
        "pa  2.00",
        "3.00  ff",
        f"critical difference {RANKS.difference:.2f}",
        "6 data sets",
        "R1",
    ):
        assert text in words


def test_bars_of_a_diagram_join_those_that_cannot_be_told_apart():
    bars = [line for line in draw_diagram(Diagram("R1", RANKS)).axes[0].lines if line.get_linewidth() == 3.5]
    assert len(bars) == len(RANKS.groups) == 2
    (left, right) = bars[0].get_xdata()
    assert left < 1
    assert 2 < right < 3
