"""ODP: pages of the Open Directory by category, 105 thousand categories, as used in the LOMtree paper.

Reads odp_train and odp_test, optionally compressed, in one of two formats:
- odp_train.vw, odp_test.vw: Vowpal Wabbit's, "category | feature:value ...", as distributed by the authors of the
paper;
  a feature without a value counts 1; a namespace after the bar, and anything between category and bar, is ignored;
- odp_train.txt, odp_test.txt: LIBSVM's, "category feature:value ...".
Features are integers. With a file cat_hier.txt, as in LSHTC1 (a line per category with the numbers of the path down to
it), there is a class tree, which must contain every category that occurs.
"""

from __future__ import annotations

import re
from typing import IO, cast

from harness import Dataset, Taxonomy
from harness.sdk.reading.raw import RawFiles
from harness.sdk.reading.sparse_text import SparseText, drop_unused_columns, read_svmlight
from harness_text.classes import ClassPath, laid_end_to_end, part_splits, positions, tree_of_paths
from harness_text.lshtc import read_paths
from harness_text.sparse_files import by_number, single_labels, stacked

RAW = RawFiles(
    dataset="odp",
    needed="odp_train.vw.gz and odp_test.vw.gz from hunch.net/~vw, or the same in LIBSVM's form as odp_train.txt and "
    "odp_test.txt",
    wanted=re.compile(r"(?:^|/)(?:odp_(train|test)\.(vw|txt)|(cat_hier)\.txt)$"),
)
PARTS = ("train", "test")


def load_odp(*, source: str | None = None) -> Dataset:
    """Load both parts.

    Parameters
    ----------
    source : str or None, default=None
        Folder or archive with the files. None uses imported files.

    Returns
    -------
    Dataset
        The training part, then the test part, with the split "train-test".

    Raises
    ------
    DataError
        If the files are missing, damaged, or not those of the dataset.
    """
    read, paths = _read(source)
    labels: dict[str, list[str]] = {}
    sizes = []
    for part in PARTS:
        if part in read:
            labels[part] = single_labels("odp", f"odp_{part}", read[part])
            sizes.append(f"{len(labels[part]):,}")
    row_labels, row_parts = laid_end_to_end(labels)
    classes = by_number(row_labels)
    X = drop_unused_columns(stacked([read[part] for part in labels]))
    return Dataset(
        X=X,
        y=positions(row_labels, classes),
        class_names=tuple(classes),
        taxonomy=_tree(classes, paths),
        splits=part_splits(row_parts),
        found=f"{' + '.join(sizes)} pages ({' + '.join(labels)}), {len(classes):,} categories, {X.shape[1]:,} features",
    )


def _tree(classes: list[str], paths: dict[str, ClassPath]) -> Taxonomy | None:
    """Return the tree above the categories that occur; None without a file of the tree."""
    if not paths:
        return None
    lost = [label for label in classes if label not in paths]
    if lost:
        raise RAW.error(f"the category {lost[0]} is not in cat_hier.txt ({len(lost):,} such)")
    return tree_of_paths("directory", [paths[label] for label in classes])


def _read(source: str | None) -> tuple[dict[str, SparseText], dict[str, ClassPath]]:
    """Return the available parts, at least one, and the path of each category if there is a tree."""
    read: dict[str, SparseText] = {}
    paths: dict[str, ClassPath] = {}
    for match, stream in RAW.open_each(source):
        if match[3]:
            paths = read_paths(RAW, match.string, stream)
            continue
        if match[1] in read:
            raise RAW.error(f"the {match[1]} part is there twice", "Remove one file.")
        if match[2] == "vw":
            stream = cast(IO[bytes], _FromVowpalWabbit(stream))  # noqa: PLW2901 (the same lines in another format)
        read[match[1]] = read_svmlight(stream, name=match.string)
    if not read:
        raise RAW.error(f"there is a tree, but no page. It is made from {RAW.needed}")
    return read, paths


class _FromVowpalWabbit:
    """A stream that converts Vowpal Wabbit's lines to LIBSVM's, line by line, so errors keep their line numbers."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream = stream

    def readlines(self, hint: int) -> list[bytes]:
        return list(map(self._line, self.stream.readlines(hint)))

    def _line(self, line: bytes) -> bytes:
        head, bar, features = line.partition(b"|")
        if not bar:
            return line
        if features[:1].strip():  # a namespace directly follows the bar
            features = features.partition(b" ")[2]
        words = features.split()
        if features.count(b":") < len(words):
            words = list(map(_with_value, words))
        return b" ".join([*head.split()[:1], *words])


def _with_value(word: bytes) -> bytes:
    return word if b":" in word else word + b":1"
