"""Synthetic dense rows similar to Aloi: many Gaussian classes of equal size in a few non-negative dimensions.

Class means are drawn from a standard normal distribution, rows around them with the standard deviation `noise`.
Negative values become 0, which leaves about half of the values. With the default noise a linear learner makes almost no
error, while a tree that splits the classes at random fails on most rows. The same parameters give the same data on all
machines; see `normals`.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, vstack

from harness import Dataset
from harness_synthetic.draws import check_integers, check_number, not_allowed, raw
from harness_synthetic.normals import Reals, normals

BLOCK_VALUES = 2**22


def make_gaussians(
    *, rows: int = 108_000, classes: int = 1_000, features: int = 128, noise: float = 0.5, seed: int = 0
) -> Dataset:
    """Make Gaussian classes in random order.

    Parameters
    ----------
    rows : int, default=108000
        Number of rows, at least one for each class. Class sizes differ by at most one.
    classes : int, default=1000
        Number of classes.
    features : int, default=128
        Number of dimensions.
    noise : float, default=0.5
        Standard deviation of the rows around their class mean.
    seed : int, default=0
        Seed of all random numbers.

    Returns
    -------
    Dataset
        The rows, without a class tree.

    Raises
    ------
    DataError
        If a parameter is out of its range.
    """
    given = {"rows": rows, "classes": classes, "features": features, "seed": seed}
    limits = {"rows": (2, 2**26), "classes": (2, 2**20), "features": (1, 2**16), "seed": (0, 2**32 - 1)}
    check_integers("gaussians", given, limits)
    check_number("gaussians", {"noise": noise}, {"noise": (0, 100)})
    if rows < classes:
        raise not_allowed("gaussians", f"rows={rows}", f"at least one for each of the {classes} classes")
    bits = np.random.PCG64(seed)
    y = (np.arange(rows) % classes)[np.argsort(raw(bits, rows), kind="stable")]
    means = normals(bits, classes * features).reshape(classes, features)
    step = max(1, BLOCK_VALUES // features)
    X = vstack([_around(bits, means[y[i : i + step]], noise) for i in range(0, rows, step)], format="csr")
    return Dataset(
        X=csr_array(X),
        y=y,
        class_names=tuple(f"class-{position}" for position in range(classes)),
        found=f"{rows:,} rows of {X.nnz / rows:.0f} non-zeros, {features:,} features, {classes:,} classes; seed {seed}",
    )


def _around(bits: np.random.PCG64, centres: Reals, noise: float) -> csr_array:
    values = centres + noise * normals(bits, centres.size).reshape(centres.shape)
    return csr_array(np.maximum(values, 0.0).astype(np.float32))
