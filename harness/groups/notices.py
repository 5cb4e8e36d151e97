"""What should be known of a trial that did not fail: the learner's warnings, and tuning at the edge of a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from harness.record import Record


def notices_of(record: Record) -> list[str]:
    """A line for each thing to know."""
    edges = [f"tuning chose the edge of its grid, {choice}" for choice in edge_choices(record)]
    return [*record.warnings, *edges]


def edge_choices(record: Record) -> list[str]:
    """The chosen numbers that are the least or the largest of those tried, of three or more."""
    found = []
    for name, chosen in sorted(record.tuned.items()):
        tried = {candidate.params.get(name) for candidate in record.tuning}
        numbers = sorted(value for value in tried if isinstance(value, int | float) and not isinstance(value, bool))
        if len(numbers) >= 3 and chosen in (numbers[0], numbers[-1]):
            found.append(f"{name}={chosen} of {numbers[0]} to {numbers[-1]}")
    return found
