"""What this plugin brings, by name only: nothing is imported or read here."""

from __future__ import annotations

from harness import DatasetSpec, hookimpl


@hookimpl
def harness_datasets() -> list[DatasetSpec]:
    return []
