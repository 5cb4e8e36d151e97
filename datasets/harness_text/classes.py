"""Helpers of the loaders: class trees, labels, fixed splits, and names of word counts."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness import Taxonomy
from harness.errors import DataError
from harness.sdk.outcomes import tree_from_parents

PARTS = ("train", "validation", "test")
Label = TypeVar("Label")
ClassPath = tuple[str, ...]
"""The names from the top of a class tree down to a class, without the root."""


def tree_of_paths(root: str, paths: Sequence[ClassPath]) -> Taxonomy:
    """Return the tree in which class i is at the end of path i.

    Nodes are ordered by level, then by name. A node is identified by its complete path: the same name below two parents
    is two nodes. A class may be an inner node.

    Parameters
    ----------
    root : str
        Name of the root.
    paths : sequence of tuple of str
        Path of each class.

    Examples
    --------
    >>> tree_of_paths("all", [("food", "bread"), ("food", "milk")]).node_names
    ('all', 'food', 'bread', 'milk')
    """
    below_root: set[ClassPath] = set()
    for path in paths:
        below_root.update(path[:depth] for depth in range(1, len(path) + 1))
    nodes = sorted(below_root, key=_level_and_name)
    parents = {path: path[:-1] for path in nodes}
    return tree_from_parents(root, parents, paths, [path[-1] for path in nodes])


def _level_and_name(path: ClassPath) -> tuple[int, ClassPath]:
    return len(path), path


def path_to(node: str, parent: Mapping[str, str], *, root: str, dataset: str, file: str) -> ClassPath:
    """Return the path from below the root to a node.

    Parameters
    ----------
    node : str
        The node.
    parent : mapping of str to str
        Parent of each node.
    root : str
        Name of the root.
    dataset, file : str
        Names for the error message.

    Raises
    ------
    DataError
        If the path never reaches the root.
    """
    path = [node]
    above = parent.get(node)
    while above != root:
        if above is None or above in path:
            trouble = "has no parent" if above is None else "is its own ancestor"
            raise DataError(
                f"{file}: {path[-1]!r}, above {node!r}, {trouble}: expected every node to reach {root!r}",
                culprit=f"dataset {dataset!r}",
            )
        path.append(above)
        above = parent.get(above)
    return tuple(reversed(path))


def indicator(labels: Sequence[Collection[str]], classes: Sequence[str]) -> csr_array:
    """Return multi-label rows as a matrix of ones; labels that are not classes are dropped."""
    position = {name: i for i, name in enumerate(classes)}
    columns: list[int] = []
    ends = [0]
    for row in labels:
        columns += sorted({position[label] for label in row if label in position})
        ends.append(len(columns))
    ones = np.ones(len(columns), np.int8)
    return csr_array((ones, np.array(columns, dtype=np.int64), np.array(ends)), shape=(len(labels), len(classes)))


def positions(labels: Iterable[str], classes: Sequence[str]) -> NDArray[np.int64]:
    """Return single labels as class positions."""
    position = {name: i for i, name in enumerate(classes)}
    return np.array([position[label] for label in labels], dtype=np.int64)


def part_splits(parts: Sequence[str]) -> dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Return splits from the part of each row: train, validation or test.

    "A-B" trains on part A and tests on part B, for every two parts that are present, the earlier one in training. If
    all three are present, "train+validation" is written "trainvalidation-test".
    """
    names = np.asarray(parts)
    rows = {}
    for part in PARTS:
        if part in parts:
            rows[part] = np.flatnonzero(names == part)
    splits = {}
    for earlier, later in itertools.combinations(rows, 2):
        splits[f"{earlier}-{later}"] = (rows[earlier], rows[later])
    if len(rows) == len(PARTS):
        splits["trainvalidation-test"] = (np.concatenate([rows["train"], rows["validation"]]), rows["test"])
    return splits


def laid_end_to_end(labels: Mapping[str, Sequence[Label]]) -> tuple[list[Label], list[str]]:
    """Return the labels of all parts one after the other, and the part of each row."""
    row_labels: list[Label] = []
    row_parts: list[str] = []
    for part, part_labels in labels.items():
        row_labels += part_labels
        row_parts += [part] * len(part_labels)
    return row_labels, row_parts


def check_choice(dataset: str, name: str, value: object, allowed: Sequence[object]) -> None:
    """Raise DataError unless the value of a parameter is allowed."""
    if value not in allowed:
        expected = ", ".join(map(str, allowed))
        raise DataError(f"{name} is {value!r}, expected one of {expected}", culprit=f"dataset {dataset!r}")


def beside(found: int, described: int) -> str:
    """Return a count, and that of the dataset's description if it differs."""
    if found == described:
        return f"{found:,}"
    return f"{found:,} (described as {described:,})"


def counted_words(tokens: str, *, english: bool = True, min_df: int = 1) -> str:
    """Return the representation that counts words of a kind.

    Parameters
    ----------
    tokens : str
        A kind that `words` knows, or a regular expression.
    english : bool, default=True
        If True, English stop words are dropped.
    min_df : int, default=1
        Minimum number of texts with a word.
    """
    params = {"tokens": tokens}
    if english:
        params["stop_words"] = "english"
    if min_df > 1:
        return f"words({_written(params)}, min_df={min_df}, weighting='raw')"
    return f"words({_written(params)}, weighting='raw')"


def _written(params: dict[str, str]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in params.items())
