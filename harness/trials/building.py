"""Learners as a trial treats them: given what they take, their chance seeded, warm before the clock runs."""

from __future__ import annotations

import inspect
import random
from typing import Any

import numpy as np
from scipy.sparse import issparse

from harness.abilities import Learner, Stages
from harness.contract import Taxonomy
from harness.trials.blueprint import Blueprint, build_estimator
from harness.trials.parts import TrainingPart
from harness.trials.ranking import rank_positions
from harness.trials.trial import Trial

WARMUP_ROWS = 64


def extra_arguments(learner: Learner, trial: Trial, taxonomy: Taxonomy | None) -> dict[str, Any]:
    """What fit gets beside X and y: the class tree, where the data has one and the learner takes it."""
    wanted = trial.wants_taxonomy or takes(learner, "taxonomy")
    return {"taxonomy": taxonomy} if wanted and taxonomy is not None else {}


def takes(learner: Learner, argument: str) -> bool:
    """Whether the learner's fit has an argument of this name."""
    return argument in inspect.signature(learner.fit).parameters


def stage(learner: Learner, part: TrainingPart) -> dict[str, Any]:
    """What fit gets beside X and y of a learner that brings the rows into a form of its own first; else nothing."""
    return {"staged": learner.stage(part.X, part.y)} if isinstance(learner, Stages) else {}


def seed_shared_chance(seed: int) -> None:
    """Decide also for a learner that draws from the generators that everybody shares."""
    random.seed(seed)
    np.random.seed(seed)


def warm_up(blueprint: Blueprint, part: TrainingPart, extra: dict[str, Any]) -> None:
    """Fit and rank a few rows, so that whatever compiles on first use has compiled before the clock runs."""
    X, y = part.X, part.y
    try:
        if issparse(y):
            rows = np.arange(min(WARMUP_ROWS, y.shape[0]))
        else:
            other = np.flatnonzero(y != y[0])[:1]  # two classes at least, or many learners refuse
            rows = np.union1d(np.arange(min(WARMUP_ROWS, len(y))), other)
        learner = build_estimator(blueprint)
        few = TrainingPart(X[rows], y[rows])
        learner.fit(few.X, few.y, **extra, **stage(learner, few))
        learner.predict(X[rows[:2]])
        rank_positions(learner, X[rows[:2]], 2)
    except Exception:  # too few rows for this learner: then it starts cold, and nothing else is lost
        return
