"""A trial's learner and representation, fitted on rows of one's choice: what calibration and models need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.contract import Dataset
from harness.trials.blueprint import Blueprint, build_estimator
from harness.trials.building import extra_arguments, seed_shared_chance
from harness.trials.represent import as_text_array, checked_representation, fit_transform, rows_for
from harness.trials.trial import Trial


@dataclass(frozen=True)
class FittedPair:
    """A fitted representation, None where the learner takes rows as they are, and the learner behind it."""

    representation: Any
    learner: Any
    takes_text: bool
    wants_dense: bool

    def see(self, rows: Any) -> Any:
        """Rows of the data as the learner sees them."""
        if self.representation is None:
            return as_text_array(rows) if self.takes_text else rows
        seen = checked_representation(self.representation.transform(rows))
        return seen.toarray() if self.wants_dense else seen


def fit_pair(trial: Trial, blueprint: Blueprint, data: Dataset, rows: NDArray[np.int64]) -> FittedPair:
    """Fit the representation of a trial, and a learner by this blueprint, on these rows of its data."""
    plan = trial.representing
    source, y = rows_for(data, plan.takes_text)[rows], data.y[rows]
    representation = None
    if plan.blueprint is None:
        X: Any = as_text_array(source)
    else:
        representation = build_estimator(plan.blueprint)
        X = checked_representation(fit_transform(representation, source, y))
    if trial.wants_dense:
        X = X.toarray()
    learner = build_estimator(blueprint)
    seed_shared_chance(trial.seed)
    learner.fit(X, y, **extra_arguments(learner, trial, data.taxonomy))
    return FittedPair(representation, learner, plan.takes_text, trial.wants_dense)
