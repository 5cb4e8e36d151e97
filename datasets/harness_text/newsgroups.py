"""20 Newsgroups, sorted by date: messages to the groups they were posted to.

Tokens are lower-cased runs of at least two letters; scikit-learn's English stop words are left out, and so are tokens
of fewer than `min_df` messages, counted over both parts of the split. The tree has two levels: the first word of a
group's name (alt, comp, misc, rec, sci, soc, talk), then the group.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from harness import Dataset, Taxonomy
from harness.errors import DataError
from harness.raw import RawFiles
from harness.tokens import WORDS, count_terms, english_stop_words

RAW = RawFiles(
    dataset="newsgroups",
    needed="20news-bydate.tar.gz from Jason Rennie's 20 Newsgroups page, or the folder with 20news-bydate-train and "
    "20news-bydate-test that it unpacks to",
    folder="20newsgroups",
    wanted=re.compile(r"(?:^|/)20news-bydate-(train|test)/([^/]+)/[^/]+$"),
    archive="20news-bydate.tar.gz",
)
HEADERS = ("strip", "keep")
PUBLISHED = (11_314, 7_532)
"""Messages in the training and the test part of the archive as its keeper describes it."""


def load(*, source: str | None = None, headers: str = "strip", min_df: int = 2) -> Dataset:
    """All messages, the training part first, each part by group; "bydate" is the split that the archive brings."""
    if headers not in HEADERS:
        raise DataError(f"data set 'newsgroups': headers is {headers!r}, expected one of {', '.join(HEADERS)}")
    messages = sorted(RAW.read(source), key=lambda message: message[0][1] == "test")
    texts = (text_of(content, headers) for _, content in messages)
    counts, _ = count_terms(texts, WORDS, stop_words=english_stop_words(), min_df=min_df)
    groups, labels = np.unique([match[2] for match, _ in messages], return_inverse=True)
    n_train = sum(match[1] == "train" for match, _ in messages)
    rows = np.arange(len(messages))
    sizes = (n_train, len(messages) - n_train)
    note = "" if sizes == PUBLISHED else f" (described as {PUBLISHED[0]:,} + {PUBLISHED[1]:,})"
    return Dataset(
        X=counts,
        y=labels,
        class_names=tuple(map(str, groups)),
        taxonomy=tree_of(list(map(str, groups))),
        splits={"bydate": (rows[:n_train], rows[n_train:])},
        found=f"{sizes[0]:,} + {sizes[1]:,} messages{note}, {len(groups)} groups, {counts.shape[1]:,} words",
    )


def stamp(*, source: str | None = None, **_: Any) -> str:
    """Names the archive or folder without reading it."""
    return RAW.stamp(source)


def text_of(content: bytes, headers: str) -> str:
    """A message as it is, or what comes after its first empty line."""
    text = content.decode("latin-1")
    return text if headers == "keep" else text.replace("\r\n", "\n").partition("\n\n")[2]


def tree_of(groups: list[str]) -> Taxonomy:
    """Root, the first words of the names, the groups."""
    tops = sorted({group.partition(".")[0] for group in groups})
    above = [1 + tops.index(group.partition(".")[0]) for group in groups]
    return Taxonomy(
        parent=np.array([-1, *(0 for _ in tops), *above], dtype=np.int64),
        class_node=np.arange(len(groups), dtype=np.int64) + 1 + len(tops),
        node_names=("newsgroups", *tops, *groups),
    )
