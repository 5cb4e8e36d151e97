"""Registers the metrics by name; computes nothing."""

from collections.abc import Iterable

from harness import MetricSpec, hookimpl

RANKING = [
    MetricSpec(
        name=f"r{k}",
        compute=f"harness_metrics.ranking:r{k}",
        title=f"R{k}",
        summary=summary,
        depth=k,
    )
    for k, summary in [
        (1, "share of rows whose first class is a true one"),
        (5, "share of rows with a true class among the first five"),
    ]
]

COST = [
    MetricSpec(
        name="train",
        compute="harness_metrics.cost:train",
        title="train",
        summary="time of fit by the clock",
        direction="lower",
        unit="seconds",
        depth=0,
        timed=True,
    ),
    MetricSpec(
        name="train_cpu",
        compute="harness_metrics.cost:train_cpu",
        title="train CPU",
        summary="processor time of fit, all threads together",
        direction="lower",
        unit="seconds",
        depth=0,
        timed=True,
        shown=False,
    ),
    MetricSpec(
        name="predict",
        compute="harness_metrics.cost:predict",
        title="per prediction",
        summary="time to rank one row by the clock",
        direction="lower",
        unit="seconds",
        depth=0,
        timed=True,
    ),
    MetricSpec(
        name="index",
        compute="harness_metrics.cost:index",
        title="|I|",
        summary="stored non-zero weights",
        direction="lower",
        unit="count",
        depth=0,
    ),
    MetricSpec(
        name="index_bytes",
        compute="harness_metrics.cost:index_bytes",
        title="index bytes",
        summary="memory that the fitted index takes",
        direction="lower",
        unit="bytes",
        depth=0,
        shown=False,
    ),
    MetricSpec(
        name="edges",
        compute="harness_metrics.cost:edges",
        title="e",
        summary="edges read per active feature while ranking",
        direction="lower",
        unit="count",
        depth=0,
    ),
    MetricSpec(
        name="peak",
        compute="harness_metrics.cost:peak",
        title="peak memory",
        summary="most memory that the process held during fit",
        direction="lower",
        unit="bytes",
        depth=0,
        timed=True,  # not a time, but page sizes and allocators differ between machines
        shown=False,
    ),
]


@hookimpl
def harness_metrics() -> Iterable[MetricSpec]:
    """How well, then at what cost."""
    return [*RANKING, *COST]
