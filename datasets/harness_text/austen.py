"""Jane Austen's six novels: every word is an instance, its class the word itself, its features the words around it.

Words are lower-cased runs of letters, with at most one apostrophe inside. The features of a word are the three words
before and the three words after it, each with its position, and the nine conjunctions of two or three neighbouring
context words: five pairs and four triples, which skip the word itself. Contexts end with the novel. Features that occur
once in the training rows carry no information; each trial drops them unless `singletons` is set.

Texts come from files, optionally compressed, or from Project Gutenberg, whose words before and after a text are
removed. The counts change as the texts are revised. The figures of this project are for 724,859 words, 14,072 different
ones; the paper has 749 thousand and 17.4 thousand.

The paper has "their conjunctions", about 15 features in all. Of the readings that give 15, this one has 11.2 features
per word without singletons, like a reference implementation that reaches the published accuracy; including pairs across
the word gives 12.0.
"""

from __future__ import annotations

import itertools
import re

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness import Dataset
from harness.sdk.reading.raw import RawFiles

RAW = RawFiles(
    dataset="austen",
    needed="the folder with the plain texts (.txt or .txt.gz) of Jane Austen's six novels from Project Gutenberg, "
    "numbers 105, 121, 141, 158, 161 and 1342",
    wanted=re.compile(r"(?:^|/)([^/]+)\.txt$"),
)
REACH = 3
"""Number of context words on either side."""
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
_BEGIN = re.compile(r"\*\*\*\s*START OF TH(?:E|IS) PROJECT GUTENBERG EBOOK.*?\*\*\*", re.DOTALL)
_END = re.compile(r"\*\*\*\s*END OF TH(?:E|IS) PROJECT GUTENBERG EBOOK")


def load_austen(*, source: str | None = None, singletons: bool = False) -> Dataset:
    """Load every word of the novels as an instance.

    Parameters
    ----------
    source : str or None, default=None
        Folder or archive with the texts. None uses imported or downloaded files.
    singletons : bool, default=False
        If True, trials keep features that occur once in the training rows.

    Returns
    -------
    Dataset
        The words in the order of the novels, which are ordered by file name.

    Raises
    ------
    DataError
        If the files are missing, damaged, or not those of the dataset.
    """
    files = RAW.read(source)
    titles: set[str] = set()
    for match, _ in files:
        if match[1] in titles:
            raise RAW.error(f"{match[1]}.txt is there twice, in two folders", "Remove one.")
        titles.add(match[1])
    novels = [words_of(content) for _, content in files]
    vocabulary, words = np.unique(list(itertools.chain(*novels)), return_inverse=True)
    X = context(words, np.array(list(map(len, novels))))
    return Dataset(
        X=X,
        y=words,
        class_names=tuple(map(str, vocabulary)),
        found=f"{len(words):,} words, {len(vocabulary):,} different ones, {len(novels)} novels, "
        f"{X.shape[1]:,} features, {X.nnz / max(len(words), 1):.1f} a word",
        counting="" if singletons else "frequent(min_df=2)",
    )


def words_of(content: bytes) -> list[str]:
    """Return the words of a text, without Project Gutenberg's text before and after it."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = content.decode("latin-1")
    start, stop = 0, len(text)
    begin, end = _BEGIN.search(text), _END.search(text)
    if begin:
        start = begin.end()
    if end:
        stop = end.start()
    return _WORD.findall(text[start:stop].replace("\N{RIGHT SINGLE QUOTATION MARK}", "'").lower())


def context(words: NDArray[np.int64], lengths: NDArray[np.int64]) -> csr_array:
    """Return Boolean features of every word: a block of columns for each position and each run of positions."""
    n_types = int(words.max(initial=-1)) + 1
    offsets = [*range(-REACH, 0), *range(1, REACH + 1)]
    near = [neighbours(words, lengths, offset) for offset in offsets]
    blocks = list(near)
    for length in (2, 3):
        for first in range(len(near) - length + 1):
            blocks.append(_joined(near[first : first + length], n_types))
    columns = np.empty((len(words), len(blocks)), np.int32)
    n_columns = 0
    for position, values in enumerate(blocks):
        columns[:, position], n_block = _numbered(values, n_columns)
        n_columns += n_block
    present = columns >= 0
    ends = np.concatenate([[0], np.cumsum(present.sum(axis=1))]).astype(np.int32)
    indices = columns[present]
    return csr_array((np.ones(len(indices), np.float32), indices, ends), shape=(len(words), n_columns))


def neighbours(words: NDArray[np.int64], lengths: NDArray[np.int64], offset: int) -> NDArray[np.int64]:
    """Return, for each word, the word `offset` places further on in the same novel; -1 if there is none."""
    novel = np.repeat(np.arange(len(lengths)), lengths)
    there = np.arange(len(words)) + offset
    inside = (there >= 0) & (there < len(words))
    there = np.where(inside, there, 0)
    return np.where(inside & (novel[there] == novel), words[there], -1)


def _joined(parts: list[NDArray[np.int64]], n_types: int) -> NDArray[np.int64]:
    """Return one number for each combination of words; -1 if one of them is missing."""
    joined, whole = np.zeros_like(parts[0]), np.ones(len(parts[0]), bool)
    for part in parts:
        joined, whole = joined * n_types + part, whole & (part >= 0)
    return np.where(whole, joined, -1)


def _numbered(values: NDArray[np.int64], first: int) -> tuple[NDArray[np.int64], int]:
    """Return columns from `first` on for the values, -1 for missing values; and the number of columns."""
    distinct, inverse = np.unique(values, return_inverse=True)
    kept = distinct >= 0
    column = np.where(kept, first + np.cumsum(kept) - 1, -1)
    return column[inverse], int(kept.sum())
