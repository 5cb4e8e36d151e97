"""Ticks of axes: plain numbers in units that people say, few enough not to meet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, floor, log10

from matplotlib.axis import Axis, XAxis
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, MaxNLocator, NullFormatter

from harness.quantities import say_shortly

MOST_ACROSS, MOST_UP = 5, 8
"""Ticks of an axis, at most."""
SAID_UNITS = ("seconds", "bytes", "count")
"""Units whose numbers are said with a scale behind: 5 ms, 20 MB, 300k."""


def tick_logarithmic(axis: Axis, unit: str) -> None:
    """Set the ticks of a logarithmic axis; matplotlib's own choice writes 2x10^0, 3x10^0, ... over each other."""
    is_across = isinstance(axis, XAxis)
    most = MOST_ACROSS if is_across else MOST_UP  # letters lie side by side, or one above the other
    ticks = log_ticks(*axis.get_view_interval(), most)
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FixedFormatter(log_labels(ticks, unit)))
    axis.set_minor_formatter(NullFormatter())


def tick_linear(axis: Axis, unit: str, *, whole: bool) -> None:
    """Set the ticks of a linear axis, at whole numbers only where nothing lies between."""
    axis.set_major_locator(MaxNLocator(6, steps=[1, 2, 2.5, 5, 10], integer=whole))
    if unit in SAID_UNITS:
        axis.set_major_formatter(FuncFormatter(lambda value, _: say_shortly(value, unit)))


def log_ticks(low: float, high: float, most: int = MOST_UP) -> list[float]:
    """At most so many: powers of ten, where these are too few their 1, 2 and 5 fold, or else evenly spaced numbers."""
    for leads in ((1,), (1, 2, 5)):
        ticks = _ticks_within(_leads_by_powers(leads, low, high), low, high)
        if len(ticks) >= 3:
            return ticks[:: ceil(len(ticks) / most)]
    return _ticks_within(MaxNLocator(5).tick_values(low, high), low, high)


def _leads_by_powers(leads: Sequence[int], low: float, high: float) -> list[float]:
    """So many fold of every power of ten about a range, in their order."""
    numbers = []
    for power in range(floor(log10(low)), ceil(log10(high)) + 1):
        for lead in leads:
            numbers.append(float(f"{lead}e{power}"))
    return numbers


def _ticks_within(ticks: Iterable[float], low: float, high: float) -> list[float]:
    return [float(tick) for tick in ticks if low <= tick <= high]


def log_labels(ticks: Sequence[float], unit: str = "") -> list[str]:
    """In their unit; else written out where all lie from 0.0001 to below a million, or all with a power of ten."""
    if unit in SAID_UNITS:
        return [say_shortly(tick, unit) for tick in ticks]
    if all(1e-4 <= tick < 1e6 for tick in ticks):
        return [f"{tick:,.6g}" for tick in ticks]
    return [_with_power(tick) for tick in ticks]


def _with_power(value: float) -> str:
    lead, _, power = f"{value:.3e}".partition("e")
    if float(lead) == 1:
        return f"$10^{{{int(power)}}}$"
    return rf"${float(lead):g} \cdot 10^{{{int(power)}}}$"
