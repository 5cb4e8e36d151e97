"""Numbers in their metric's unit, the way the papers write them: 0.862 ± 0.004, 31 min, 226k."""

from __future__ import annotations

from harness.contract import MetricSpec
from harness.quantities import digits_of, scale_of
from harness.stats import Summary


def format_value(summary: Summary, metric: MetricSpec) -> str:
    """Mean ± sd in the metric's unit."""
    scale, suffix = scale_of(abs(summary.mean), metric.unit)
    digits = 3 if metric.unit == "share" else digits_of(abs(summary.mean / scale))
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
