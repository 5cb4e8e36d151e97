"""Names beside what they name, so that no legend is needed: at points, and at the ends of lines. None over another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.text import Annotation, Text
from matplotlib.transforms import Bbox

DIRECTIONS = ((1, 0), (1, 1), (1, -1), (0, 1), (0, -1), (-1, 0), (-1, 1), (-1, -1))
"""Where a name is tried, the most readable place first."""
DISTANCES = (6, 12, 20, 30, 42, 56, 75, 100)
"""In points; from the second on a thin line leads from the name to its point."""
SIDES = {-1: "right", 0: "center", 1: "left"}
HEIGHTS = {-1: "top", 0: "center", 1: "bottom"}


@dataclass(frozen=True)
class Named:
    """A place in the data's own numbers, and what stands beside it."""

    x: float
    y: float
    text: str
    colour: str


def label_points(axis: Axes, named: Sequence[Named], font_size: float) -> None:
    """Write a name beside each point, where it meets no other name and no point."""
    places = axis.transData.transform([(one.x, one.y) for one in named])
    taken = [Bbox.from_extents(x - 4, y - 4, x + 4, y + 4) for x, y in places]
    for one in named:
        label = _best_placed(axis, one, taken, font_size)
        taken.append(box_of(label))


def _best_placed(axis: Axes, one: Named, taken: Sequence[Bbox], font_size: float) -> Annotation:
    """The name at the first place that is free; at the least crowded one where none is."""
    best: Annotation | None = None
    least = float("inf")
    for distance in DISTANCES:
        for direction in DIRECTIONS:
            tried = _write(axis, one, direction, distance, font_size)
            crowding = _crowding(box_of(tried), taken, axis.get_window_extent())
            if crowding >= least:
                tried.remove()
                continue
            if best is not None:
                best.remove()
            best, least = tried, crowding
            if crowding == 0:
                return best
    assert best is not None
    return best


def box_of(label: Annotation) -> Bbox:
    """Where the letters of a name are, without the line that leads to it."""
    label.get_window_extent()  # settles where it stands
    return Text.get_window_extent(label)


def _write(axis: Axes, one: Named, direction: tuple[int, int], distance: int, font_size: float) -> Annotation:
    across, up = direction
    leads = distance > DISTANCES[0]
    return axis.annotate(
        one.text,
        (one.x, one.y),
        xytext=(across * distance, up * distance),
        textcoords="offset points",
        ha=SIDES[across],
        va=HEIGHTS[up],
        fontsize=font_size,
        color=one.colour,
        arrowprops=_lead(one, (1 - across) / 2) if leads else None,
        bbox={"boxstyle": "square,pad=0.1", "fc": "white", "ec": "none", "alpha": 0.85},  # error bars may lie behind
    )


def _lead(one: Named, side: float) -> dict[str, Any]:
    """A thin line from the point to the near side of its name: 0 for the left one, 1 for the right one."""
    thin = {"arrowstyle": "-", "color": one.colour, "linewidth": 0.6, "alpha": 0.85}
    return {**thin, "relpos": (side, 0.5), "shrinkA": 1, "shrinkB": 3}


def _crowding(box: Bbox, taken: Sequence[Bbox], inside: Bbox) -> float:
    """How much of a name lies over others or outside of the axes, in pixels of area."""
    area = box.width * box.height
    within = Bbox.intersection(box, inside)
    total = area if within is None else area - within.width * within.height
    for other in taken:
        shared = Bbox.intersection(box, other)
        if shared is not None:
            total += shared.width * shared.height
    return max(total, 0.0) if total > 1e-6 else 0.0


def label_ends(axis: Axes, named: Sequence[Named], font_size: float) -> None:
    """Write names to the right of the axes, each as near to the height of its line's end as the others allow."""
    box = axis.get_window_extent()
    step = font_size * 1.25 * axis.figure.dpi / 72
    ends = axis.transData.transform([(one.x, one.y) for one in named])
    order = sorted(range(len(named)), key=lambda place: ends[place][1])
    heights = spread_out([ends[place][1] for place in order], step, box.y0, box.y1)
    for place, height in zip(order, heights, strict=True):
        one = named[place]
        axis.annotate(
            one.text,
            (one.x, one.y),
            xytext=(1.06, (height - box.y0) / box.height),
            textcoords="axes fraction",
            ha="left",
            va="center",
            fontsize=font_size,
            color=one.colour,
            annotation_clip=False,
            arrowprops=_lead(one, 0.0),
        )


def spread_out(wanted: Sequence[float], step: float, low: float, high: float) -> list[float]:
    """Heights in the same rising order, at least `step` apart and as near to those wanted as one sweep each way gets.

    They stay between `low` and `high` as long as there is room for all.
    """
    heights: list[float] = []
    for place, height in enumerate(wanted):
        lowest = heights[-1] + step if heights else low
        heights.append(max(height, lowest))
        room_above = (len(wanted) - 1 - place) * step
        heights[-1] = max(lowest, min(heights[-1], high - room_above))
    return heights
