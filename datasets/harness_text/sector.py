"""Industry sector in LIBSVM's format: 9,619 web pages in 105 classes, as used in the LOMtree paper.

Terms and weights are those of Rennie and Rifkin as distributed by LIBSVM, without changes (the rows of the `.scale`
files, if used instead, have length 1). Classes have only numbers, so there is no tree. `industry` reads the original
pages, with names and tree.
"""

from __future__ import annotations

import re

from harness import Dataset
from harness.sdk.reading.raw import RawFiles
from harness.sdk.reading.sparse_text import SparseText, read_svmlight
from harness_text.classes import beside, laid_end_to_end, part_splits, positions
from harness_text.sparse_files import by_number, single_labels, stacked

RAW = RawFiles(
    dataset="sector",
    needed="sector.bz2 and sector.t.bz2 from LIBSVM's page of multi-class data (or both as sector.scale.bz2 and "
    "sector.t.scale.bz2)",
    wanted=re.compile(r"(?:^|/)sector(\.t)?(?:\.scale)?(\.t)?$"),
)
PUBLISHED = {"train": 6_412, "test": 3_207}


def load_sector(*, source: str | None = None) -> Dataset:
    """Load both parts.

    Parameters
    ----------
    source : str or None, default=None
        Folder or archive with the files. None uses imported or downloaded files.

    Returns
    -------
    Dataset
        The training part, then the test part, with LIBSVM's split "train-test".

    Raises
    ------
    DataError
        If the files are missing, damaged, or not those of the dataset.
    """
    read: dict[str, SparseText] = {}
    labels: dict[str, list[str]] = {}
    for match, stream in RAW.open_each(source):
        part = "test" if match[1] or match[2] else "train"
        if part in read:
            raise RAW.error(f"{match.string} and another file are both the {part} part", "Remove one.")
        read[part] = read_svmlight(stream, name=match.string)
        labels[part] = single_labels("sector", match.string, read[part])
    labels = {part: labels[part] for part in PUBLISHED if part in labels}  # in the order of the rows
    row_labels, row_parts = laid_end_to_end(labels)
    classes = by_number(row_labels)
    X = stacked([read[part] for part in labels], first_feature=1)
    sizes = " + ".join(beside(len(rows), PUBLISHED[part]) for part, rows in labels.items())
    return Dataset(
        X=X,
        y=positions(row_labels, classes),
        class_names=tuple(classes),
        splits=part_splits(row_parts),
        found=f"{sizes} pages ({' + '.join(labels)}), {len(classes)} classes, {X.shape[1]:,} terms",
    )
