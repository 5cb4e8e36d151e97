"""RCV1-v2: newswire stories of Reuters (1996 and 1997) by topic, several per story, with the tree of topics.

The vectors are those of LYRL2004 and are not changed: stemmed terms, weighted by tf-idf with weights of the training
part, scaled to length 1. `part="train"` (the default, from which KDD 2008 draws its ten splits) is the 23,149 stories
of the chronological training part. `part="all"` adds the 781,265 stories of the test part and the split "lyrl2004".
`labels="lowest"` keeps only those topics of a story that have none of its other topics below them, as in KDD 2008.
"all" keeps the topics as assigned, including ancestors.
"""

from __future__ import annotations

import re
from collections import defaultdict
from typing import IO

import numpy as np

from harness import Dataset
from harness.sdk.reading.raw import RawFiles
from harness.sdk.reading.sparse_text import SparseText, read_svmlight
from harness_text.classes import ClassPath, beside, check_choice, indicator, path_to, tree_of_paths
from harness_text.sparse_files import single_labels, stacked

RAW = RawFiles(
    dataset="rcv1",
    needed="lyrl2004_vectors_train.dat.gz (for part='all' also lyrl2004_vectors_test_pt0.dat.gz to _pt3), "
    "rcv1-v2.topics.qrels.gz and rcv1.topics.hier.orig from the appendices of Lewis, Yang, Rose and Li, JMLR 2004",
    wanted=re.compile(
        r"(?:^|/)(?:lyrl2004_vectors_(train|test_pt\d)\.dat|(rcv1-?v2\.topics\.qrels)|(rcv1\.topics\.hier)\.orig)(?:\.txt)?$"
    ),
)
ALL_VECTORS = ("train", "test_pt0", "test_pt1", "test_pt2", "test_pt3")
PARTS = ("train", "all")
LABELS = ("all", "lowest")
PUBLISHED = {"train": 23_149, "all": 804_414}
N_FEATURES = 47_236
_LINK = re.compile(r"parent:\s*(\S+)\s+child:\s*(\S+)\s+child-description:")

Topics = dict[str, list[str]]
"""The topics of each story, by its number."""


def load_rcv1(*, source: str | None = None, part: str = "train", labels: str = "all") -> Dataset:
    """Load the stories.

    Parameters
    ----------
    source : str or None, default=None
        Folder or archive with the files. None uses imported or downloaded files.
    part : {"train", "all"}, default="train"
        Stories to load.
    labels : {"all", "lowest"}, default="all"
        Topics to keep.

    Returns
    -------
    Dataset
        Stories in the order of the files, the training part first.

    Raises
    ------
    DataError
        If the files are missing, damaged, or not those of the dataset.
    """
    check_choice("rcv1", "part", part, PARTS)
    check_choice("rcv1", "labels", labels, LABELS)
    vectors, topics, parent = _read(source, part)
    names = ["train", *sorted(vectors.keys() - {"train"})]
    stories: list[str] = []
    for name in names:
        stories += single_labels("rcv1", name, vectors[name])
    assigned = [_topics_of(story, topics) for story in stories]
    paths = _paths(set().union(*assigned), parent)
    if labels == "lowest":
        assigned = [lowest(row, paths) for row in assigned]
    classes = sorted(set().union(*assigned))
    splits = {}
    if part == "all":
        rows = np.arange(len(stories))
        n_train = vectors["train"].X.shape[0]
        splits["lyrl2004"] = (rows[:n_train], rows[n_train:])
    return Dataset(
        X=stacked([vectors[name] for name in names], first_feature=1, least_width=N_FEATURES + 1),
        y=indicator(assigned, classes),
        class_names=tuple(classes),
        taxonomy=tree_of_paths("Root", [paths[topic] for topic in classes]),
        splits=splits,
        found=f"{beside(len(stories), PUBLISHED[part])} stories, {len(classes)} topics, "
        f"{sum(map(len, assigned)) / max(len(stories), 1):.1f} a story",
    )


def _paths(topics: set[str], parent: dict[str, str]) -> dict[str, ClassPath]:
    paths = {}
    for topic in sorted(topics):
        paths[topic] = path_to(topic, parent, root="Root", dataset="rcv1", file="rcv1.topics.hier.orig")
    return paths


def _topics_of(story: str, topics: Topics) -> list[str]:
    if story not in topics:
        raise RAW.error(f"the story {story!r} has a vector but no line in rcv1-v2.topics.qrels")
    return topics[story]


def lowest(topics: list[str], paths: dict[str, ClassPath]) -> list[str]:
    """Return the topics that have none of the others below them."""
    above: set[str] = set()
    for topic in topics:
        above.update(paths[topic][:-1])
    return [topic for topic in topics if topic not in above]


def _read(source: str | None, part: str) -> tuple[dict[str, SparseText], Topics, dict[str, str]]:
    """Return the vectors by file, the topics of each story, and the parent of each topic."""
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
    needed = ALL_VECTORS if part == "all" else ALL_VECTORS[:1]
    lacking = [f"lyrl2004_vectors_{name}.dat" for name in needed if name not in vectors]
    if not topics:
        lacking.append("rcv1-v2.topics.qrels")
    if not parent:
        lacking.append("rcv1.topics.hier.orig")
    if lacking:
        raise RAW.error(f"{', '.join(lacking)} missing or empty. It is made from {RAW.needed}")
    return vectors, topics, parent


def _read_topics(name: str, stream: IO[bytes]) -> Topics:
    """Read lines of "topic story 1"."""
    topics: Topics = defaultdict(list)
    for number, line in enumerate(stream, 1):
        fields = line.split()
        if len(fields) != 3 or fields[2] != b"1":
            raise RAW.error(f"{name}, line {number}: expected 'topic story 1', found {line[:60]!r}")
        topics[fields[1].decode("latin-1")].append(fields[0].decode("latin-1"))
    return dict(topics)


def _read_tree(name: str, stream: IO[bytes]) -> dict[str, str]:
    """Read lines of "parent: CCAT child: C15 child-description: PERFORMANCE"; the parent of the root is None."""
    parent: dict[str, str] = {}
    for number, line in enumerate(stream, 1):
        text = line.decode("latin-1").strip()
        link = _LINK.match(text)
        if text and link is None:
            raise RAW.error(
                f"{name}, line {number}: expected 'parent: .. child: .. child-description: ..', found {text[:60]!r}"
            )
        if link:
            parent[link[2]] = link[1]
    return parent
