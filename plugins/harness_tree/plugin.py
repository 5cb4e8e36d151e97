"""What this plugin brings, by name only: nothing is imported or read here."""

from __future__ import annotations

from harness import LearnerSpec, hookimpl


@hookimpl
def harness_learners() -> list[LearnerSpec]:
    return []
