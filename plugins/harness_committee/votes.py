"""How the votes of a committee are counted, who wins, and how the other classes stand behind."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array


def count_votes(ranks: NDArray[np.int32], n_classes: int) -> tuple[csr_array, csr_array]:
    """Rows x classes: how many models rank a class first; and the same with the sum of 1/rank as a fraction behind."""
    models, n_rows, _ = ranks.shape
    model, row, place = np.nonzero(ranks >= 0)
    classes = ranks[model, row, place]
    shape = (n_rows, n_classes)
    votes = csr_array(coo_array(((place == 0).astype(np.float64), (row, classes)), shape=shape))
    # Votes are whole numbers, and the sum of 1/rank over all models stays below 1 once divided.
    support = csr_array(coo_array((1.0 / ((place + 1.0) * (models + 1)), (row, classes)), shape=shape))
    return votes, csr_array(votes + support)


def lift_winner(votes: csr_array, standing: csr_array, rarity: NDArray[np.int64]) -> csr_array:
    """The standing with the winner of each row ahead: lowest `rarity`, then most votes, then lowest position."""
    cast = coo_array(votes)
    voted = cast.data > 0
    row, classes, number = cast.row[voted], cast.col[voted], cast.data[voted]
    order = np.lexsort((classes, -number, rarity[classes], row))
    winners = order[np.unique(row[order], return_index=True)[1]]
    above = standing.max() + 1 if standing.nnz else 1.0
    lifted = coo_array((np.full(winners.size, above), (row[winners], classes[winners])), shape=standing.shape)
    return csr_array(standing + lifted)


def best_of(standing: csr_array, k: int) -> NDArray[np.int32]:
    """The k classes of highest standing of each row, the lowest position on ties, -1 pads."""
    standing.sum_duplicates()
    row = np.repeat(np.arange(standing.shape[0]), np.diff(standing.indptr))
    order = np.lexsort((standing.indices, -standing.data, row))
    place = np.arange(row.size) - standing.indptr[row]
    ranks = np.full((standing.shape[0], k), -1, np.int32)
    kept = place < k
    ranks[row[kept], place[kept]] = standing.indices[order][kept]
    return ranks
