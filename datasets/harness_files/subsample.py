"""A random subset of the classes and rows of any dataset. A smaller subset is a part of every larger one."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array, issparse

from harness import Dataset, Taxonomy
from harness.errors import DataError
from harness.sdk import Texts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Positions = NDArray[np.int64]

Labels = Any
"""Class positions, or a sparse indicator matrix."""


def load_subsample(
    *, dataset: Dataset, classes: int | None = None, examples: int | None = None, seed: int = 0
) -> Dataset:
    """Draw classes and rows of a dataset; columns do not change.

    The class tree is pruned to the nodes above the drawn classes. Fixed splits keep the drawn rows.

    Parameters
    ----------
    dataset : Dataset
        The dataset.
    classes : int or None, default=None
        Number of classes. None means all.
    examples : int or None, default=None
        Number of rows of these classes, at least one for each class. None means all.
    seed : int, default=0
        Seed of the draws.

    Returns
    -------
    Dataset
        The subset, in the order of the rows.

    Raises
    ------
    DataError
        If the other dataset cannot be used.
    """
    known = len(dataset.class_names)
    chosen = _drawn("classes", classes, known, 2, seed)
    if issparse(dataset.y):
        y = csr_array(dataset.y)[:, chosen]
        labelled = np.flatnonzero(np.diff(y.indptr))
        rows = _some_rows(labelled, y, examples, seed)
        y = y[rows]
    else:
        labelled = np.flatnonzero(np.isin(dataset.y, chosen))
        rows = _some_rows(labelled, dataset.y, examples, seed)
        y = np.searchsorted(chosen, dataset.y[rows])
    names = tuple(dataset.class_names[position] for position in chosen)
    splits = {}
    for name, given in dataset.splits.items():
        train, test = (among(rows, np.asarray(part)) for part in given)
        if len(train) and len(test):
            splits[name] = (train, test)
    found = f"{len(rows):,} of {dataset.rows:,} rows, {len(names):,} of {known:,} classes; inside: {dataset.found}"
    X = None if dataset.X is None else dataset.X[rows]
    texts = None if dataset.texts is None else Texts.of(dataset.texts)[rows]
    groups = {name: codes[rows] for name, codes in dataset.groups.items()}
    times = {name: codes[rows] for name, codes in dataset.times.items()}
    return replace(
        dataset,
        X=X,
        y=y,
        class_names=names,
        taxonomy=_pruned(dataset.taxonomy, chosen),
        splits=splits,
        found=found,
        texts=texts,
        groups=groups,
        times=times,
    )


def _order(count: int, seed: int) -> Positions:
    """Return a shuffle that is the same on all machines: numpy guarantees this stream."""
    return np.random.RandomState(seed).permutation(count)


def _drawn(what: str, wanted: int | None, known: int, least: int, seed: int) -> Positions:
    """Return `wanted` of the positions, in their order; all of them if it is None."""
    if wanted is None:
        return np.arange(known)
    if not isinstance(wanted, int) or isinstance(wanted, bool) or not least <= wanted <= known:
        raise DataError(f"{what}={wanted!r}: expected a whole number from {least} to {known:,}")
    return np.sort(_order(known, seed)[:wanted])


def _some_rows(rows: Positions, y: Labels, examples: int | None, seed: int) -> Positions:
    """Return `examples` rows in a shuffled order: first one of each class, then the next ones."""
    if examples is None:
        return rows
    order = rows[_order(len(rows), seed)]
    first = _first_of_each(y[order])
    if not isinstance(examples, int) or isinstance(examples, bool) or not len(first) <= examples <= len(rows):
        raise DataError(
            f"examples={examples!r}: expected a whole number from {len(first):,}, one of each class, "
            f"to {len(rows):,}, the number of rows"
        )
    rest = np.delete(order, first)
    return np.sort(np.concatenate([order[first], rest])[:examples])


def _first_of_each(labels: Labels) -> Positions:
    """Return the place of the first row of each class."""
    if not issparse(labels):
        _, first = np.unique(labels, return_index=True)
        return first
    _, first = np.unique(labels.indices, return_index=True)
    return np.unique(np.searchsorted(labels.indptr, first, side="right") - 1)


def among(rows: Positions, part: Positions) -> Positions:
    """Return the positions of a part's rows among the kept rows, without dropped ones."""
    return np.searchsorted(rows, part[np.isin(part, rows)])


def _pruned(taxonomy: Taxonomy | None, chosen: Positions) -> Taxonomy | None:
    """Return the nodes above the drawn classes."""
    if taxonomy is None:
        return None
    class_node, parent = np.asarray(taxonomy.class_node)[chosen], np.asarray(taxonomy.parent)
    below, above = taxonomy.edges()
    kept = parent < 0
    nodes = np.unique(class_node)
    while nodes.size:
        kept[nodes] = True
        nodes = np.setdiff1d(above[np.isin(below, nodes)], np.flatnonzero(kept))
    number = np.cumsum(kept) - 1
    pairs = taxonomy.more_parents
    return Taxonomy(
        np.where(parent[kept] >= 0, number[parent[kept]], -1),
        number[class_node],
        tuple(itertools.compress(taxonomy.node_names, kept)),
        None if pairs is None else number[pairs[kept[pairs[:, 0]]]],
        None if taxonomy.weights is None else taxonomy.weights[kept],
        None if taxonomy.costs is None else taxonomy.costs[kept],
    )
