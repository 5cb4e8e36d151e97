"""Drawn figures: files of the format given by their extension, identical for identical records."""

from dataclasses import replace
from itertools import combinations, pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import HarnessError
from internals import (
    FIGURE_STYLES,
    FILE_FORMATS,
    PALE,
    Diagram,
    Panel,
    Panels,
    Series,
    average_ranks,
    box_of,
    draw_diagram,
    draw_panels,
    log_labels,
    log_ticks,
    look_of,
    spread_labels,
)
from messages import assert_names, naming

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
    """Return the labels next to points and lines, with their boxes."""
    return {text.get_text(): box_of(text) for text in axis.texts}


def overlapping(boxes):
    return [(a, b) for a, b in combinations(boxes, 2) if a.overlaps(b)]


@pytest.mark.parametrize("form", SIGNS)
def test_a_figure_has_the_format_of_its_extension_and_is_reproducible(tmp_path, form):
    first, second = tmp_path / f"new/a.{form}", tmp_path / f"b.{form}"
    for path in (first, second):
        Panels((PANEL, BARS)).save(path)
    assert first.read_bytes().startswith(SIGNS[form])
    assert first.read_bytes() == second.read_bytes()


def test_texts_of_an_svg_figure_are_text_elements(tmp_path):
    Panels((PANEL,)).save(tmp_path / "a.svg")
    words = " ".join(ElementTree.parse(tmp_path / "a.svg").getroot().itertext())
    for text in ("digits", "passes", "R1", "pa", "lomtree (slope 0.10)", "over 4 to 10 trials"):
        assert text in words


@pytest.mark.parametrize("drawing", [Panels((PANEL,)), Diagram("R1", RANKS)], ids=["panels", "diagram"])
def test_a_drawing_is_shown_in_a_notebook_as_in_its_file(tmp_path, drawing):
    assert drawing._repr_png_() == drawing.save(tmp_path / "a.png").read_bytes()
    assert drawing._repr_svg_() == drawing.save(str(tmp_path / "a.svg")).read_text()


def test_every_file_format_is_tested_here():
    assert FILE_FORMATS.keys() == SIGNS.keys()


def test_an_unknown_extension_is_rejected(tmp_path):
    with pytest.raises(HarnessError, match=naming("a.gif")):
        Panels((PANEL,)).save(tmp_path / "a.gif")


def test_twenty_learners_differ_in_colour_and_marker_and_lines_without_colour_too():
    looks = [look_of(number) for number in range(20)]
    assert len({(look.colour, look.marker) for look in looks}) == 20
    assert len({(look.marker, look.dash) for look in looks}) == 20


@pytest.mark.parametrize("style", FIGURE_STYLES)
def test_labels_of_twenty_points_do_not_overlap(style):
    points = [Series(f"learner {n}", (1.0 + n % 5,), (1.0 + n // 5,), (0.1,), trials=3) for n in range(20)]
    (axis,) = draw(Panel("", "x", "y", tuple(points)), style=FIGURE_STYLES[style]).axes
    names = names_in(axis)
    assert len(names) == 20
    assert not overlapping(names.values())


def test_a_label_without_space_next_to_its_point_gets_a_leader_line():
    points = [Series(f"a long name {n}", (1.0,), (1.0 + n / 1000,), (0.0,)) for n in range(6)]
    points.append(Series("far", (9.0,), (9.0,), (0.0,)))
    (axis,) = draw(Panel("", "x", "y", tuple(points))).axes
    assert not overlapping(names_in(axis).values())
    assert any(text.arrow_patch for text in axis.texts)


def test_line_labels_are_at_the_right_in_the_order_of_their_ends():
    lines = [Series(f"l{n}", (1, 2), (0, n % 7), (0, 0)) for n in range(20)]
    (axis,) = draw(Panel("", "x", "y", tuple(lines))).axes
    names = names_in(axis)
    assert not overlapping(names.values())
    assert all(box.x0 > axis.get_window_extent().x1 for box in names.values())
    by_height = sorted(names, key=lambda name: names[name].y0)
    assert [int(name[1:]) % 7 for name in by_height] == sorted(n % 7 for n in range(20))


@given(st.lists(st.floats(0, 100), min_size=1, max_size=12).map(sorted), st.floats(1, 8))
def test_label_heights_are_spaced_ordered_and_within_the_axis_if_possible(wanted, step):
    heights = spread_labels(wanted, step, 0, 100)
    assert all(b - a >= step * (1 - 1e-9) for a, b in pairwise(heights))
    if (len(wanted) - 1) * step <= 100:
        assert 0 <= heights[0] <= heights[-1] <= 100 + 1e-9


def test_too_many_series_become_small_multiples_with_the_others_pale():
    lines = [Series(f"l{n}", (1, 2), (n, n), (0, 0)) for n in range(21)]
    axes = draw(Panel("digits", "x", "y", tuple(lines))).axes
    shown = [list(names_in(axis)) for axis in axes]
    assert [*shown[0], *shown[1], *shown[2]] == [f"l{n}" for n in range(21)]
    assert [len(axis.lines) for axis in axes] == [21, 21, 21]
    assert axes[0].get_title() == "digits (1 to 8 of 21)"
    assert len(draw(Panel("digits", "x", "y", tuple(lines[:20]))).axes) == 1


def test_of_too_many_points_the_front_is_labelled_and_the_others_are_pale():
    points = [Series(f"p{n}", (float(n),), (n / 30 if n < 3 else 0.01,), (0.0,)) for n in range(1, 25)]
    front = ((1.0, 1 / 30), (2.0, 2 / 30))
    figure = draw(Panel("digits", "x", "y", tuple(points), front=front))
    (axis,) = figure.axes
    assert set(names_in(axis)) == {"p1", "p2"}
    pale = [line for line in axis.lines if line.get_color() == PALE]
    assert len(pale) == 22
    assert {line.get_marker() for line in pale} == {"o"}
    assert_names(figure.get_supxlabel(), "dashed")
    few = draw(Panel("digits", "x", "y", tuple(points[:20]), front=front))
    assert len(names_in(few.axes[0])) == 20
    assert_names(few.get_supxlabel(), "beaten")


def test_a_few_low_outliers_do_not_compress_the_other_points():
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


def test_a_learner_has_the_same_style_in_every_panel():
    other = Panel("two", "x", "y", (TREE, LINE))
    one, two = draw(PANEL, other).axes
    colours = [{line.get_label(): line.get_color() for line in axis.lines} for axis in (one, two)]
    assert colours[0]["pa"] == colours[1]["pa"]
    assert colours[0]["lomtree (slope 0.10)"] == colours[1]["lomtree (slope 0.10)"]


def test_bars_have_labels_at_the_left_and_values_at_the_right():
    slow, fast = Series("slow", (0,), (2.5,), (0.0,)), Series("fast", (1,), (0.0004,), (0.0,))
    panel = Panel("digits", "train", "", (slow, fast), x_scale="log", names=("slow", "fast"), x_unit="seconds")
    (axis,) = draw(panel).axes
    assert [label.get_text() for label in axis.get_yticklabels()] == ["slow", "fast"]
    assert [text.get_text() for text in axis.texts] == ["2.50 s", "400 µs"]
    first, second = (bar.get_window_extent() for bar in axis.patches)
    assert first.y0 > second.y1  # the first on top
    assert axis.get_xlim()[0] < 0.0004


@pytest.mark.parametrize("front", [((1, 0.5),), ((1, 0.5), (3, 0.7)), ((1, 0.7), (3, 0.5))])
def test_the_pareto_front_spans_the_axis_even_with_a_single_point(front):
    points = tuple(Series(f"p{n}", (x,), (y,), (0.0,)) for n, (x, y) in enumerate([*front, (4, 0.4)]))
    (axis,) = draw(Panel("", "x", "y", points, front=front)).axes
    (steps,) = [line for line in axis.lines if line.get_linestyle() == "--"]
    reached = list(zip(*steps.get_data(), strict=True))
    assert set(front) <= set(reached)
    assert steps.get_ydata().min() == axis.get_ylim()[0]


@pytest.mark.parametrize("style", FIGURE_STYLES)
def test_font_sizes_follow_the_requested_style(tmp_path, style):
    Panels((PANEL,)).save(tmp_path / "a.svg", style=style)
    size = FIGURE_STYLES[style].font_size
    assert f"{size:g}px" in (tmp_path / "a.svg").read_text()


def test_an_unknown_style_is_rejected(tmp_path):
    with pytest.raises(HarnessError, match=naming("poster")):
        Panels((PANEL,)).save(tmp_path / "a.png", style="poster")


def test_a_point_shows_the_spread_on_both_axes():
    point = replace(POINT, x_spread=(0.5,))
    (axis,) = draw(Panel("", "x", "y", (point,))).axes
    across, up = ([bar.get_segments()[0] for bar in axis.collections][place] for place in (0, 1))
    assert across.tolist() == [[1.5, 0.6], [2.5, 0.6]]
    assert up.tolist() == [[2, 0.5], [2, 0.7]]


@given(st.floats(-9, 9), st.floats(0.05, 12))
def test_ticks_of_a_logarithmic_axis_are_inside_few_and_distinct(power, decades):
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


def test_labels_of_a_logarithmic_axis_do_not_overlap():
    line = Series("pa", (20_000, 50_000, 90_000), (1, 2, 3), (0, 0, 0))
    figure = draw(*[Panel("", "x", "y", (line,), "log", "log")] * 3)
    labels = figure.axes[0].get_xticklabels(which="both")
    boxes = sorted((label.get_window_extent() for label in labels if label.get_text()), key=lambda box: box.x0)
    assert len(boxes) >= 3
    assert all(left.x1 < right.x0 for left, right in pairwise(boxes))


def test_numbers_on_a_long_rank_axis_do_not_overlap():
    names = [f"learner-{n}" for n in range(48)]
    found = average_ranks({name: {f"d{i}": float(n) for i in range(3)} for n, name in enumerate(names)}, higher=True)
    figure = draw_diagram(Diagram("R1", found), WEB)
    figure.draw_without_rendering()
    numbers = [text for text in figure.axes[0].texts if text.get_text().isdigit()]
    assert [text.get_text() for text in numbers[:3]] == ["1", "5", "9"]
    assert not overlapping([text.get_window_extent() for text in numbers])


def test_a_critical_difference_diagram_shows_ranks_and_the_critical_difference(tmp_path):
    for name in ("a.svg", "b.svg"):
        Diagram("R1", RANKS).save(tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    words = " ".join(ElementTree.parse(tmp_path / "a.svg").getroot().itertext())
    for text in (
        "ooz  1.00",
        "pa  2.00",
        "3.00  ff",
        f"critical difference {RANKS.difference:.2f}",
        "6 datasets",
        "R1",
    ):
        assert text in words


def test_bars_of_a_diagram_join_learners_without_a_significant_difference():
    (axis,) = draw_diagram(Diagram("R1", RANKS), WEB).axes
    bars = [line for line in axis.lines if line.get_linewidth() == 3.5]
    assert len(bars) == len(RANKS.groups) == 2
    (left, right) = bars[0].get_xdata()
    assert left < 1
    assert 2 < right < 3


def test_ticks_of_times_sizes_and_counts_have_common_units():
    assert log_labels([1e-5, 1e-3, 1.0], "seconds") == ["10 µs", "1 ms", "1 s"]
    assert log_labels([10.0, 100.0, 1e4], "seconds") == ["10 s", "100 s", "10,000 s"]
    assert log_labels([1e3, 2e6], "bytes") == ["1 kB", "2 MB"]
    assert log_labels([5e4, 1e6], "count") == ["50k", "1M"]
    times = Series("pa", (1, 2), (0.0, 0.004), (0, 0))
    (axis,) = draw(Panel("", "passes", "train", (times,), y_unit="seconds")).axes
    assert "1 ms" in [label.get_text() for label in axis.get_yticklabels()]


def many_lines(count):
    """Return lines whose spread exceeds the range of a share."""
    return tuple(replace(LINE, label=f"learner-{place}", spread=(0.6, 0.0, 0.6)) for place in range(count))


def test_few_lines_have_bands_clipped_to_a_share_and_many_lines_have_none():
    (few,) = draw(replace(PANEL, series=many_lines(5), y_unit="share")).axes
    assert len(few.collections) == 5
    heights = few.collections[0].get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (0.0, 1.0)
    crowded = draw(replace(PANEL, series=many_lines(6), y_unit="share"))
    assert len(crowded.axes[0].collections) == 0
    assert_names(crowded.get_supxlabel(), "spread")


def test_a_line_of_many_points_has_few_markers_and_one_at_its_end():
    shares = tuple(n / 100 for n in range(1, 101))
    long = replace(LINE, x=shares, y=shares, spread=(0.0,) * 100)
    (axis,) = draw(replace(PANEL, series=(long, TREE))).axes
    many, few = (line.get_markevery() for line in axis.lines[:2])
    assert few is None
    assert 5 <= len(many) <= 20
    assert many[-1] == 99


def test_a_leader_line_ends_at_the_near_side_of_its_label():
    (axis,) = draw(replace(PANEL, series=many_lines(9))).axes
    for name in axis.texts:
        assert name.arrow_patch.get_path().vertices.size
        begins = name.arrow_patch.get_window_extent()
        assert begins.x1 <= box_of(name).x0 + 1
