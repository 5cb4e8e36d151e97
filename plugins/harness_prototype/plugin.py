"""What this plugin brings, by name only: no learner is imported here."""

from __future__ import annotations

from harness import LearnerSpec, hookimpl


@hookimpl
def harness_learners() -> list[LearnerSpec]:
    return [
        LearnerSpec(
            name="pa",
            load="harness_prototype.pa:PA",
            kind="flat",
            summary="passive-aggressive prototypes: PA, PA-I and PA-II",
            preload=("harness_prototype.pa",),
        )
    ]
