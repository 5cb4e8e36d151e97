"""Registers the experiments of the papers by name; reads none of them."""

from collections.abc import Iterable

from harness import ExperimentSpec, hookimpl


@hookimpl
def harness_experiments() -> Iterable[ExperimentSpec]:
    """The experiments of the papers."""
    return [
        ExperimentSpec(
            name="pa-steps",
            resource="harness_papers:pa_steps.toml",
            summary="the printed step of PA-II against the exact one",
        )
    ]
