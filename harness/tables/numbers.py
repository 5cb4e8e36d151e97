"""Numbers in their metric's unit, the way the papers write them: 0.862 ± 0.004, 31 min, 226k."""

from __future__ import annotations

from harness.contract import MetricSpec
from harness.stats import Summary

_SUFFIXES = {
    "seconds": ((3600.0, " h"), (60.0, " min"), (1.0, " s"), (1e-3, " ms"), (1e-6, " µs"), (1e-9, " ns")),
    "count": ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")),
    "bytes": ((1e9, " GB"), (1e6, " MB"), (1e3, " kB"), (1.0, " B")),
}
"""By unit, from the largest scale down to the one that takes whatever is smaller."""


def format_value(summary: Summary, metric: MetricSpec) -> str:
    """Mean ± sd in the metric's unit."""
    if metric.unit == "share":
        scale, suffix, digits = 1.0, "", 3
    else:
        scale, suffix = _scale_for(abs(summary.mean), metric.unit)
        digits = _digits_for(abs(summary.mean / scale))
    mean = f"{summary.mean / scale:.{digits}f}"
    if summary.sd is None:
        return mean + suffix
    return f"{mean} ± {summary.sd / scale:.{digits}f}{suffix}"


def format_difference(difference: float, metric: MetricSpec) -> str:
    """A difference in the metric's unit, with its sign."""
    sign = "-" if difference < 0 else "+"
    return sign + format_value(Summary(abs(difference), None, 1), metric)


def format_p(p_value: float | None) -> str:
    """A p-value, or a dash where nothing was tested."""
    if p_value is None:
        return "-"
    if p_value < 0.001:
        return "<0.001"
    return f"{p_value:.3f}"


def plain_numbers(summary: Summary | None) -> tuple[float | None, float | None, int]:
    """Mean, sd and n in full, for programs."""
    if summary is None:
        return None, None, 0
    return summary.mean, summary.sd, summary.n


def _scale_for(size: float, unit: str) -> tuple[float, str]:
    scales = _SUFFIXES[unit]
    for scale, suffix in scales:
        if size >= scale:
            return scale, suffix
    return scales[-1]


def _digits_for(size: float) -> int:
    """Digits behind the point for three figures of the mean; its spread is written as finely."""
    if size >= 100:
        return 0
    if size >= 10:
        return 1
    if size >= 1 or size == 0:
        return 2
    return 3
