"""The shortlist learner by its definition, with dense float64 matrices: rows, optimum, candidate scores."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize

NOBODY = 2**32 - 1


def rows_of_machines(label_sets, proposed, group_of, n_machines):
    """Return the rows by machine: 1 for its own, -1 for rows with it as a wrong candidate."""
    found = [{} for _ in range(n_machines)]
    for i, (labels, padded) in enumerate(zip(label_sets, proposed, strict=True)):
        candidates = [c for c in padded if c >= 0]
        own = set(labels) | {int(group_of[c]) for c in labels}
        read = set(candidates) | {int(group_of[c]) for c in candidates}
        for z in (own | read) - {NOBODY}:
            found[z][i] = 1 if z in own else -1
    return found


def optimum(X, signs, C):
    """Return w and b that minimise 1/2

    w

    ^2 + 1/2 b^2 + C sum max(0, 1 - y (<w, x> + b))^2.
    """
    with_bias = np.column_stack([X, np.ones(len(X))])

    def loss(w):
        short = np.maximum(0, 1 - signs * (with_bias @ w))
        return w @ w / 2 + C * short @ short, w - 2 * C * with_bias.T @ (signs * short)

    found = minimize(loss, np.zeros(with_bias.shape[1]), jac=True, method="L-BFGS-B", options={"gtol": 1e-9})
    return found.x[:-1], found.x[-1]


def as_matrix(weights, bias, n_features):
    """Return a machines x features matrix, and the biases."""
    W = np.zeros((bias.size, n_features))
    for z in range(bias.size):
        lo, hi = weights.start[z], weights.start[z + 1]
        W[z, weights.features[lo:hi]] = weights.weights[lo:hi]
    return W, bias.astype(np.float64)


def worth(W, bias, group_of, x, candidates, *, group_share, prior):
    """Return the scores by candidate, in the proposer's order."""
    values = -(np.maximum(0, 1 - (W @ x + bias)) ** 2)
    found = {}
    for place, c in enumerate([int(c) for c in candidates if c >= 0], start=1):
        group = int(group_of[c])
        shared = values[group] if group != NOBODY else 0.0
        found[c] = values[c] + group_share * shared - prior * np.log(place)
    return found
