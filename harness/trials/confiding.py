"""How sure a trial's learner is of each test row, calibrated on training rows that it holds out: no test row is met."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness.models.calibration import calibrate
from harness.split import Split
from harness.trials.asking import ask
from harness.trials.blueprint import build_estimator
from harness.trials.building import extra_arguments, seed_shared_chance
from harness.trials.clock import Clock
from harness.trials.outcome import Ranking, first_is_true
from harness.trials.parts import load_validation_parts
from harness.trials.trial import Trial

HELD_OUT = Split("holdout", 0.2)


def find_confidence(trial: Trial, ranking: Ranking) -> NDArray[np.float32]:
    """The confidence of each row of the ranking, by what a second learner, trained on fewer rows, got right.

    A row that ranks no class has none.
    """
    parts = load_validation_parts(trial, HELD_OUT)
    learner = build_estimator(trial.blueprint)
    seed_shared_chance(trial.seed)
    learner.fit(parts.train.X, parts.train.y, **extra_arguments(learner, trial, parts.taxonomy))
    held_out = ask(learner, parts, 1, Clock()).ranking
    calibrator = calibrate(held_out.scores, first_is_true(held_out.ranks, parts.test.y)).calibrator
    scores = np.zeros((len(ranking.ranks), 2)) if ranking.scores is None else ranking.scores
    confidence = calibrator.confidence(np.asarray(scores, dtype=np.float64))
    return np.where(ranking.ranks[:, 0] >= 0, confidence, 0.0).astype(np.float32)
