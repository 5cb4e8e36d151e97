"""Reuters-21578: newswire stories of 1987 to the topics that were assigned to them.

A story's text is its title and body; where the supervisor's mark-up found neither (UNPROC), all of its text. Tokens are
lower-cased runs of at least two letters, without scikit-learn's English stop words and without tokens of fewer than
`min_df` stories of the subset (1: without a cut, which comes nearest to the number of features in the papers).

Subsets: `top10`, stories with one of the ten largest topics, the rarest one kept (9,400 stories, as in KDD 2008);
`modapte90`, the modified Apte split with all labels of the 90 topics that occur in both of its parts; `r52`, stories of
that split with exactly one topic, of the 52 topics that then still occur in both parts.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import Dataset
from harness.errors import DataError
from harness.sdk.reading.raw import RawFiles
from harness.sdk.reading.tokens import WORDS, count_terms, english_stop_words
from harness_text.classes import check_choice, indicator, positions

RAW = RawFiles(
    dataset="reuters21578",
    needed="reuters21578.tar.gz from David D. Lewis's page of test collections (also at the UCI Machine Learning "
    "Repository), or the folder with reut2-000.sgm to reut2-021.sgm that it unpacks to",
    wanted=re.compile(r"(?:^|/)(reut2-\d{3}\.sgm)$"),
    archive="reuters21578.tar.gz",
)
SUBSETS = ("top10", "modapte90", "r52")
_OPENING, _CLOSING = "<REUTERS", "</REUTERS>"
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL)
_TOPIC = re.compile(r"<D>(.*?)</D>", re.DOTALL)
_TEXT = re.compile(r"<TEXT[^>]*>(.*?)</TEXT>", re.DOTALL)
_TOLD = re.compile(r"<(TITLE|BODY)>(.*?)</\1>", re.DOTALL)
_CONTROL = re.compile(r"&#\d+;")


@dataclass(frozen=True)
class Story:
    """A document of the collection, as far as it is used here."""

    topics: frozenset[str]
    part: str | None
    """Its part in the modified Apte split: train, test or none."""
    text: str


def load(*, source: str | None = None, subset: str = "top10", min_df: int = 1) -> Dataset:
    """A subset of the stories, in the order of the files; but for `top10`, "modapte" is the split."""
    check_choice("reuters21578", "subset", subset, SUBSETS)
    stories = [story for match, content in RAW.read(source) for story in read(match[1], content.decode("latin-1"))]
    chosen, topics, labels = {"top10": top10, "modapte90": modapte90, "r52": r52}[subset](stories)
    if len(topics) < 2:
        raise DataError(f"data set 'reuters21578': {len(stories)} stories give {len(topics)} topics for {subset!r}")
    counts, _ = count_terms((s.text for s in chosen), WORDS, stop_words=english_stop_words(), min_df=min_df)
    rows = {part: np.array([i for i, s in enumerate(chosen) if s.part == part], np.int64) for part in ("train", "test")}
    return Dataset(
        X=counts,
        y=labels,
        class_names=tuple(topics),
        splits={"modapte": (rows["train"], rows["test"])} if subset != "top10" else {},
        found=f"{len(chosen):,} of {len(stories):,} stories ({len(rows['train']):,} + {len(rows['test']):,} in the "
        f"ModApte split), {len(topics)} topics, {counts.shape[1]:,} words",
    )


def stamp(*, source: str | None = None, **_: Any) -> str:
    """Names the archive or folder without reading it."""
    return RAW.stamp(source)


# -- subsets ---------------------------------------------------------------------------------------------------------


def top10(stories: Iterable[Story]) -> tuple[list[Story], list[str], Any]:
    """Single labels: of several among the ten, a story keeps the one that the fewest stories of the collection have."""
    stories = list(stories)
    size = _sizes(stories)
    largest = sorted(size, key=lambda topic: (-size[topic], topic))[:10]
    chosen = [story for story in stories if not story.topics.isdisjoint(largest)]
    kept = [min(story.topics.intersection(largest), key=lambda topic: (size[topic], topic)) for story in chosen]
    topics = sorted(largest)
    return chosen, topics, positions(kept, topics)


def modapte90(stories: Iterable[Story]) -> tuple[list[Story], list[str], Any]:
    """Multi-label: stories of the split that have a topic which occurs in both of its parts."""
    stories = [story for story in stories if story.part]
    topics = _in_both_parts(stories)
    chosen = [story for story in stories if not story.topics.isdisjoint(topics)]
    return chosen, topics, indicator([story.topics for story in chosen], topics)


def r52(stories: Iterable[Story]) -> tuple[list[Story], list[str], Any]:
    """Single labels: stories of the split with exactly one topic, which occurs in both parts among such stories."""
    stories = [story for story in stories if story.part and len(story.topics) == 1]
    topics = _in_both_parts(stories)
    chosen = [story for story in stories if not story.topics.isdisjoint(topics)]
    return chosen, topics, positions((topic for story in chosen for topic in story.topics), topics)


def _in_both_parts(stories: list[Story]) -> list[str]:
    trained, tested = (_sizes(s for s in stories if s.part == part) for part in ("train", "test"))
    return sorted(trained.keys() & tested.keys())


def _sizes(stories: Iterable[Story]) -> Counter[str]:
    return Counter(topic for story in stories for topic in story.topics)


# -- SGML ------------------------------------------------------------------------------------------------------------


def read(name: str, text: str) -> Iterator[Story]:
    """The stories of one file. It is SGML of a fixed shape, not XML: control characters and no root element."""
    start = text.find(_OPENING)
    while start >= 0:
        following = text.find(_OPENING, start + 1)
        document = text[start : following if following >= 0 else len(text)]
        try:
            yield _story(document)
        except _Broken as reason:
            line = text.count("\n", 0, start) + 1
            raise DataError(
                f"data set 'reuters21578': {name}, the document at line {line} {reason}: get the file again"
            ) from None
        start = following


class _Broken(Exception):
    """What a document lacks."""


def _story(document: str) -> Story:
    tag, _, content = document.partition(">")
    attributes = dict(_ATTRIBUTE.findall(tag))
    content, closing, _ = content.partition(_CLOSING)
    if not closing:
        raise _Broken(f"has no {_CLOSING}")
    if "LEWISSPLIT" not in attributes or "TOPICS" not in attributes:
        raise _Broken("does not say LEWISSPLIT and TOPICS")
    topics, text = _TOPICS.search(content), _TEXT.search(content)
    if topics is None or text is None:
        raise _Broken(f"has no {'TOPICS' if topics is None else 'TEXT'} element")
    told = [part for _, part in _TOLD.findall(text[1])] or [text[1]]
    parts = {("TRAIN", "YES"): "train", ("TEST", "YES"): "test"}
    return Story(
        topics=frozenset(_TOPIC.findall(topics[1])),
        part=parts.get((attributes["LEWISSPLIT"], attributes["TOPICS"])),
        text=html.unescape(_CONTROL.sub(" ", "\n".join(told))),
    )
