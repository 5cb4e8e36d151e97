"""The synthetic task of Cai and Hofmann: a complete class tree with a random weight vector at each node.

A row x is a random direction. Its class is the leaf whose path from the root has the largest sum of <w_z, x>. Rows
whose best class leads the second best by at most `rho` are drawn again. The sources do not define the generator: here
the weights of level 1 have the variance scale^2 / features, each further level `decay` times the variance of the one
above, and there are a thousand training rows. This was chosen because it comes near the published table, so agreement
with the table is a fit and no confirmation.

The same parameters give the same data on all machines; see `draws` and `normals`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness import Dataset, Taxonomy
from harness.errors import DataError
from harness_synthetic.draws import check_integers, check_number, not_allowed
from harness_synthetic.normals import Reals, normals, on_grid

NAME = "hsvm-synthetic"
MOST_CLASSES = 100_000
BLOCK_SCORES = 2**22
MOST_TRIES = 1000
"""Number of rows drawn for each row kept, before a margin counts as unreachable."""


def make_hsvm_synthetic(
    *,
    children: int = 3,
    depth: int = 3,
    rho: float = 0.001,
    n_train: int = 1_000,
    n_test: int = 1_000,
    features: int = 20,
    scale: float = 1.6,
    decay: float = 0.5,
    seed: int = 0,
) -> Dataset:
    """Make the rows of the task.

    Parameters
    ----------
    children : int, default=3
        Number of children of a node. There are children**depth classes.
    depth : int, default=3
        Depth of the class tree.
    rho : float, default=0.001
        Minimum margin of a row.
    n_train : int, default=1000
        Number of training rows in the fixed split "made".
    n_test : int, default=1000
        Number of test rows.
    features : int, default=20
        Number of dimensions.
    scale : float, default=1.6
        Scale of the weights.
    decay : float, default=0.5
        Factor of the variance from one level to the next.
    seed : int, default=0
        Seed of all random numbers.

    Returns
    -------
    Dataset
        The rows, training rows first, with the class tree.

    Raises
    ------
    DataError
        If a parameter is out of its range.
    """
    _check(dict(locals()))
    bits = np.random.PCG64(seed)
    weights = leaf_weights(bits, children, depth, features, scale, decay)
    X, y = _draw_rows(bits, weights, rho, n_train + n_test)
    rows = np.arange(n_train + n_test)
    return Dataset(
        X=csr_array(X.astype(np.float32)),
        y=y,
        class_names=_paths(children, depth),
        taxonomy=complete_tree(children, depth),
        splits={"made": (rows[:n_train], rows[n_train:])},
        found=f"{n_train:,} + {n_test:,} rows, {features} features, {children**depth:,} classes, of which "
        f"{np.unique(y).size:,} have rows; margins above {rho:g}; seed {seed}",
    )


def leaf_weights(bits: np.random.PCG64, children: int, depth: int, features: int, scale: float, decay: float) -> Reals:
    """Return the exact sum of the weight vectors on the path of each leaf, from left to right."""
    leaves: Reals = np.zeros((1, features))
    variance = scale * scale / features
    for level in range(1, depth + 1):
        own = on_grid(normals(bits, children**level * features) * np.sqrt(variance)).reshape(-1, features)
        leaves = np.repeat(leaves, children, axis=0) + own
        variance *= decay
    return leaves


def _draw_rows(bits: np.random.PCG64, weights: Reals, rho: float, rows: int) -> tuple[Reals, NDArray[np.intp]]:
    """Draw rows on the grid, so they fit float32 and their scores are exact, and return the class of each."""
    block = max(1, min(rows, BLOCK_SCORES // len(weights)))
    kept: list[tuple[Reals, NDArray[np.intp]]] = []
    n_kept = n_drawn = 0
    while n_kept < rows:
        X = directions(bits, block, weights.shape[1])
        scores = X @ weights.T
        second, best = np.partition(scores, -2, axis=1)[:, -2:].T
        clear = best - second > rho
        kept.append((X[clear], scores[clear].argmax(axis=1)))
        n_kept, n_drawn = n_kept + int(clear.sum()), n_drawn + block
        if n_drawn > MOST_TRIES * (n_kept + 10):
            raise DataError(
                f"rho={rho:g}: only {n_kept:,} of {n_drawn:,} rows have such a margin; "
                "choose a smaller rho or a larger scale",
                culprit=f"dataset {NAME!r}",
            )
    X, y = (np.concatenate(columns)[:rows] for columns in zip(*kept, strict=True))
    return X, y


def directions(bits: np.random.PCG64, rows: int, features: int) -> Reals:
    """Return random vectors of length 1, rounded to the grid; the squares are added in a fixed order."""
    X = normals(bits, rows * features).reshape(rows, features)
    squares = np.zeros(rows)
    for column in X.T:
        squares = squares + column * column
    return on_grid(X / np.sqrt(squares)[:, np.newaxis])


def complete_tree(children: int, depth: int) -> Taxonomy:
    """Return a tree of the root, then level after level; the leaves, last, are the classes from left to right."""
    sizes = [children**level for level in range(depth + 1)]
    starts = np.cumsum([0, *sizes])
    parents = [starts[i] + np.arange(sizes[i + 1]) // children for i in range(depth)]
    names = [name for level in range(1, depth + 1) for name in _paths(children, level)]
    return Taxonomy(
        parent=np.concatenate([[-1], *parents]).astype(np.int64),
        class_node=np.arange(starts[depth], starts[depth + 1], dtype=np.int64),
        node_names=("root", *names),
    )


def _paths(children: int, level: int) -> tuple[str, ...]:
    """Return the nodes of a level by the branches that lead to them, such as "2.0.1"."""
    names = [""]
    for _ in range(level):
        names = [f"{name}.{turn}" if name else str(turn) for name in names for turn in range(children)]
    return tuple(names)


def _check(given: Mapping[str, float]) -> None:
    check_integers(NAME, given, {"children": (2, MOST_CLASSES), "depth": (1, 16)})
    classes = int(given["children"]) ** int(given["depth"])
    if classes > MOST_CLASSES:
        found = f"children={given['children']}, depth={given['depth']} make {classes:,} classes"
        raise not_allowed(NAME, found, f"at most {MOST_CLASSES:,}")
    counts = dict.fromkeys(("n_train", "n_test"), (1, 2**26))
    check_integers(NAME, given, {**counts, "features": (2, 1000), "seed": (0, 2**32 - 1)})
    check_number(NAME, given, {"rho": (0, 8), "scale": (0.001, 16), "decay": (0, 1)})  # the grid is exact for these
