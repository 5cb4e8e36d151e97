"""Some of the records: those whose field is one of the values that a user names."""

from __future__ import annotations

from collections.abc import Sequence

from harness.errors import HarnessError
from harness.record import Record
from harness.suggestions import nearest


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
