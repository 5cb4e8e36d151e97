"""Some of the records: those whose field is one of the values that a user names, or whose times compare."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.contract import MetricSpec
from harness.errors import HarnessError
from harness.groups import Line
from harness.machine import Machine
from harness.record import Record
from harness.suggestions import nearest
from harness.tables.conditions import comparable


def only_with(records: list[Record], name: str, wanted: Sequence[str] | None) -> list[Record]:
    """The records whose field is one of these; a value that none has is an error."""
    if wanted is None:
        return records
    known = {getattr(record, name) for record in records}
    for value in wanted:
        if value not in known:
            near = nearest(value, sorted(known))
            hint = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(sorted(known))}"
            raise HarnessError(f"there is no {name} {value!r} in these results: {hint}")
    return [record for record in records if getattr(record, name) in wanted]


def lines_to_compare(
    lines: Sequence[Line], metrics: Sequence[MetricSpec], machines: Mapping[str, Machine]
) -> list[Line]:
    """The lines with the times of one condition for each data set; HarnessError where times are asked for and none
    compare."""
    found = comparable(lines, metrics, machines)
    for metric in metrics:
        if metric not in found.metrics:
            raise HarnessError(f"{metric.name} was measured under several conditions: {found.told[0]}")
    return found.lines
