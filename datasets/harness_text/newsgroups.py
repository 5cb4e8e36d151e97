"""20 Newsgroups, sorted by date: messages by the group to which they were posted.

Read from the by-date archive, from its folders, or from the copy in the cache of scikit-learn's fetcher
(`source="scikit-learn"`, or its file 20news-bydate_py3.pkz). All give the same rows in the same order.

Tokens are lower-cased runs of at least two letters, or of letters and digits (`tokens="alphanumeric"`), or the default
of scikit-learn's vectorizers: at least two letters, digits or underscores (`tokens="scikit-learn"`). Its English stop
words are dropped unless `stop_words` is false, and so are tokens of fewer than `min_df` messages, counted over both
parts of the split. Headers, footers (signatures) and quoted lines can be kept or stripped, by the rules of
scikit-learn's `remove`. The default strips only headers.

The tree has two levels. `taxonomy="first-word"` uses the first word of a group's name (alt, comp, misc, rec, sci, soc,
talk). `taxonomy="subject"` uses the six groups by subject of the collection's home page (computers, recreation,
science, for sale, politics, religion), with alt.atheism, soc.religion.christian and talk.religion.misc in one group.
Some reports mention a tree with five tops; it is not offered, since no definition of it is known.
"""

from __future__ import annotations

import itertools
import os
import pickle
import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from harness import Dataset, Taxonomy
from harness.errors import DataError
from harness.sdk import Texts
from harness.sdk.reading.raw import RawFiles
from harness_text.classes import beside, check_choice, counted_words, positions, tree_of_paths

RAW = RawFiles(
    dataset="newsgroups",
    needed="20news-bydate.tar.gz from Jason Rennie's 20 Newsgroups page, or the folder with 20news-bydate-train and "
    "20news-bydate-test that it unpacks to, or the 20news-bydate_py3.pkz that scikit-learn's fetcher keeps",
    wanted=re.compile(r"(?:^|/)(?:20news-bydate-(train|test)/([^/]+)/([^/]+)|20news-bydate(?:_py3)?\.pkz)$"),
    archive="20news-bydate.tar.gz",
)
SCIKIT_LEARN = "scikit-learn"
"""The value of `source` for scikit-learn's own cache."""
CACHE_FILE = "20news-bydate_py3.pkz"
STRIP_OR_KEEP = ("strip", "keep")
TOKENS = {"words": "letters", "alphanumeric": "alphanumeric", "scikit-learn": r"\w\w+"}
TAXONOMIES = ("first-word", "subject")
PUBLISHED = {"train": 11_314, "test": 7_532}
"""Number of messages in each part, according to the description of the archive."""
_SUBJECTS = {
    "misc.forsale": "forsale",
    "talk.politics.guns": "politics",
    "talk.politics.mideast": "politics",
    "talk.politics.misc": "politics",
    "alt.atheism": "religion",
    "soc.religion.christian": "religion",
    "talk.religion.misc": "religion",
}
"""Groups whose subject differs from the first word of their name."""
_QUOTED = re.compile(r"writes in|writes:|wrote:|says:|said:|^In article|^Quoted from|^\||^>")


@dataclass(frozen=True, order=True)
class Message:
    """A message and its place; messages sort like the rows, the training part first."""

    tested: bool
    group: str
    name: str
    text: str


def load_newsgroups(
    *,
    source: str | None = None,
    headers: str = "strip",
    footers: str = "keep",
    quotes: str = "keep",
    tokens: str = "words",
    stop_words: bool = True,
    taxonomy: str = "first-word",
    min_df: int = 2,
) -> Dataset:
    """Load the messages.

    Parameters
    ----------
    source : str or None, default=None
        Archive or folder, or "scikit-learn" for its cache. None uses imported or downloaded files.
    headers : {"strip", "keep"}, default="strip"
        "strip" removes headers, "keep" keeps them.
    footers : {"strip", "keep"}, default="keep"
        "strip" removes signatures, "keep" keeps them.
    quotes : {"strip", "keep"}, default="keep"
        "strip" removes quoted lines, "keep" keeps them.
    tokens : {"words", "alphanumeric", "scikit-learn"}, default="words"
        Definition of a token: at least two letters, or letters and digits, or the default of scikit-learn.
    stop_words : bool, default=True
        If True, English stop words are dropped.
    taxonomy : {"first-word", "subject"}, default="first-word"
        Groups above the newsgroups: by "first-word" of their names, or by "subject".
    min_df : int, default=2
        Minimum number of messages with a token.

    Returns
    -------
    Dataset
        The training part, then the test part, each by group, with the archive's split "bydate".

    Raises
    ------
    DataError
        If the files are missing, damaged, or not those of the dataset.
    """
    for name, value in (("headers", headers), ("footers", footers), ("quotes", quotes)):
        check_choice("newsgroups", name, value, STRIP_OR_KEEP)
    check_choice("newsgroups", "tokens", tokens, tuple(TOKENS))
    check_choice("newsgroups", "taxonomy", taxonomy, TAXONOMIES)
    messages = read_messages(source)
    texts = (text_of_message(message.text, headers, footers, quotes) for message in messages)
    row_groups = [message.group for message in messages]
    groups = sorted(set(row_groups))
    n_train = [message.tested for message in messages].count(False)
    rows = np.arange(len(messages))
    sizes = f"{beside(n_train, PUBLISHED['train'])} + {beside(len(messages) - n_train, PUBLISHED['test'])}"
    return Dataset(
        X=None,
        y=positions(row_groups, groups),
        class_names=tuple(groups),
        taxonomy=tree_of(groups, taxonomy),
        splits={"bydate": (rows[:n_train], rows[n_train:])},
        found=f"{sizes} messages, {len(groups)} groups",
        texts=Texts.of(texts),
        counting=counted_words(TOKENS[tokens], english=stop_words, min_df=min_df),
    )


def stamp_newsgroups(*, source: str | None = None, **_: Any) -> str:
    """Return a stamp of the archive or folder without reading it."""
    return RAW.stamp(_settled(source))


def read_messages(source: str | None) -> list[Message]:
    """Return every message, in the same order for all sources."""
    messages: list[Message] = []
    for match, content in RAW.read(_settled(source)):
        part, group, name = match.groups()
        if part is None:
            messages += itertools.starmap(Message, read_cache(content, name=match.string))
        else:
            messages.append(Message(part == "test", group, name, content.decode("latin-1")))
    places = {(message.tested, message.group, message.name) for message in messages}
    if len(places) < len(messages):
        raise RAW.error("a message is there twice", "Give the archive, its folders or the cache.")
    return sorted(messages)


def _settled(source: str | None) -> str | None:
    """Return the source as a path. scikit-learn's own function is not called, since it creates its folder."""
    if source != SCIKIT_LEARN:
        return source
    return str(Path(os.environ.get("SCIKIT_LEARN_DATA", "~/scikit_learn_data")) / CACHE_FILE)


def text_of_message(text: str, headers: str, footers: str, quotes: str) -> str:
    """Return a message with headers (up to the first empty line), signature and quotes stripped or kept."""
    text = text.replace("\r\n", "\n")
    if headers == "strip":
        text = text.partition("\n\n")[2]
    if footers == "strip":
        text = _without_footer(text)
    if quotes == "strip":
        text = "\n".join(itertools.filterfalse(_QUOTED.search, text.split("\n")))
    return text


def _without_footer(text: str) -> str:
    """Return the text before the last line that is empty or all dashes; all of it if nothing would be left."""
    lines = text.strip().split("\n")
    for number in range(len(lines) - 1, 0, -1):
        if not lines[number].strip().strip("-"):
            return "\n".join(lines[:number])
    return text


def tree_of(groups: list[str], taxonomy: str = "first-word") -> Taxonomy:
    """Return the tree: a root, the first words of the names or the subjects, and the groups."""
    subjects = _SUBJECTS if taxonomy == "subject" else {}
    tops = [subjects.get(group, group.partition(".")[0]) for group in groups]
    return tree_of_paths("newsgroups", list(zip(tops, groups, strict=True)))


# -- scikit-learn's copy: a zlib-compressed pickle --------------------------------------------------------------------
#
# Reading a pickle can run any code, and this one may come from anywhere. Only the few names in scikit-learn's own file
# are allowed. They only build arrays and mappings.

MOST_BYTES = 2**29
_ALLOWED = {
    *(("sklearn.utils", "Bunch"), ("sklearn.utils._bunch", "Bunch"), ("sklearn.datasets.base", "Bunch")),
    *(("numpy", "ndarray"), ("numpy", "dtype")),
    *(("numpy.core.multiarray", "_reconstruct"), ("numpy._core.multiarray", "_reconstruct")),
    *(("numpy.core.numeric", "_frombuffer"), ("numpy._core.numeric", "_frombuffer")),
    ("_codecs", "encode"),
}


class _Careful(pickle.Unpickler):
    """Rejects every name that is not in scikit-learn's own file."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _ALLOWED:
            raise pickle.UnpicklingError(f"it holds {module}.{name}, which scikit-learn's copy does not")
        return super().find_class(module, name)


def read_cache(content: bytes, *, name: str) -> Iterator[tuple[bool, str, str, str]]:
    """Yield, for each message: whether it is in the test part, its group, its file name, its text."""
    try:
        unpacker = zlib.decompressobj()
        pickled = unpacker.decompress(content, MOST_BYTES)
        if not unpacker.eof:
            raise ValueError(f"it is torn, or unpacks to more than {MOST_BYTES:,} bytes")
        kept = _Careful(BytesIO(pickled)).load()
        for part in ("train", "test"):
            bunch = kept[part]
            for text, label, file in zip(bunch["data"], bunch["target"], bunch["filenames"], strict=True):
                yield part == "test", str(bunch["target_names"][label]), PurePath(str(file)).name, str(text)
    except Exception as error:  # an invalid pickle can fail in any way
        raise DataError(
            f"{name} cannot be read ({type(error).__name__}: {error})",
            culprit="dataset 'newsgroups'",
            next_step="Expected the file 20news-bydate_py3.pkz that sklearn.datasets.fetch_20newsgroups keeps.",
        ) from error
