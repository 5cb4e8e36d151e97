"""Registers the learners of this plugin by name; imports none of them."""

from __future__ import annotations

from harness import LearnerSpec, hookimpl


@hookimpl
def harness_learners() -> list[LearnerSpec]:
    """Return the built-in learners of this family."""
    return [
        LearnerSpec(
            name="pa",
            load="harness_prototype.pa:PA",
            kind="flat",
            summary="passive-aggressive prototypes: PA, PA-I and PA-II",
            supports=frozenset({"multilabel"}),
            preload=("harness_prototype.pa",),
            paper_params={"C": 0.01, "margin": 0.05, "passes": 20},
            tune={"C": [0.01, 0.1, 0.3, 1.0]},
        ),
        LearnerSpec(
            name="mmp",
            load="harness_prototype.mmp:MMP",
            kind="flat",
            summary="multi-class multi-label perceptron: moves every prototype that is ordered wrongly",
            supports=frozenset({"multilabel"}),
            preload=("harness_prototype.mmp",),
            tune={"passes": [3, 5, 10, 20]},
        ),
        LearnerSpec(
            name="perceptron",
            load="harness_prototype.perceptron:Perceptron",
            kind="flat",
            summary="multi-class perceptron: a mistake moves two prototypes",
            preload=("harness_prototype.perceptron",),
            tune={"passes": [5, 10, 20, 40]},
        ),
        LearnerSpec(
            name="bounded-perceptron",
            load="harness_prototype.bounded_perceptron:BoundedPerceptron",
            kind="flat",
            summary="binary OOZ: perceptrons with weights from 0 to 1, one class against the rest",
            supports=frozenset({"multilabel"}),
            preload=("harness_prototype.bounded_perceptron",),
            tune={"beta": [0.01, 0.03, 0.1, 0.3]},
        ),
        LearnerSpec(
            name="winnow",
            load="harness_prototype.winnow:Winnow",
            kind="flat",
            summary="one Winnow per class: weights are multiplied on mistakes",
            supports=frozenset({"multilabel"}),
            preload=("harness_prototype.winnow",),
            paper_params={"alpha": 2.0},
            tune={"alpha": [1.05, 1.1, 1.5, 2.0]},
        ),
        LearnerSpec(
            name="ovr-perceptron",
            load="harness_prototype.ovr_perceptron:OVRPerceptron",
            kind="flat",
            summary="one-vs-rest perceptrons, or with members=10 a committee of ten",
            supports=frozenset({"multilabel"}),
            preload=("harness_prototype.ovr_perceptron",),
            paper_params={"passes": 20},
            tune={"passes": [5, 10, 20, 40]},
        ),
    ]
