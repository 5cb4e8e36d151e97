"""A number in its metric's unit, the way the papers write it: 0.862 ± 0.004, 31 min, 226k."""

from __future__ import annotations

from harness.contract import MetricSpec
from harness.stats import Summary

_TIMES = ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_COUNTS = ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
_BYTES = ((1e9, " GB"), (1e6, " MB"), (1e3, " kB"), (1.0, " B"))


def format_value(summary: Summary, metric: MetricSpec) -> str:
    """Mean ± sd in the metric's unit, the way the papers write them: 0.862 ± 0.004, 31 min, 226k."""
    if metric.unit == "share":
        return f"{summary.mean:.3f}" + (f" ± {summary.sd:.3f}" if summary.sd is not None else "")
    scales = {"seconds": _TIMES, "count": _COUNTS, "bytes": _BYTES}[metric.unit]
    size = abs(summary.mean)
    scale, suffix = next(((s, u) for s, u in scales if size >= s), scales[-1])
    space = " " if metric.unit == "seconds" else ""
    mean, sd = summary.mean / scale, None if summary.sd is None else summary.sd / scale
    digits = _digits(abs(mean))
    spread = "" if sd is None else f" ± {sd:.{digits}f}"
    return f"{mean:.{digits}f}{spread}{space}{suffix}"


def _digits(size: float) -> int:
    """Digits behind the point for three figures of the mean; its spread is written as finely."""
    return 2 if size == 0 else next(digits for digits, least in enumerate((100, 10, 1, 0)) if size >= least)
