"""LSHTC1, the first PASCAL challenge of large-scale hierarchical text classification: web pages of the Open Directory.

There are two releases, each a dataset: `lshtc1-dryrun` (1,139 classes) and `lshtc1` (the large one, 12,294 classes).
Each has the class tree in cat_hier.txt, a line per class with the path from a top of the directory down to it. It also
has folders whose names begin with Task1 (pages as crawled) and Task2 (training and validation on the short descriptions
of the directory, test on crawled pages). These contain train.txt, validation.txt and test.txt with lines
"class feature:count ...".

Feature 0 is not a term and is dropped. Features are stemmed terms without their names, with gaps in their numbers, so
numbers that never occur are dropped as well. Splits are named by the available parts: "train-test", "train-validation",
"validation-test" and, with all three, "trainvalidation-test". If the training part of task 1 is missing,
"validation-test" trains on the validation part. The challenge published its test pages with class 0 throughout; such a
part has no labels and is dropped.

The directory has several tops; a root is added above them. A node below two others is two nodes of the tree.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import IO

from harness import Dataset
from harness.sdk.reading.raw import RawFiles
from harness.sdk.reading.sparse_text import SparseText, drop_unused_columns, read_svmlight
from harness_text.classes import (
    ClassPath,
    beside,
    check_choice,
    laid_end_to_end,
    part_splits,
    positions,
    tree_of_paths,
)
from harness_text.sparse_files import single_labels, stacked

TASKS = (1, 2)
UNLABELLED = "0"
_WANTED = re.compile(r"(?:^|/)(?:Task(\d)[^/]*/(train|validation|test)|(cat_hier))\.txt$")


@dataclass(frozen=True)
class Release:
    """One of the two releases, as the challenge describes it."""

    raw: RawFiles
    n_classes: int
    sizes: dict[str, int]


def _raw(name: str, release: str) -> RawFiles:
    return RawFiles(
        dataset=name,
        needed=f"the folder or archive of the {release} of LSHTC1 from the PASCAL challenge (lshtc.iit.demokritos.gr): "
        "cat_hier.txt and the folders Task1 and Task2 with train.txt, validation.txt and test.txt",
        wanted=_WANTED,
        archive=f"{release}.tar.gz",
    )


DRY_RUN = Release(_raw("lshtc1-dryrun", "dry-run"), 1_139, {"train": 4_463, "validation": 1_860, "test": 1_858})
LARGE = Release(_raw("lshtc1", "large"), 12_294, {"train": 93_805, "validation": 34_905, "test": 34_880})


def load_large(*, source: str | None = None, task: int = 1) -> Dataset:
    """Load the large release.

    Parameters
    ----------
    source : str or None, default=None
        Folder or archive with the release. None uses imported files.
    task : {1, 2}, default=1
        Task of the challenge.

    Returns
    -------
    Dataset
        The labelled parts one after the other, with the class tree.

    Raises
    ------
    DataError
        If the files are missing, damaged, or not those of the dataset.
    """
    return _load(LARGE, source, task)


def load_dry_run(*, source: str | None = None, task: int = 1) -> Dataset:
    """Load the dry run.

    Parameters
    ----------
    source : str or None, default=None
        Folder or archive with the release. None uses imported files.
    task : {1, 2}, default=1
        Task of the challenge.

    Returns
    -------
    Dataset
        The labelled parts one after the other, with the class tree.

    Raises
    ------
    DataError
        If the files are missing, damaged, or not those of the dataset.
    """
    return _load(DRY_RUN, source, task)


def _load(release: Release, source: str | None, task: int) -> Dataset:
    """Load the parts one after the other, rows in the order of the files, classes in the order of the tree's file."""
    check_choice(release.raw.dataset, "task", task, TASKS)
    paths, parts = _read(release, source, task)
    labels, note = _labelled(release, parts, paths)
    if not labels:
        raise release.raw.error(f"task {task} has no labelled part. It is made from {release.raw.needed}")
    row_labels, row_parts = laid_end_to_end(labels)
    X = drop_unused_columns(stacked([parts[part] for part in labels], first_feature=1))
    nodes = set().union(*paths.values())
    return Dataset(
        X=X,
        y=positions(row_labels, list(paths)),
        class_names=tuple(paths),
        taxonomy=tree_of_paths("directory", list(paths.values())),
        splits=part_splits(row_parts),
        found=f"task {task}: {note}; {beside(len(paths), release.n_classes)} classes, "
        f"{len(nodes):,} nodes in the tree, {X.shape[1]:,} terms",
    )


def _labelled(
    release: Release, parts: dict[str, SparseText], paths: dict[str, ClassPath]
) -> tuple[dict[str, list[str]], str]:
    """Return the labels of the labelled parts, in the order of the release, and a note on all parts."""
    labels: dict[str, list[str]] = {}
    sizes, absent, unlabelled = [], [], []
    for part, described in release.sizes.items():
        if part not in parts:
            absent.append(f"no {part}")
            continue
        part_labels = single_labels(release.raw.dataset, f"{part}.txt", parts[part])
        if set(part_labels) == {UNLABELLED}:
            unlabelled.append(f"{part} left out, it has no labels")
            continue
        _check_labels(release, part, part_labels, paths)
        labels[part] = part_labels
        sizes.append(f"{part} {beside(len(part_labels), described)}")
    return labels, "; ".join([", ".join(sizes), *absent, *unlabelled])


def _read(release: Release, source: str | None, task: int) -> tuple[dict[str, ClassPath], dict[str, SparseText]]:
    """Return the path of each class, and the parts of the task."""
    paths: dict[str, ClassPath] = {}
    parts: dict[str, SparseText] = {}
    for match, stream in release.raw.open_each(source):
        if match[3]:
            paths = read_paths(release.raw, match.string, stream)
        elif int(match[1]) == task:
            if match[2] in parts:
                raise release.raw.error(f"{match[2]}.txt of task {task} is there twice")
            parts[match[2]] = read_svmlight(stream, name=match.string)
    if not paths:
        raise release.raw.error("cat_hier.txt is not there, or empty")
    _check_release(release, len(paths))
    return paths, parts


def _check_release(release: Release, n_classes: int) -> None:
    """Raise DataError for the other release, which has the same format."""
    for other in (DRY_RUN, LARGE):
        if other is not release and other.n_classes == n_classes:
            raise release.raw.error(
                f"a tree of {n_classes:,} classes is that of the dataset {other.raw.dataset!r}",
                f"Import it with `harness data import {other.raw.dataset} FILE...`.",
            )


def read_paths(raw: RawFiles, name: str, stream: IO[bytes]) -> dict[str, ClassPath]:
    """Return the path to each class, by the class, which is its last node."""
    paths: dict[str, ClassPath] = {}
    for number, line in enumerate(stream, 1):
        path = tuple(line.decode("latin-1").split())
        where = f"{name}, line {number}"
        if not path:
            continue
        if not all(map(str.isdigit, path)):
            raise raw.error(f"{where}: expected the numbers of a path, found {line[:60]!r}")
        if path[-1] in paths:
            raise raw.error(f"{where}: the class {path[-1]} is there twice: expected one path a class")
        if len(set(path)) < len(path):
            raise raw.error(f"{where}: a node is its own ancestor")
        paths[path[-1]] = path
    return paths


def _check_labels(release: Release, part: str, labels: list[str], paths: dict[str, ClassPath]) -> None:
    for number, label in enumerate(labels, 1):
        if label not in paths:
            raise release.raw.error(f"{part}.txt, row {number}: the class {label} is not in cat_hier.txt")
