"""Rows in the order of how sure their first class is, and the error among the surest: for metrics and figures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class RiskCurve:
    """The error among the surest rows: an entry for the surest one, the surest two, and so on."""

    coverage: NDArray[np.float64]
    """Shares of all rows."""
    risk: NDArray[np.float64]
    """The share of errors among them; among rows that are equally sure, errors are spread evenly."""
    is_threshold: NDArray[np.bool_]
    """Whether a threshold can take just these rows: none parts rows that are equally sure."""


def gaps_of(ranks: NDArray[np.int32], scores: NDArray[np.float32]) -> NDArray[np.float64]:
    """How far the first class is ahead of the second by its score; -inf for a row that ranks none."""
    wide = scores.astype(np.float64)
    return np.where(ranks[:, 0] >= 0, wide[:, 0] - wide[:, 1], -np.inf)


def risk_curve(gaps: NDArray[np.float64], wrong: NDArray[np.bool_]) -> RiskCurve:
    """The curve of some rows, at least one, by how sure each is and whether it is wrong."""
    order = np.argsort(-gaps, kind="stable")
    _, group = np.unique(-gaps[order], return_inverse=True)
    spread = (np.bincount(group, weights=wrong[order]) / np.bincount(group))[group]
    taken = np.arange(1, len(order) + 1)
    is_threshold = np.append(np.diff(group) > 0, True)
    return RiskCurve(taken / len(order), np.cumsum(spread) / taken, is_threshold)
