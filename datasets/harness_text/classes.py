"""What the loaders share: class trees, labels and fixed splits, out of what the files say."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness import Taxonomy
from harness.errors import DataError

ClassPath = tuple[str, ...]
"""The names from the top of a class tree down to a class, its root left out."""


def tree_of_paths(root: str, paths: Sequence[ClassPath]) -> Taxonomy:
    """The tree in which class i lies at the end of path i. Nodes come level by level, those of a level by name.

    A node is known by its whole path: the same name below two parents is two nodes. A class may be an inner node.
    """
    prefixes = {path[:depth] for path in paths for depth in range(1, len(path) + 1)}
    nodes = [(), *sorted(prefixes, key=lambda path: (len(path), path))]
    number = {path: i for i, path in enumerate(nodes)}
    return Taxonomy(
        parent=np.array([-1, *(number[path[:-1]] for path in nodes[1:])], dtype=np.int64),
        class_node=np.array([number[path] for path in paths], dtype=np.int64),
        node_names=(root, *(path[-1] for path in nodes[1:])),
    )


def path_to(node: str, parent: Mapping[str, str], *, root: str, where: str) -> ClassPath:
    """The path from below the root to a node; DataError, naming the file, when it never reaches the root."""
    path = [node]
    while (above := parent.get(path[-1])) != root:
        if above is None or above in path:
            trouble = "has no parent" if above is None else "is its own ancestor"
            raise DataError(f"{where}: {path[-1]!r}, above {node!r}, {trouble}: expected every node to reach {root!r}")
        path.append(above)
    return tuple(reversed(path))


def indicator(labels: Sequence[Collection[str]], classes: Sequence[str]) -> csr_array:
    """Multi-label rows as a matrix of ones; labels that are no class are left out."""
    position = {name: i for i, name in enumerate(classes)}
    rows = [sorted({position[label] for label in row if label in position}) for row in labels]
    columns = np.array([column for row in rows for column in row], dtype=np.int64)
    ends = np.cumsum([0, *map(len, rows)])
    return csr_array((np.ones(len(columns), np.int8), columns, ends), shape=(len(rows), len(classes)))


def positions(labels: Iterable[str], classes: Sequence[str]) -> NDArray[np.int64]:
    """Single labels as class positions."""
    position = {name: i for i, name in enumerate(classes)}
    return np.array([position[label] for label in labels], dtype=np.int64)


def part_splits(parts: Sequence[str]) -> dict[str, tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Splits out of the part that each row came in: train, validation or test.

    "A-B" trains on part A and tests on part B, for every two parts there are, an earlier one training; where all three
    are there, "train+validation" is written "trainvalidation-test".
    """
    names = np.asarray(parts)
    rows = {part: np.flatnonzero(names == part) for part in ("train", "validation", "test")}
    there = [part for part in rows if len(rows[part])]
    splits = {f"{a}-{b}": (rows[a], rows[b]) for i, a in enumerate(there) for b in there[i + 1 :]}
    if len(there) == len(rows):
        splits["trainvalidation-test"] = (np.concatenate([rows["train"], rows["validation"]]), rows["test"])
    return splits


def check_choice(dataset: str, name: str, value: object, allowed: Sequence[object]) -> None:
    """DataError for a parameter that has none of the values it may have."""
    if value not in allowed:
        expected = ", ".join(map(str, allowed))
        raise DataError(f"data set {dataset!r}: {name} is {value!r}, expected one of {expected}")


def beside(found: int, described: int) -> str:
    """A count, and what the data set's own description says where that differs."""
    return f"{found:,}" if found == described else f"{found:,} (described as {described:,})"
