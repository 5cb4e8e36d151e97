"""Which metrics a table shows: those named, or those meant to be shown that anything has a value for."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from harness.catalog import Catalog
from harness.contract import MetricSpec
from harness.metric import find_metric
from harness.record import Record


def choose_columns(
    catalog: Catalog, names: Iterable[str] | None, records: Sequence[Record] | None = None
) -> list[MetricSpec]:
    """The metrics named; or those shown by default, less those that none of the records has a value for."""
    if names:
        return [find_metric(name, catalog).spec for name in names]
    shown = [entry.spec for entry in catalog.metrics if entry.spec.shown]
    finished = [record for record in records or () if record.status == "ok"]
    if not finished:
        return shown
    return [metric for metric in shown if any(record.scores.get(metric.name) is not None for record in finished)]
