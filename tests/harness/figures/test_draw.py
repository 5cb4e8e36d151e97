"""Drawn figures: real files, of the kind that their ending says, the same for the same records."""

from dataclasses import replace
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import HarnessError
from harness.figures.draw_diagram import draw_diagram
from harness.figures.draw_panels import PALE, draw_panels
from harness.figures.drawing import Diagram, Panel, Panels, Series
from harness.figures.file_formats import FILE_FORMATS
from harness.figures.labels import box_of, spread_out
from harness.figures.styles import FIGURE_STYLES, look_of
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
WEB = FIGURE_STYLES["web"]
SIGNS = {"png": b"\x89PNG", "svg": b"<?xml", "pdf": b"%PDF"}


def draw(*panels, style=WEB):
    figure = draw_panels(panels, style)
    figure.draw_without_rendering()
    return figure


def names_in(axis):
    """The names that stand beside points and lines, with their boxes."""
    return {text.get_text(): box_of(text) for text in axis.texts}


def overlapping(boxes):
    return [(a, b) for a, b in combinations(boxes, 2) if a.overlaps(b)]


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


def test_twenty_learners_are_told_apart_by_colour_and_marker_and_on_lines_without_colour():
    looks = [look_of(number) for number in range(20)]
    assert len({(look.colour, look.marker) for look in looks}) == 20
    assert len({(look.marker, look.dash) for look in looks}) == 20


@pytest.mark.parametrize("style", FIGURE_STYLES)
def test_names_of_twenty_points_stand_beside_them_and_not_over_each_other(style):
    points = [Series(f"learner {n}", (1.0 + n % 5,), (1.0 + n // 5,), (0.1,), trials=3) for n in range(20)]
    (axis,) = draw(Panel("", "x", "y", tuple(points)), style=FIGURE_STYLES[style]).axes
    names = names_in(axis)
    assert len(names) == 20
    assert not overlapping(names.values())


def test_a_name_that_finds_no_room_beside_its_point_is_led_to_it():
    points = [Series(f"a long name {n}", (1.0,), (1.0 + n / 1000,), (0.0,)) for n in range(6)]
    points.append(Series("far", (9.0,), (9.0,), (0.0,)))
    (axis,) = draw(Panel("", "x", "y", tuple(points))).axes
    assert not overlapping(names_in(axis).values())
    assert any(text.arrow_patch for text in axis.texts)


def test_lines_have_their_names_at_the_right_in_the_order_of_their_ends():
    lines = [Series(f"l{n}", (1, 2), (0, n % 7), (0, 0)) for n in range(20)]
    (axis,) = draw(Panel("", "x", "y", tuple(lines))).axes
    names = names_in(axis)
    assert not overlapping(names.values())
    assert all(box.x0 > axis.get_window_extent().x1 for box in names.values())
    by_height = sorted(names, key=lambda name: names[name].y0)
    assert [int(name[1:]) % 7 for name in by_height] == sorted(n % 7 for n in range(20))


@given(st.lists(st.floats(0, 100), min_size=1, max_size=12).map(sorted), st.floats(1, 8))
def test_heights_are_apart_in_order_and_within_while_there_is_room(wanted, step):
    heights = spread_out(wanted, step, 0, 100)
    assert all(b - a >= step * (1 - 1e-9) for a, b in pairwise(heights))
    if (len(wanted) - 1) * step <= 100:
        assert 0 <= heights[0] <= heights[-1] <= 100 + 1e-9


def test_more_series_than_can_be_told_apart_become_small_multiples_with_the_others_pale():
    lines = [Series(f"l{n}", (1, 2), (n, n), (0, 0)) for n in range(21)]
    axes = draw(Panel("digits", "x", "y", tuple(lines))).axes
    shown = [list(names_in(axis)) for axis in axes]
    assert [*shown[0], *shown[1], *shown[2]] == [f"l{n}" for n in range(21)]
    assert [len(axis.lines) for axis in axes] == [21, 21, 21]
    assert axes[0].get_title() == "digits (1 to 8 of 21)"
    assert len(draw(Panel("digits", "x", "y", tuple(lines[:20]))).axes) == 1


def test_of_more_points_than_can_be_told_apart_the_front_is_named_and_the_others_are_pale():
    points = [Series(f"p{n}", (float(n),), (n / 30 if n < 3 else 0.01,), (0.0,)) for n in range(1, 25)]
    front = ((1.0, 1 / 30), (2.0, 2 / 30))
    figure = draw(Panel("digits", "x", "y", tuple(points), front=front))
    (axis,) = figure.axes
    assert set(names_in(axis)) == {"p1", "p2"}
    pale = [line for line in axis.lines if line.get_color() == PALE]
    assert len(pale) == 22
    assert {line.get_marker() for line in pale} == {"o"}
    assert figure.get_supxlabel().endswith("dashed: not beaten in both; pale: the others")
    few = draw(Panel("digits", "x", "y", tuple(points[:20]), front=front))
    assert len(names_in(few.axes[0])) == 20
    assert few.get_supxlabel().endswith("not beaten in both")


def test_a_few_points_far_below_do_not_press_the_others_together():
    points = [Series(f"p{n}", (float(n),), (0.9 + n / 1000,), (0.0,)) for n in range(1, 23)]
    guess = Series("guess", (0.5,), (0.1,), (0.0,))
    front = ((0.5, 0.1), *((one.x[0], one.y[0]) for one in points))
    (axis,) = draw(Panel("digits", "x", "y", (*points, guess), front=front)).axes
    assert 0.89 < axis.get_ylim()[0] < 0.903
    assert "guess" not in names_in(axis)
    assert axis.get_title() == f"digits ({23 - len(names_in(axis))} of 23 lie below)"
    near = replace(guess, y=(0.89,))
    (axis,) = draw(Panel("digits", "x", "y", (*points, near), front=front)).axes
    assert axis.get_title() == "digits"


def test_one_learner_looks_the_same_in_every_panel():
    other = Panel("two", "x", "y", (TREE, LINE))
    one, two = draw(PANEL, other).axes
    colours = [{line.get_label(): line.get_color() for line in axis.lines} for axis in (one, two)]
    assert colours[0]["pa"] == colours[1]["pa"]
    assert colours[0]["lomtree (slope 0.10)"] == colours[1]["lomtree (slope 0.10)"]


def test_bars_have_their_names_to_the_left_and_their_values_to_the_right():
    slow, fast = Series("slow", (0,), (2.5,), (0.0,)), Series("fast", (1,), (0.0004,), (0.0,))
    panel = Panel("digits", "train", "", (slow, fast), x_scale="log", names=("slow", "fast"), x_unit="seconds")
    (axis,) = draw(panel).axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["slow", "fast"]
    assert [text.get_text() for text in axis.texts] == ["2.50 s", "400 µs"]
    first, second = (bar.get_window_extent() for bar in axis.patches)
    assert first.y0 > second.y1  # the first on top
    assert axis.get_xlim()[0] < 0.0004


@pytest.mark.parametrize("front", [((1, 0.5),), ((1, 0.5), (3, 0.7)), ((1, 0.7), (3, 0.5))])
def test_the_front_is_drawn_from_edge_to_edge_also_where_one_beats_all(front):
    points = tuple(Series(f"p{n}", (x,), (y,), (0.0,)) for n, (x, y) in enumerate([*front, (4, 0.4)]))
    (axis,) = draw(Panel("", "x", "y", points, front=front)).axes
    (steps,) = [line for line in axis.lines if line.get_linestyle() == "--"]
    reached = list(zip(*steps.get_data(), strict=True))
    assert set(front) <= set(reached)
    assert steps.get_ydata().min() == axis.get_ylim()[0]


@pytest.mark.parametrize("style", FIGURE_STYLES)
def test_letters_are_as_large_as_the_place_asks_for(tmp_path, style):
    Panels((PANEL,)).save(tmp_path / "a.svg", style=style)
    size = FIGURE_STYLES[style].font_size
    assert f"{size:g}px" in (tmp_path / "a.svg").read_text()


def test_an_unknown_style_is_refused(tmp_path):
    with pytest.raises(HarnessError, match="style 'poster': expected one of web, paper, talk"):
        Panels((PANEL,)).save(tmp_path / "a.png", style="poster")


def test_a_point_shows_the_spread_of_both_axes():
    point = replace(POINT, x_spread=(0.5,))
    (axis,) = draw(Panel("", "x", "y", (point,))).axes
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
    figure = draw(*[Panel("", "x", "y", (line,), "log", "log")] * 3)
    labels = figure.axes[0].get_xticklabels(which="both")
    boxes = sorted((label.get_window_extent() for label in labels if label.get_text()), key=lambda box: box.x0)
    assert len(boxes) >= 3
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_numbers_along_a_long_line_of_ranks_do_not_meet():
    names = [f"learner-{n}" for n in range(48)]
    found = average_ranks({name: {f"d{i}": float(n) for i in range(3)} for n, name in enumerate(names)}, higher=True)
    figure = draw_diagram(Diagram("R1", found), WEB)
    figure.draw_without_rendering()
    numbers = [text for text in figure.axes[0].texts if text.get_text().isdigit()]
    assert [text.get_text() for text in numbers[:3]] == ["1", "5", "9"]
    assert not overlapping([text.get_window_extent() for text in numbers])


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
    (axis,) = draw_diagram(Diagram("R1", RANKS), WEB).axes
    bars = [line for line in axis.lines if line.get_linewidth() == 3.5]
    assert len(bars) == len(RANKS.groups) == 2
    (left, right) = bars[0].get_xdata()
    assert left < 1
    assert 2 < right < 3


def test_ticks_of_times_sizes_and_counts_have_the_units_that_people_say():
    assert log_labels([1e-5, 1e-3, 1.0], "seconds") == ["10 µs", "1 ms", "1 s"]
    assert log_labels([10.0, 100.0, 1e4], "seconds") == ["10 s", "100 s", "10,000 s"]
    assert log_labels([1e3, 2e6], "bytes") == ["1 kB", "2 MB"]
    assert log_labels([5e4, 1e6], "count") == ["50k", "1M"]
    times = Series("pa", (1, 2), (0.0, 0.004), (0, 0))
    (axis,) = draw(Panel("", "passes", "train", (times,), y_unit="seconds")).axes
    assert "1 ms" in [label.get_text() for label in axis.get_yticklabels()]


def many_lines(count):
    """Lines whose spread reaches beyond what a share can be."""
    return tuple(replace(LINE, label=f"learner-{place}", spread=(0.6, 0.0, 0.6)) for place in range(count))


def test_few_lines_have_bands_that_end_where_a_share_does_and_many_have_none():
    (few,) = draw(replace(PANEL, series=many_lines(5), y_unit="share")).axes
    assert len(few.collections) == 5
    heights = few.collections[0].get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (0.0, 1.0)
    crowded = draw(replace(PANEL, series=many_lines(6), y_unit="share"))
    assert len(crowded.axes[0].collections) == 0
    assert "so many lines show no spread" in crowded.get_supxlabel()


def test_a_line_of_many_points_has_few_markers_and_one_at_its_end():
    shares = tuple(n / 100 for n in range(1, 101))
    long = replace(LINE, x=shares, y=shares, spread=(0.0,) * 100)
    (axis,) = draw(replace(PANEL, series=(long, TREE))).axes
    many, few = (line.get_markevery() for line in axis.lines[:2])
    assert few is None
    assert 5 <= len(many) <= 20
    assert many[-1] == 99


def test_what_leads_to_a_name_ends_at_its_near_side():
    (axis,) = draw(replace(PANEL, series=many_lines(9))).axes
    for name in axis.texts:
        assert name.arrow_patch.get_path().vertices.size
        begins = name.arrow_patch.get_window_extent()
        assert begins.x1 <= box_of(name).x0 + 1
