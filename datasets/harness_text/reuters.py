"""Reuters-21578: newswire stories of 1987 by their assigned topics.

The text of a story is its title and body; stories without such mark-up (UNPROC) are used completely. Tokens are
lower-cased runs of at least two letters, without scikit-learn's English stop words unless `stop_words` is false, and
without tokens of fewer than `min_df` stories of the subset (1 drops nothing, which comes nearest to the number of
features in the papers).

Subsets: `top10`, stories with one of the ten largest topics, of which the rarest is kept (9,400 stories, as in KDD
2008); `modapte90`, the modified Apte split with all labels of the 90 topics that occur in both parts; `r52`, stories of
that split with exactly one topic, of the 52 topics that then still occur in both parts.
"""

from __future__ import annotations

import html
import itertools
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from harness import Dataset
from harness.sdk import Texts
from harness.sdk.reading.raw import RawFiles
from harness_text.classes import check_choice, counted_words, indicator, positions

RAW = RawFiles(
    dataset="reuters21578",
    needed="reuters21578.tar.gz from David D. Lewis's page of test collections (also at the UCI Machine Learning "
    "Repository), or the folder with reut2-000.sgm to reut2-021.sgm that it unpacks to",
    wanted=re.compile(r"(?:^|/)(reut2-\d{3}\.sgm)$"),
    archive="reuters21578.tar.gz",
)
_OPENING, _CLOSING = "<REUTERS", "</REUTERS>"
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_TOPICS = re.compile(r"<TOPICS>(.*?)</TOPICS>", re.DOTALL)
_TOPIC = re.compile(r"<D>(.*?)</D>", re.DOTALL)
_TEXT = re.compile(r"<TEXT[^>]*>(.*?)</TEXT>", re.DOTALL)
_PASSAGE = re.compile(r"<(TITLE|BODY)>(.*?)</\1>", re.DOTALL)
_CONTROL = re.compile(r"&#\d+;")


@dataclass(frozen=True)
class Story:
    """The relevant parts of a document."""

    topics: frozenset[str]
    part: str | None
    """Its part in the modified Apte split: train, test or none."""
    text: str


def load_reuters21578(
    *, source: str | None = None, subset: str = "top10", stop_words: bool = True, min_df: int = 1
) -> Dataset:
    """Load a subset of the stories.

    Parameters
    ----------
    source : str or None, default=None
        Folder or archive with the files. None uses imported or downloaded files.
    subset : {"top10", "modapte90", "r52"}, default="top10"
        Stories and topics to load.
    stop_words : bool, default=True
        If True, English stop words are dropped.
    min_df : int, default=1
        Minimum number of stories with a token.

    Returns
    -------
    Dataset
        The stories in the order of the files, with the split "modapte" except for `top10`.

    Raises
    ------
    DataError
        If the files are missing, damaged, or not those of the dataset.
    """
    check_choice("reuters21578", "subset", subset, tuple(SUBSETS))
    stories: list[Story] = []
    for match, content in RAW.read(source):
        stories += read_stories(match[1], content.decode("latin-1"))
    chosen, topics, labels = SUBSETS[subset](stories)
    if len(topics) < 2:
        raise RAW.error(f"{len(stories)} stories give {len(topics)} topics for {subset!r}")
    parts = np.array([story.part or "" for story in chosen])
    train, test = np.flatnonzero(parts == "train"), np.flatnonzero(parts == "test")
    splits = {}
    if subset != "top10":
        splits["modapte"] = (train, test)
    return Dataset(
        X=None,
        y=labels,
        class_names=tuple(topics),
        splits=splits,
        found=f"{len(chosen):,} of {len(stories):,} stories ({len(train):,} + {len(test):,} in the "
        f"ModApte split), {len(topics)} topics",
        texts=Texts.of(story.text for story in chosen),
        counting=counted_words("letters", english=stop_words, min_df=min_df),
    )


# -- subsets ---------------------------------------------------------------------------------------------------------


Subset = tuple[list[Story], list[str], Any]
"""The selected stories, their topics, and the labels of each."""


def top10(stories: list[Story]) -> Subset:
    """Return stories with a single label: of several of the ten topics, the one with the fewest stories."""
    size: Counter[str] = Counter()
    for story in stories:
        size.update(story.topics)
    by_name = sorted(size)  # of topics of equal size, the first by name counts as larger, and as rarer
    largest = sorted(by_name, key=size.__getitem__, reverse=True)[:10]
    topics = sorted(largest)
    chosen = _with_any(stories, topics)
    kept = []
    for story in chosen:
        candidates = sorted(story.topics.intersection(topics))
        kept.append(min(candidates, key=size.__getitem__))
    return chosen, topics, positions(kept, topics)


def modapte90(stories: list[Story]) -> Subset:
    """Return stories with several labels: those of the split with a topic that occurs in both parts."""
    topics = _in_both_parts(stories)
    chosen = _with_any([story for story in stories if story.part], topics)
    return chosen, topics, indicator([story.topics for story in chosen], topics)


def r52(stories: list[Story]) -> Subset:
    """Return stories with a single label: those of the split with exactly one topic, which occurs in both parts."""
    single = [story for story in stories if story.part and len(story.topics) == 1]
    topics = _in_both_parts(single)
    chosen = _with_any(single, topics)
    return chosen, topics, positions(itertools.chain(*(story.topics for story in chosen)), topics)


SUBSETS = {"top10": top10, "modapte90": modapte90, "r52": r52}


def _with_any(stories: list[Story], topics: list[str]) -> list[Story]:
    """Return the stories with one of these topics."""
    return [story for story in stories if not story.topics.isdisjoint(topics)]


def _in_both_parts(stories: list[Story]) -> list[str]:
    """Return the topics that occur both in the training part and in the test part of the split."""
    met: dict[str | None, set[str]] = defaultdict(set)
    for story in stories:
        met[story.part].update(story.topics)
    return sorted(met["train"] & met["test"])


# -- SGML ------------------------------------------------------------------------------------------------------------


def read_stories(name: str, text: str) -> Iterator[Story]:
    """Yield the stories of a file.

    It is SGML of a fixed shape, not XML: it has control characters and no root element.
    """
    start = text.find(_OPENING)
    while start >= 0:
        following = text.find(_OPENING, start + 1)
        end = following if following >= 0 else len(text)
        try:
            yield _story(text[start:end])
        except _Broken as reason:
            line = text.count("\n", 0, start) + 1
            raise RAW.error(f"{name}, the document at line {line} {reason}", "Download the file again.") from None
        start = following


class _Broken(Exception):
    """A document with missing parts, which the message names."""


def _story(document: str) -> Story:
    tag, _, content = document.partition(">")
    attributes = dict(_ATTRIBUTE.findall(tag))
    content, closing, _ = content.partition(_CLOSING)
    if not closing:
        raise _Broken(f"has no {_CLOSING}")
    if "LEWISSPLIT" not in attributes or "TOPICS" not in attributes:
        raise _Broken("has no LEWISSPLIT and TOPICS")
    topics, text = _TOPICS.search(content), _TEXT.search(content)
    if topics is None:
        raise _Broken("has no TOPICS element")
    if text is None:
        raise _Broken("has no TEXT element")
    passages = [part for _, part in _PASSAGE.findall(text[1])] or [text[1]]
    parts = {("TRAIN", "YES"): "train", ("TEST", "YES"): "test"}
    return Story(
        topics=frozenset(_TOPIC.findall(topics[1])),
        part=parts.get((attributes["LEWISSPLIT"], attributes["TOPICS"])),
        text=html.unescape(_CONTROL.sub(" ", "\n".join(passages))),
    )
