"""Drawn figures: real files, of the kind that their ending says, the same for the same records."""

from xml.etree import ElementTree

import pytest

from harness.errors import HarnessError
from harness.figures.diagram import Diagram, draw_diagram
from harness.figures.draw import draw_panels, save_figure
from harness.figures.panels import Panel, Series
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
        save_figure([PANEL, BARS], path)
    assert first.read_bytes().startswith(SIGNS[form])
    assert first.read_bytes() == second.read_bytes()


def test_texts_of_a_figure_can_be_read_in_the_svg(tmp_path):
    save_figure([PANEL], tmp_path / "a.svg")
    words = " ".join(ElementTree.parse(tmp_path / "a.svg").getroot().itertext())
    for text in ("digits", "passes", "R1", "pa", "lomtree (slope 0.10)", "over 4 to 10 trials"):
        assert text in words


def test_another_ending_is_refused(tmp_path):
    with pytest.raises(HarnessError, match=r"a\.gif: the file's ending must be one of png, svg, pdf"):
        save_figure([PANEL], tmp_path / "a.gif")


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


def test_a_diagram_of_ranks_tells_ranks_and_the_critical_difference(tmp_path):
    for name in ("a.svg", "b.svg"):
        save_figure(Diagram("R1", RANKS), tmp_path / name)
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
