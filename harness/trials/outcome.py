"""What a metric gets, assembled in one place: by a trial, by tuning, and from saved ranks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from harness.contract import Labels, Outcome, Taxonomy


@dataclass(frozen=True)
class Ranking:
    """The ranks of the test part as class positions, and their places where ties are known."""

    ranks: NDArray[np.int32]
    places: NDArray[np.int32] | None = None
    known_depth: int | None = None
    """How many ranks a row the learner can tell: 1 where it only predicts; None for as many as it is asked for."""
    scores: NDArray[np.float32] | None = None
    """What the first two classes of each row score; None where the learner does not tell."""
    confidence: NDArray[np.float32] | None = None
    """How sure the first class of each row is; None unless a metric asked for it."""


@dataclass(frozen=True, kw_only=True)
class Costs:
    """What training and ranking took, and how large the learner is; None where it is not known."""

    fit_seconds: float
    fit_cpu_seconds: float
    rank_seconds: float
    predict_seconds: float | None = None
    index_size: int | None = None
    index_bytes: int | None = None
    edges_per_feature: float | None = None
    rank_edges_per_feature: float | None = None
    peak_bytes: int | None = None
    single_seconds: NDArray[np.float64] | None = None


def known_depth(ranked_by: str | None) -> int | None:
    """How many ranks a row come from this method of a learner; None for as many as are asked for."""
    return 1 if ranked_by == "predict" else None


def make_outcome(
    ranking: Ranking, truth: Labels, trained: Labels, n_classes: int, taxonomy: Taxonomy | None, costs: Costs
) -> Outcome:
    """The outcome of a trial: its ranks, the true labels, those that were trained on, and what it cost."""
    return Outcome(
        truth=truth,
        ranks=ranking.ranks,
        n_classes=n_classes,
        train_class_counts=class_counts(trained, n_classes),
        n_train=trained.shape[0],
        taxonomy=taxonomy,
        places=ranking.places,
        known_depth=ranking.known_depth,
        scores=ranking.scores,
        confidence=ranking.confidence,
        **vars(costs),
    )


def first_is_true(ranks: NDArray[np.int32], truth: Labels) -> NDArray[np.bool_]:
    """Whether the first-ranked class of each row is a true one."""
    first = ranks[:, 0].astype(np.int64)
    if not issparse(truth):
        return np.asarray(first == truth)
    listed = csr_array((np.ones(len(first)), (np.arange(len(first)), np.maximum(first, 0))), shape=truth.shape)
    return np.asarray((listed.multiply(truth).sum(axis=1) > 0) & (first >= 0))


def class_counts(y: Labels, classes: int) -> NDArray[np.int64]:
    """Training rows of each class."""
    return np.bincount(y.indices if issparse(y) else y, minlength=classes)
