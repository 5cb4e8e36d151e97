"""EUR-Lex with 4k labels: laws of the European Union to EuroVoc descriptors, several a law.

The features are the 5,000 of the Extreme Classification Repository, already weighted by tf-idf there, so the values are
taken as they are. Format: a line "rows features labels", then a line a law, "label,label,... feature:value ...".
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from harness import Dataset
from harness.errors import DataError
from harness.sdk.reading.raw import RawFiles
from harness.sdk.reading.sparse_text import read_xmc
from harness_text.classes import beside, indicator, part_splits
from harness_text.sparse_parts import stacked

RAW = RawFiles(
    dataset="eurlex4k",
    needed="eurlex_train.txt and eurlex_test.txt (Eurlex-4K, bag-of-words features) of the Extreme Classification "
    "Repository, packed or not, or the archive that holds them",
    wanted=re.compile(r"(?:^|/)[Ee]urlex_(train|test)\.txt$"),
    archive="Eurlex.zip",
)
PUBLISHED = {"train": 15_539, "test": 3_809}


def load(*, source: str | None = None) -> Dataset:
    """The training part, then the test part; "train-test" is the split of the repository."""
    read = {match[1]: read_xmc(stream, name=match.string) for match, stream in RAW.open_each(source)}
    if read.keys() != PUBLISHED.keys():
        raise DataError(f"data set 'eurlex4k': only the {next(iter(read))} part is there, expected train and test")
    promised = {part: (text.X.shape[1], text.n_labels or 0) for part, text in read.items()}
    if len(set(promised.values())) > 1:
        raise DataError(f"data set 'eurlex4k': the parts promise different (features, labels): {promised}")
    n_features, n_labels = promised["train"]
    labels = [row for part in PUBLISHED for row in read[part].labels]
    classes = tuple(map(str, range(n_labels)))
    unlabelled = sum(not row for row in labels)
    sizes = {part: read[part].X.shape[0] for part in PUBLISHED}
    shown = " + ".join(beside(sizes[part], PUBLISHED[part]) for part in PUBLISHED)
    return Dataset(
        X=stacked([read[part] for part in PUBLISHED]),
        y=indicator(labels, classes),
        class_names=classes,
        splits=part_splits([part for part in PUBLISHED for _ in range(sizes[part])]),
        found=f"{shown} laws x {n_features:,} features, {n_labels:,} labels, "
        f"{np.mean([len(row) for row in labels]):.1f} a law" + (f", {unlabelled} without" if unlabelled else ""),
    )


def stamp(*, source: str | None = None, **_: Any) -> str:
    """Names the files without reading them."""
    return RAW.stamp(source)
