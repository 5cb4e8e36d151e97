"""Fit learners: seed, build, stage and fit.

Trials, tuning, calibration, the conformance checks and `harness fit` all call `fit` of this module. A learner is
therefore trained in the same way everywhere.
"""

from __future__ import annotations

import inspect
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from harness.host.contract import AfterPass, Dataset, Learner, Stages, Taxonomy
from harness.trials.clock import Clock
from harness.trials.data import FittedRepresentation, TrainingPart, fit_representation, rows_for
from harness.trials.predict import rank_positions
from harness.trials.trial import Blueprint, Trial, build_estimator

WARMUP_ROWS = 64


@dataclass(frozen=True)
class FitObserver:
    """Times staging and fitting. A trial uses a subclass that also reports phases, warnings and memory.

    Attributes
    ----------
    stage_clock : Clock
        Time of the learner's `stage`; 0 for a learner without this method.
    fit_clock : Clock
        Time of the learner's `fit`.
    """

    stage_clock: Clock = field(default_factory=Clock)
    fit_clock: Clock = field(default_factory=Clock)

    @contextmanager
    def staging(self) -> Iterator[None]:
        """Time the block as staging."""
        with self.stage_clock.running():
            yield

    @contextmanager
    def fitting(self) -> Iterator[None]:
        """Time the block as fitting."""
        with self.fit_clock.running():
            yield


def fit(
    estimator: Blueprint | Any,
    part: TrainingPart,
    *,
    seed: int | None,
    taxonomy: Taxonomy | None = None,
    wants_taxonomy: bool = False,
    after_pass: AfterPass | None = None,
    observer: FitObserver | None = None,
) -> Any:
    """Build a learner, seed the shared random generators, stage the rows and fit.

    Parameters
    ----------
    estimator : Blueprint or learner
        A blueprint is built first. A learner that is already built is fitted without changes.
    part : TrainingPart
        Training rows as the learner sees them, and their labels.
    seed : int or None
        Seeds `random` and `numpy.random` for learners that draw from them. None leaves both generators alone.
    taxonomy : Taxonomy, optional
        The class tree of the data, if it has one.
    wants_taxonomy : bool
        True to pass the class tree even if the signature of `fit` does not name it, such as one with `**kwargs`.
    after_pass : callable, optional
        Passed to the learner's `fit`, which calls it with the number of each finished pass over the data.
    observer : FitObserver, optional
        Times staging and fitting.

    Returns
    -------
    learner
        The fitted learner.
    """
    observer = observer or FitObserver()
    learner = build_estimator(estimator) if isinstance(estimator, Blueprint) else estimator
    arguments = taxonomy_argument(learner, taxonomy, wanted=wants_taxonomy)
    if after_pass is not None:
        arguments["after_pass"] = after_pass
    if seed is not None:
        seed_shared_generators(seed)
    if isinstance(learner, Stages):
        with observer.staging():
            arguments["staged"] = learner.stage(part.X, part.y)
    with observer.fitting():
        learner.fit(part.X, part.y, **arguments)
    return learner


def taxonomy_argument(learner: Learner, taxonomy: Taxonomy | None, *, wanted: bool) -> dict[str, Any]:
    """Return the keyword arguments for `fit` that pass the class tree.

    The result is empty if the data has no class tree, or if the learner does not take one and it is not `wanted`.

    Parameters
    ----------
    learner : Learner
        The learner, which may or may not have the argument.
    taxonomy : Taxonomy or None
        Tree of the classes; None if the data has none.
    wanted : bool
        Whether the learner declares that it needs the tree.
    """
    is_passed = taxonomy is not None and (wanted or takes(learner, "taxonomy"))
    return {"taxonomy": taxonomy} if is_passed else {}


def takes(learner: Learner, argument: str) -> bool:
    """Return whether the learner's `fit` has an argument of this name."""
    return argument in inspect.signature(learner.fit).parameters


def seed_shared_generators(seed: int) -> None:
    """Seed `random` and `numpy.random`, for learners that ignore `random_state`."""
    random.seed(seed)
    np.random.seed(seed)


def warm_up(
    blueprint: Blueprint, part: TrainingPart, *, taxonomy: Taxonomy | None = None, wants_taxonomy: bool = False
) -> None:
    """Fit and rank a few rows before the clock starts, for code that is compiled on first use.

    Errors are ignored, because some learners cannot fit so few rows. Their compile time then counts as fit time.

    Parameters
    ----------
    blueprint : Blueprint
        The learner, which is built anew.
    part : TrainingPart
        Training rows, of which a few are used.
    taxonomy : Taxonomy, optional
        Tree of the classes; None if the data has none.
    wants_taxonomy : bool, default=False
        Whether the learner declares that it needs the tree.
    """
    X, y = part.X, part.y
    try:
        rows = _warm_up_rows(y)
        few = TrainingPart(X[rows], y[rows])
        learner = fit(blueprint, few, seed=None, taxonomy=taxonomy, wants_taxonomy=wants_taxonomy)
        learner.predict(X[rows[:2]])
        rank_positions(learner, X[rows[:2]], 2)
    except Exception:
        return


def _warm_up_rows(y: Any) -> NDArray[np.int64]:
    """Return the positions of a few rows. With single labels, they have at least two classes, as many learners need."""
    if issparse(y):
        return np.arange(min(WARMUP_ROWS, y.shape[0]))
    other = np.flatnonzero(y != y[0])[:1]
    return np.union1d(np.arange(min(WARMUP_ROWS, len(y))), other)


@dataclass(frozen=True)
class FittedPipeline:
    """A fitted representation and the learner that was trained on its output."""

    representation: FittedRepresentation
    learner: Any


def fit_pipeline(trial: Trial, data: Dataset, rows: NDArray[np.int64]) -> FittedPipeline:
    """Fit the representation and the learner of a trial on some rows of its data.

    Parameters
    ----------
    trial : Trial
        Names the representation, the learner and the seed.
    data : Dataset
        The data with all labels.
    rows : array of int
        Positions of the rows to train on, in the order in which the learner sees them.

    Returns
    -------
    FittedPipeline
    """
    source, y = rows_for(data, trial.representing.takes_text)[rows], data.y[rows]
    representation, X = fit_representation(trial.representing, source, y, wants_dense=trial.wants_dense)
    learner = fit(
        trial.blueprint,
        TrainingPart(X, y),
        seed=trial.seed,
        taxonomy=data.taxonomy,
        wants_taxonomy=trial.wants_taxonomy,
    )
    return FittedPipeline(representation, learner)
