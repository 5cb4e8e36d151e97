"""How right a trial was class by class: by how often a class was seen, by level of the class tree, and what it took
for what. For figures and the page; of rows with one true class each.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from harness.contract import Outcome
from harness.sdk.class_tree import class_paths, nodes_at_level


@dataclass(frozen=True)
class FrequencyBin:
    """The test rows of classes that training saw about equally often: from a power of two to below the next."""

    least: int
    """The power of two."""
    frequency: float
    """How often training saw the class of a row, on average over these rows."""
    rows: int
    right: int


@dataclass(frozen=True)
class Confusion:
    """A class that was taken for another."""

    truth: str
    answer: str
    """Empty where no class was named at all."""
    rows: int


@dataclass(frozen=True)
class ByClass:
    """What the first-ranked classes of a trial tell."""

    by_frequency: tuple[FrequencyBin, ...]
    by_level: tuple[float, ...]
    """The share of rows that are right at each level, from below the root on; nothing without a class tree."""
    confusions: tuple[Confusion, ...]
    """Every pair that there was."""
    class_rows: dict[str, int]
    """Test rows by class."""


def by_class(outcome: Outcome, class_names: tuple[str, ...]) -> ByClass | None:
    """The same of a finished trial; None where rows have several labels, or none has any."""
    if issparse(outcome.truth):
        return None
    truth = np.asarray(outcome.truth, np.int64)
    labelled = truth >= 0
    if not labelled.any():
        return None
    truth, answer = truth[labelled], outcome.ranks[labelled, 0].astype(np.int64)
    by_level: list[float] = []
    if outcome.taxonomy is not None:
        paths = class_paths(outcome.taxonomy)
        for level in range(1, paths.shape[1] + 1):
            nodes = nodes_at_level(paths, level)
            by_level.append(float(np.mean((answer >= 0) & (nodes[answer] == nodes[truth]))))
    return ByClass(
        by_frequency=_bins(truth, answer, outcome.train_class_counts),
        by_level=tuple(by_level),
        confusions=_confusions(truth, answer, class_names),
        class_rows=_rows_by_class(truth, class_names),
    )


def _bins(truth: NDArray[np.int64], answer: NDArray[np.int64], seen: NDArray[np.int64]) -> tuple[FrequencyBin, ...]:
    """Of classes that training saw at all: nobody can be right on the others."""
    frequency = seen[truth]
    exponent = np.floor(np.log2(np.maximum(frequency, 1))).astype(np.int64)
    bins = []
    for power in np.unique(exponent[frequency > 0]):
        inside = (exponent == power) & (frequency > 0)
        right = int((truth[inside] == answer[inside]).sum())
        bins.append(FrequencyBin(2 ** int(power), float(frequency[inside].mean()), int(inside.sum()), right))
    return tuple(bins)


def _confusions(truth: NDArray[np.int64], answer: NDArray[np.int64], names: tuple[str, ...]) -> tuple[Confusion, ...]:
    wrong = truth != answer
    pairs, counts = np.unique(np.stack([truth[wrong], answer[wrong]], axis=1), axis=0, return_counts=True)
    confusions = []
    for (true, named), count in zip(pairs.tolist(), counts.tolist(), strict=True):
        confusions.append(Confusion(names[true], names[named] if named >= 0 else "", count))
    return tuple(confusions)


def _rows_by_class(truth: NDArray[np.int64], names: tuple[str, ...]) -> dict[str, int]:
    there, counts = np.unique(truth, return_counts=True)
    return {names[true]: count for true, count in zip(there.tolist(), counts.tolist(), strict=True)}
