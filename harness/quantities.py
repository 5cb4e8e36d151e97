"""Numbers as people say them: 72.0 µs, 31 min, 226k, 8.3 MB. For tables and figures alike."""

from __future__ import annotations

SUFFIXES = {
    "seconds": ((3600.0, " h"), (60.0, " min"), (1.0, " s"), (1e-3, " ms"), (1e-6, " µs"), (1e-9, " ns")),
    "count": ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")),
    "bytes": ((1e9, " GB"), (1e6, " MB"), (1e3, " kB"), (1.0, " B")),
}
"""By unit, from the largest scale down to the one that takes whatever is smaller."""


def scale_of(size: float, unit: str) -> tuple[float, str]:
    """What a number of this size is divided by, and what is written behind it; shares stay as they are."""
    scales = SUFFIXES.get(unit, ((1.0, ""),))
    for scale, suffix in scales:
        if size >= scale:
            return scale, suffix
    return scales[-1]


def digits_of(size: float) -> int:
    """Digits behind the point for three figures of a scaled number; its spread is written as finely."""
    if size >= 100:
        return 0
    if size >= 10:
        return 1
    if size >= 1 or size == 0:
        return 2
    return 3


def say(value: float, unit: str) -> str:
    """A number with three figures in its unit."""
    scale, suffix = scale_of(abs(value), unit)
    digits = 3 if unit == "share" else digits_of(abs(value / scale))
    return f"{value / scale:.{digits}f}{suffix}"


def say_shortly(value: float, unit: str) -> str:
    """A round number, such as stands at a tick, without digits that say nothing.

    Ticks are round by powers of ten, so that times stay seconds: 100 s and not 1.66667 min.
    """
    scale, suffix = scale_of(abs(value), unit)
    if unit == "seconds" and scale > 1:
        scale, suffix = 1.0, " s"
    return f"{value / scale:,.6g}{suffix if value else ''}"
