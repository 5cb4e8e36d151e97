"""Registers the learners of this plugin by name; imports none of them."""

from __future__ import annotations

from harness import LearnerSpec, hookimpl


@hookimpl
def harness_learners() -> list[LearnerSpec]:
    """Return the built-in learners of this family."""
    return [
        LearnerSpec(
            name="ooz",
            load="harness_index.ooz:OOZ",
            kind="flat",
            summary="weight shifting in a sparse index: rivals lose what the true class gains",
            supports=frozenset({"multilabel"}),
            preload=("harness_index.ooz",),
            paper_params={"beta": 0.1, "delta": 0.5, "d": 25, "passes": 20},
            tune={"beta": [0.003, 0.1], "delta": [0.002, 0.5]},
        ),
        LearnerSpec(
            name="ema",
            load="harness_index.ema:EMA",
            kind="flat",
            summary="exponential moving averages in a sparse index, updated where the margin is missed",
            supports=frozenset({"multilabel"}),
            preload=("harness_index.ema",),
            paper_params={"beta": 0.6, "delta": 7.0, "d": 25, "passes": 30},
            tune={"beta": [0.05, 0.3], "delta": [0.1, 0.5]},
        ),
        LearnerSpec(
            name="ff",
            load="harness_index.ff:FF",
            kind="flat",
            summary="feature focus: class frequencies in a sparse index, counted where the margin is missed",
            supports=frozenset({"multilabel"}),
            preload=("harness_index.ff",),
            paper_params={"delta": 0.5, "d": 25, "warm": 0, "passes": 1},
            tune={"delta": [0.0, 0.05, 0.1, 0.5]},
        ),
    ]
