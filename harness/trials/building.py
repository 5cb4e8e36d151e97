"""Learners as a trial makes them: built from its parameters, given what they take, warm before the clock runs."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse

from harness.contract import Taxonomy
from harness.signature import import_target
from harness.trials.ranking import rank_positions

WARMUP_ROWS = 64


def build_learner(trial: Mapping[str, Any]) -> Any:
    """A fresh learner with the trial's parameters, and in it, where it is built round another, a fresh one of those."""
    return _build(trial["learner_load"], trial["params"], trial["inner"])


def _build(load: str, params: dict[str, Any], inner: dict[str, Any] | None) -> Any:
    if inner is not None:
        params = {**params, inner["parameter"]: _build(inner["load"], inner["params"], inner["inner"])}
    return import_target(load)(**params)


def extra_arguments(learner: Any, trial: Mapping[str, Any], taxonomy: Taxonomy | None) -> dict[str, Any]:
    """What fit gets beside X and y: the class tree, where the data has one and the learner takes it."""
    wanted = trial["wants_taxonomy"] or takes(learner, "taxonomy")
    return {"taxonomy": taxonomy} if wanted and taxonomy is not None else {}


def takes(learner: Any, argument: str) -> bool:
    """Whether the learner's fit has an argument of this name."""
    return argument in inspect.signature(learner.fit).parameters


def seed_shared_chance(seed: int) -> None:
    """Decide also for a learner that draws from the generators that everybody shares."""
    random.seed(seed)
    np.random.seed(seed)


def warm_up(build: Callable[[], Any], X: Any, y: Any, extra: dict[str, Any]) -> None:
    """Fit and rank a few rows, so that whatever compiles on first use has compiled before the clock runs."""
    try:
        if issparse(y):
            rows = np.arange(min(WARMUP_ROWS, y.shape[0]))
        else:
            other = np.flatnonzero(y != y[0])[:1]  # two classes at least, or many learners refuse
            rows = np.union1d(np.arange(min(WARMUP_ROWS, len(y))), other)
        learner = build()
        learner.fit(X[rows], y[rows], **extra)
        rank_positions(learner, X[rows[:2]], 1)
    except Exception:  # too few rows for this learner: then it starts cold, and nothing else is lost
        return
