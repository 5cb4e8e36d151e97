"""EUR-Lex with 4k labels: laws of the European Union by EuroVoc descriptor, several per law.

The features are the 5,000 of the Extreme Classification Repository. Their values are already weighted by tf-idf and are
not changed. Format: a line "rows features labels", then a line per law, "label,label,... feature:value ...".
"""

from __future__ import annotations

import re

import numpy as np

from harness import Dataset
from harness.sdk.reading.raw import RawFiles
from harness.sdk.reading.sparse_text import read_xmc
from harness_text.classes import beside, indicator, laid_end_to_end, part_splits
from harness_text.sparse_files import stacked

RAW = RawFiles(
    dataset="eurlex4k",
    needed="eurlex_train.txt and eurlex_test.txt (Eurlex-4K, bag-of-words features) of the Extreme Classification "
    "Repository, packed or not, or the archive that holds them",
    wanted=re.compile(r"(?:^|/)[Ee]urlex_(train|test)\.txt$"),
    archive="Eurlex.zip",
)
PUBLISHED = {"train": 15_539, "test": 3_809}


def load_eurlex4k(*, source: str | None = None) -> Dataset:
    """Load both parts.

    Parameters
    ----------
    source : str or None, default=None
        Folder or archive with the files. None uses imported or downloaded files.

    Returns
    -------
    Dataset
        The training part, then the test part, with the repository's split "train-test".

    Raises
    ------
    DataError
        If the files are missing, damaged, or not those of the dataset.
    """
    read = {match[1]: read_xmc(stream, name=match.string) for match, stream in RAW.open_each(source)}
    if read.keys() != PUBLISHED.keys():
        raise RAW.error(f"only the {next(iter(read))} part is there, expected train and test")
    promised = {part: (text.X.shape[1], text.n_labels or 0) for part, text in read.items()}
    if promised["train"] != promised["test"]:
        raise RAW.error(f"the parts promise different (features, labels): {promised}")
    n_features, n_labels = promised["train"]
    labels, row_parts = laid_end_to_end({part: read[part].labels for part in PUBLISHED})
    n_row_labels = list(map(len, labels))
    classes = tuple(map(str, range(n_labels)))
    sizes = " + ".join(beside(row_parts.count(part), described) for part, described in PUBLISHED.items())
    unlabelled = n_row_labels.count(0)
    without = f", {unlabelled} without" if unlabelled else ""
    return Dataset(
        X=stacked([read[part] for part in PUBLISHED]),
        y=indicator(labels, classes),
        class_names=classes,
        splits=part_splits(row_parts),
        found=f"{sizes} laws x {n_features:,} features, {n_labels:,} labels, "
        f"{np.mean(n_row_labels):.1f} a law{without}",
    )
