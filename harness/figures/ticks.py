"""Ticks of logarithmic axes: plain numbers, few enough not to meet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import ceil, floor, log10

from matplotlib.axis import Axis
from matplotlib.ticker import FixedFormatter, FixedLocator, MaxNLocator, NullFormatter

MOST_TICKS = 8


def tick_logarithmic(axis: Axis) -> None:
    """Set the ticks of an axis; matplotlib's own choice writes 2x10^0, 3x10^0, ... over each other."""
    ticks = log_ticks(*axis.get_view_interval())
    axis.set_major_locator(FixedLocator(ticks))
    axis.set_major_formatter(FixedFormatter(log_labels(ticks)))
    axis.set_minor_formatter(NullFormatter())


def log_ticks(low: float, high: float) -> list[float]:
    """At most 8: powers of ten, or where these are too few their 1, 2 and 5 fold, or else evenly spaced numbers."""
    for leads in ((1,), (1, 2, 5)):
        ticks = _ticks_within(_leads_by_powers(leads, low, high), low, high)
        if len(ticks) >= 3:
            return ticks[:: ceil(len(ticks) / MOST_TICKS)]
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


def log_labels(ticks: Sequence[float]) -> list[str]:
    """Written out where all lie from 0.0001 to below a million, all with a power of ten otherwise."""
    if all(1e-4 <= tick < 1e6 for tick in ticks):
        return [f"{tick:,.6g}" for tick in ticks]
    return [_with_power(tick) for tick in ticks]


def _with_power(value: float) -> str:
    lead, _, power = f"{value:.3e}".partition("e")
    if float(lead) == 1:
        return f"$10^{{{int(power)}}}$"
    return rf"${float(lead):g} \cdot 10^{{{int(power)}}}$"
