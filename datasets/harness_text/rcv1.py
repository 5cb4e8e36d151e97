"""RCV1-v2: newswire stories of Reuters (1996 and 1997) to topics, several a story, with the tree of topics.

The vectors are those of LYRL2004: stemmed terms, weighted by tf-idf with weights of the training part, scaled to length
one; they are taken as they are. `part="train"` (the default, what KDD 2008 draws its ten splits from) is the 23,149
stories of the chronological training part, `part="all"` adds the 781,265 of the test part and brings the split
"lyrl2004". `labels="lowest"` keeps of a story's topics only those with none of its other topics below them, which is
KDD 2008's rule; "all" keeps the topics as assigned, with those above them.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import IO, Any

import numpy as np

from harness import Dataset
from harness.errors import DataError
from harness.sdk.reading.raw import RawFiles
from harness.sdk.reading.sparse_text import SparseText, read_svmlight
from harness_text.classes import ClassPath, beside, check_choice, indicator, path_to, tree_of_paths
from harness_text.sparse_parts import single_labels, stacked

RAW = RawFiles(
    dataset="rcv1",
    needed="lyrl2004_vectors_train.dat.gz (for part='all' also lyrl2004_vectors_test_pt0.dat.gz to _pt3), "
    "rcv1-v2.topics.qrels.gz and rcv1.topics.hier.orig from the appendices of Lewis, Yang, Rose and Li, JMLR 2004",
    wanted=re.compile(
        r"(?:^|/)(?:lyrl2004_vectors_(train|test_pt\d)\.dat|(rcv1-?v2\.topics\.qrels)|(rcv1\.topics\.hier)\.orig)(?:\.txt)?$"
    ),
)
PARTS = ("train", "all")
LABELS = ("all", "lowest")
PUBLISHED = {"train": 23_149, "all": 804_414}
N_FEATURES = 47_236
_LINK = re.compile(r"parent:\s*(\S+)\s+child:\s*(\S+)\s+child-description:")

Topics = dict[str, list[str]]
"""The topics of each story, by its number."""


def load(*, source: str | None = None, part: str = "train", labels: str = "all") -> Dataset:
    """Stories in the order of the files, the training part first."""
    check_choice("rcv1", "part", part, PARTS)
    check_choice("rcv1", "labels", labels, LABELS)
    vectors, topics, parent = _read(source, part)
    names = sorted(vectors, key=lambda name: (name != "train", name))
    stories = [number for name in names for number in single_labels("rcv1", name, vectors[name])]
    paths = _paths({topic for number in stories for topic in _topics_of(number, topics)}, parent)
    assigned = [topics[number] if labels == "all" else lowest(topics[number], paths) for number in stories]
    classes = sorted({topic for row in assigned for topic in row})
    rows = np.arange(len(stories))
    n_train = vectors["train"].X.shape[0]
    return Dataset(
        X=stacked([vectors[name] for name in names], first_feature=1, least_width=N_FEATURES + 1),
        y=indicator(assigned, classes),
        class_names=tuple(classes),
        taxonomy=tree_of_paths("Root", [paths[topic] for topic in classes]),
        splits={"lyrl2004": (rows[:n_train], rows[n_train:])} if part == "all" else {},
        found=f"{beside(len(stories), PUBLISHED[part])} stories, {len(classes)} topics, "
        f"{sum(map(len, assigned)) / max(len(stories), 1):.1f} a story",
    )


def stamp(*, source: str | None = None, **_: Any) -> str:
    """Names the files without reading them."""
    return RAW.stamp(source)


def _paths(topics: set[str], parent: dict[str, str]) -> dict[str, ClassPath]:
    where = "data set 'rcv1': rcv1.topics.hier.orig"
    return {topic: path_to(topic, parent, root="Root", where=where) for topic in sorted(topics)}


def _topics_of(story: str, topics: Topics) -> list[str]:
    if story not in topics:
        raise DataError(f"data set 'rcv1': the story {story!r} has a vector but no line in rcv1-v2.topics.qrels")
    return topics[story]


def lowest(topics: list[str], paths: dict[str, ClassPath]) -> list[str]:
    """The topics that have none of the others below them."""
    above = {name for topic in topics for name in paths[topic][:-1]}
    return [topic for topic in topics if topic not in above]


def _read(source: str | None, part: str) -> tuple[dict[str, SparseText], Topics, dict[str, str]]:
    """The vectors by file, the topics of each story, and what is above each topic."""
    vectors: dict[str, SparseText] = {}
    topics: Topics = {}
    parent: dict[str, str] = {}
    for match, stream in RAW.open_each(source):
        if match[2]:
            topics = _read_topics(match.string, stream)
        elif match[3]:
            parent = _read_tree(match.string, stream)
        elif part == "all" or match[1] == "train":
            vectors[match[1]] = read_svmlight(stream, name=match.string)
    tests = [f"test_pt{i}" for i in range(4)] if part == "all" else []
    lacking = [f"lyrl2004_vectors_{name}.dat" for name in ("train", *tests) if name not in vectors]
    lacking += ["rcv1-v2.topics.qrels"] * (not topics) + ["rcv1.topics.hier.orig"] * (not parent)
    if lacking:
        raise DataError(f"data set 'rcv1': {', '.join(lacking)} not there (or empty); it is made from {RAW.needed}")
    return vectors, topics, parent


def _read_topics(name: str, stream: IO[bytes]) -> Topics:
    """Lines "topic story 1"."""
    topics: Topics = defaultdict(list)
    for number, line in enumerate(stream, 1):
        fields = line.split()
        if len(fields) != 3 or fields[2] != b"1":
            raise DataError(f"data set 'rcv1': {name}, line {number}: expected 'topic story 1', found {line[:60]!r}")
        topics[fields[1].decode("latin-1")].append(fields[0].decode("latin-1"))
    return dict(topics)


def _read_tree(name: str, stream: IO[bytes]) -> dict[str, str]:
    """Lines "parent: CCAT child: C15 child-description: PERFORMANCE"; the root's parent is None."""
    parent: dict[str, str] = {}
    for number, line in enumerate(stream, 1):
        text = line.decode("latin-1").strip()
        link = _LINK.match(text)
        if text and link is None:
            raise DataError(
                f"data set 'rcv1': {name}, line {number}: expected 'parent: .. child: .. child-description: ..', "
                f"found {text[:60]!r}"
            )
        if link:
            parent[link[2]] = link[1]
    return parent
