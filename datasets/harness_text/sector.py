"""Industry sector in LIBSVM's form: 9,619 web pages to 105 classes, as the LOMtree paper uses it.

Terms and their weights are those of Rennie and Rifkin's preparation as LIBSVM's page passes it on; they are taken as
they are (the `.scale` files, where given instead, have rows of length one). Classes have numbers only, so there is no
tree; `industry` reads the pages themselves, with names and tree.
"""

from __future__ import annotations

import re
from typing import Any

from harness import Dataset
from harness.errors import DataError
from harness.sdk.reading.raw import RawFiles
from harness.sdk.reading.sparse_text import SparseText, read_svmlight
from harness_text.classes import beside, part_splits, positions
from harness_text.sparse_parts import by_number, single_labels, stacked

RAW = RawFiles(
    dataset="sector",
    needed="sector.bz2 and sector.t.bz2 from LIBSVM's page of multi-class data (or both as sector.scale.bz2 and "
    "sector.t.scale.bz2)",
    wanted=re.compile(r"(?:^|/)sector(\.t)?(?:\.scale)?(\.t)?$"),
)
PUBLISHED = {"train": 6_412, "test": 3_207}


def load(*, source: str | None = None) -> Dataset:
    """The training part, then the test part; "train-test" is LIBSVM's split."""
    read: dict[str, SparseText] = {}
    labels: dict[str, list[str]] = {}
    for match, stream in RAW.open_each(source):
        part = "test" if match[1] or match[2] else "train"
        if part in read:
            raise DataError(f"data set 'sector': {match.string} and another file are both the {part} part: remove one")
        read[part] = read_svmlight(stream, name=match.string)
        labels[part] = single_labels("sector", match.string, read[part])
    parts = [part for part in PUBLISHED if part in read]
    row_labels = [label for part in parts for label in labels[part]]
    classes = by_number(row_labels)
    X = stacked([read[part] for part in parts], first_feature=1)
    sizes = " + ".join(beside(len(labels[part]), PUBLISHED[part]) for part in parts)
    return Dataset(
        X=X,
        y=positions(row_labels, classes),
        class_names=tuple(classes),
        splits=part_splits([part for part in parts for _ in labels[part]]),
        found=f"{sizes} pages ({' + '.join(parts)}), {len(classes)} classes, {X.shape[1]:,} terms",
    )


def stamp(*, source: str | None = None, **_: Any) -> str:
    """Names the files without reading them."""
    return RAW.stamp(source)
