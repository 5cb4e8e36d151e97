"""Synthetic pages of a web directory, about as difficult as real ones: a class tree, shared words, confused siblings.

It is harder than `zipf`. The words of a class are shared with other classes, frequent ones more so. A page may have few
words of its class and many of the groups above it. Some pages have the words of a sibling class, as if an editor had
misfiled them. Every class has at least two rows. The most frequent classes have about a hundred times as many as the
rarest.

Rows are made block by block, and the words of a node come from a hash, as in `zipf`. The same parameters give the same
data on all machines; see `draws` and `normals`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from harness import Dataset
from harness_synthetic.draws import (
    LARGEST,
    Guide,
    Whole,
    as_dataset,
    below,
    check_integers,
    check_number,
    class_tree,
    guide,
    hashed,
    level_sizes,
    not_allowed,
    pick,
    raw,
    share,
    stacked,
    tally,
    zipf_sums,
)
from harness_synthetic.normals import Reals, normals

NAME = "directory"
BLOCK_TOKENS = 4_000_000
"""Approximate number of words drawn at a time. It determines which bits make which word, so it must not change."""
CHUNK_TOKENS = 2**16
"""Number of words made at a time, few enough for the processor's cache."""
OWN_WORDS = 40
"""Number of words of a class; a group has twice as many as each child."""
BACKGROUND_SQUARES = 8
"""Number of squared normals that make the share of the background; with more, this share varies less between pages."""
SPREAD = 0.866
"""Standard deviation of the binary logarithm of a page's length."""
LONGEST = 8
"""Pages have at most this many times `words` words, and at least `words` divided by this."""


@dataclass(frozen=True)
class Vocabulary:
    """All words by frequency, and by the nodes of the class tree that use them."""

    names: NDArray[np.int32]
    """Features by rank: the number of a feature is independent of its frequency."""
    background: Guide
    level_sizes: list[int]

    @property
    def depth(self) -> int:
        return len(self.level_sizes)

    def of_background(self, chance: Whole) -> NDArray[np.int32]:
        """Return words that all pages share, by Zipf's law."""
        return self.names[self.background.pick(chance)]

    def of_nodes(self, nodes: Whole, level: int, chance: Whole) -> NDArray[np.int32]:
        """Return a word of each of these nodes of a level; level 0 is the first below the root.

        The rank of a word is that of u^2, u from 0 to 1: a word that is ten times as frequent is used by about three
        times as many nodes.
        """
        n_own = OWN_WORDS << (self.depth - 1 - level)
        first = sum(self.level_sizes[:level]) * (OWN_WORDS << self.depth)
        own = np.uint64(first) + nodes * np.uint64(n_own) + pick(chance, zipf_sums(n_own))
        u = hashed(own, 2**32)
        rank = (u * u >> np.uint64(32)) * np.uint64(self.names.size) >> np.uint64(32)
        picked: NDArray[np.int32] = self.names[rank]
        return picked


def make_directory(
    *,
    rows: int = 40_000,
    classes: int = 1_000,
    features: int = 100_000,
    words: int = 200,
    noise: float = 0.65,
    confused: float = 0.1,
    depth: int = 3,
    seed: int = 0,
) -> Dataset:
    """Make pages of a synthetic web directory.

    Parameters
    ----------
    rows : int, default=40000
        Number of pages, at least two for each class.
    classes : int, default=1000
        Number of classes.
    features : int, default=100000
        Number of distinct words.
    words : int, default=200
        Approximate number of words of a page. Lengths, and shares of class and group words, vary widely.
    noise : float, default=0.65
        Approximate share of words from a background that all pages share. The others come from the class of the page
        and the groups above it.
    confused : float, default=0.1
        Share of pages whose class words are those of a random class of the same group.
    depth : int, default=3
        Depth of the class tree.
    seed : int, default=0
        Seed of all random numbers.

    Returns
    -------
    Dataset
        The pages, with a class tree.

    Raises
    ------
    DataError
        If a parameter is out of its range.
    """
    _check(rows=rows, classes=classes, features=features, words=words, depth=depth, seed=seed)
    check_number(NAME, {"noise": noise, "confused": confused}, {"noise": (0, 1), "confused": (0, 1)})
    bits = np.random.PCG64(seed)
    sizes = level_sizes(classes, depth)
    names = np.argsort(raw(bits, features), kind="stable").astype(np.int32)
    vocabulary = Vocabulary(names, guide(zipf_sums(features)), sizes)
    y = _draw_classes(bits, rows, classes)
    shown = np.where(share(raw(bits, rows), confused), _siblings(bits, y, sizes), y)
    lengths = _draw_lengths(bits, rows, words)
    step = max(1, BLOCK_TOKENS // words)
    parts = (slice(start, start + step) for start in range(0, rows, step))
    blocks = (_draw_rows(bits, shown[part], lengths[part], vocabulary, noise) for part in parts)
    X = stacked(blocks, (rows, features), int(lengths.sum()))
    return as_dataset(X, y, classes, class_tree(sizes), seed)


def _check(**given: int) -> None:
    counts = dict.fromkeys(("rows", "features", "words"), (1, LARGEST))
    check_integers(NAME, given, {**counts, "classes": (2, LARGEST), "depth": (2, 8), "seed": (0, 2**32 - 1)})
    if given["rows"] < 2 * given["classes"]:
        allowed = f"at least two for each of the {given['classes']} classes"
        raise not_allowed(NAME, f"rows={given['rows']}", allowed)


# -- draws, in the order in which they use the random bits ------------------------------------------------------------


def _draw_classes(bits: np.random.PCG64, rows: int, classes: int) -> Whole:
    """Draw each class twice, then by Zipf's law from the 300th rank on, so no class has a large share."""
    every = np.arange(classes, dtype=np.uint64)
    sizes = np.cumsum(np.uint64(LARGEST) // (every + np.uint64(classes // 300 + 1)), dtype=np.uint64)
    drawn = np.concatenate([every, every, pick(raw(bits, rows - 2 * classes), sizes)])
    return drawn[np.argsort(raw(bits, rows), kind="stable")]


def _siblings(bits: np.random.PCG64, y: Whole, sizes: list[int]) -> Whole:
    """Return a class of the same group for each class, possibly itself: those with the same remainder."""
    groups, classes = np.uint64(sizes[-2]), np.uint64(sizes[-1])
    group = y % groups
    n_members = (classes - group + groups - np.uint64(1)) // groups
    return group + groups * below(raw(bits, y.size), n_members)


def _draw_lengths(bits: np.random.PCG64, rows: int, words: int) -> NDArray[np.int64]:
    """Draw nearly log-normal lengths: 2^x, interpolated linearly between integers, equal on all machines."""
    exponent = SPREAD * normals(bits, rows)
    whole = np.floor(exponent)
    times = np.ldexp(1.0 + (exponent - whole), whole.astype(np.int64))
    within = np.clip(times * words, words / LONGEST, words * LONGEST)
    lengths: NDArray[np.int64] = np.maximum(within, 1.0).astype(np.int64)
    return lengths


def _draw_rows(
    bits: np.random.PCG64, shown: Whole, lengths: NDArray[np.int64], vocabulary: Vocabulary, noise: float
) -> csr_array:
    bounds = _draw_bounds(bits, shown.size, vocabulary.depth, noise)
    paths = _paths(shown, vocabulary.level_sizes)
    row = np.repeat(np.arange(shown.size), lengths)
    source, chance = raw(bits, row.size), raw(bits, row.size)
    tokens = np.empty(row.size, dtype=np.int32)
    for start in range(0, row.size, CHUNK_TOKENS):
        part = slice(start, start + CHUNK_TOKENS)
        above = _levels_passed(source[part], bounds, row[part])
        for level in range(-1, vocabulary.depth):
            at = np.flatnonzero(above == level + 1)
            if level < 0:
                tokens[part][at] = vocabulary.of_background(chance[part][at])
            else:
                nodes = paths[level][row[part][at]]
                tokens[part][at] = vocabulary.of_nodes(nodes, level, chance[part][at])
    return tally(tokens, lengths, vocabulary.names.size)


def _draw_bounds(bits: np.random.PCG64, rows: int, depth: int, noise: float) -> list[Whole]:
    """Return the bounds, out of 2^53, between words of the background and of each level, by row.

    Shares of squared normals have a Dirichlet distribution: some pages have few words of their class, some little else.
    """
    squares = np.square(normals(bits, rows * (BACKGROUND_SQUARES + depth))).reshape(rows, -1)
    background = _sums(squares[:, :BACKGROUND_SQUARES])[-1] * (noise / BACKGROUND_SQUARES)
    levels = _sums(squares[:, BACKGROUND_SQUARES:] * ((1.0 - noise) / depth))
    total = background + levels[-1]
    bounds = [background / total]
    for level in levels[:-1]:
        bounds.append((background + level) / total)
    return [(bound * 2.0**53).astype(np.uint64) for bound in bounds]


def _sums(columns: Reals) -> list[Reals]:
    """Return running sums over the columns, added in a fixed order."""
    sums = [columns[:, 0]]
    for column in columns.T[1:]:
        sums.append(sums[-1] + column)
    return sums


def _paths(classes: Whole, sizes: list[int]) -> list[Whole]:
    """Return, for each level, the node of each class; node i is in group i modulo the size of the level above."""
    paths = [classes]
    for size in sizes[-2::-1]:
        paths.append(paths[-1] % np.uint64(size))
    return paths[::-1]


def _levels_passed(source: Whole, bounds: list[Whole], row: NDArray[np.int64]) -> NDArray[np.int8]:
    """Return the number of bounds below each word: 0 for the background, then levels from the top."""
    chance = source >> np.uint64(11)
    passed = np.zeros(chance.size, dtype=np.int8)
    for bound in bounds:
        passed += chance >= bound[row]
    return passed
