"""Synthetic texts of any size, for speed and scaling: Zipf classes, Zipf words, long rows, classes in a tree.

Rows are made block by block, so a million rows fit into memory. The words of a class come from a hash and need no
table, so a hundred thousand classes do too. The same parameters give the same data on all machines; see `draws`.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from harness import Dataset
from harness_synthetic import draws

BLOCK_TOKENS = 4_000_000
"""Number of words drawn at a time. It determines which bits make which word, so it must not change."""
CHUNK_TOKENS = 2**16
"""Number of words made at a time, few enough for the processor's cache."""
OWN_WORDS = 512
"""Number of words of a class, or of a group of classes, by their hash; some are shared by chance."""


def make_zipf(
    *,
    rows: int = 40_000,
    classes: int = 1_000,
    features: int = 60_000,
    words: int = 170,
    noise: float = 0.9,
    depth: int = 2,
    seed: int = 0,
) -> Dataset:
    """Make long rows of words.

    Parameters
    ----------
    rows : int, default=40000
        Number of rows, at least one for each class.
    classes : int, default=1000
        Number of classes. Class sizes and word frequencies follow Zipf's law.
    features : int, default=60000
        Number of distinct words.
    words : int, default=170
        Number of words of a row, plus or minus a fifth. Some words occur twice, so there are fewer non-zeros.
    noise : float, default=0.9
        Share of words from a background that all rows share. The others come in equal shares from the class of the row
        and from each group above it.
    depth : int, default=2
        Depth of the class tree. 1 means no groups and no tree.
    seed : int, default=0
        Seed of all random numbers.

    Returns
    -------
    Dataset
        The rows as word counts.

    Raises
    ------
    DataError
        If a parameter is out of its range.
    """
    given = {"rows": rows, "classes": classes, "features": features, "words": words, "depth": depth, "seed": seed}
    counts = dict.fromkeys(("rows", "features", "words"), (1, draws.LARGEST))
    draws.check_integers(
        "zipf", given, {**counts, "classes": (2, draws.LARGEST), "depth": (1, 8), "seed": (0, 2**32 - 1)}
    )
    draws.check_number("zipf", {"noise": noise}, {"noise": (0, 1)})
    if rows < classes:
        raise draws.not_allowed("zipf", f"rows={rows}", f"at least one for each of the {classes} classes")
    bits = np.random.PCG64(seed)
    sizes = draws.level_sizes(classes, depth)
    y = _draw_classes(bits, rows, classes)
    step = max(1, BLOCK_TOKENS // words)
    common = draws.guide(draws.zipf_sums(features))
    blocks = (_draw_rows(bits, y[i : i + step], sizes, common, words, noise) for i in range(0, rows, step))
    X = draws.stacked(blocks, (rows, features), rows * (words + words // 5))
    return draws.as_dataset(X, y, classes, draws.class_tree(sizes) if depth > 1 else None, seed)


def _draw_classes(bits: np.random.PCG64, rows: int, classes: int) -> draws.Whole:
    every = np.arange(classes, dtype=np.uint64)
    drawn = np.concatenate([every, draws.pick(draws.raw(bits, rows - classes), draws.zipf_sums(classes))])
    return drawn[np.argsort(draws.raw(bits, rows), kind="stable")]


def _draw_rows(
    bits: np.random.PCG64, y: draws.Whole, sizes: list[int], common_words: draws.Guide, words: int, noise: float
) -> csr_array:
    features = len(common_words.sums)
    fifth = words // 5
    drawn = draws.below(draws.raw(bits, len(y)), 2 * fifth + 1)
    lengths = (drawn + np.uint64(words - fifth)).astype(np.int64)
    total = int(lengths.sum())
    token_class = np.repeat(y.astype(np.uint32), lengths)
    chance, own, background = draws.raw(bits, total), draws.raw(bits, total), draws.raw(bits, total)
    own_sums = draws.zipf_sums(OWN_WORDS)
    tokens = np.empty(total, dtype=np.int32)
    for start in range(0, total, CHUNK_TOKENS):
        part = slice(start, start + CHUNK_TOKENS)
        common = draws.share(chance[part], noise)
        tokens[part][common] = common_words.pick(background[part][common])
        specific = ~common
        topic = _topics(token_class[part][specific].astype(np.uint64), chance[part][specific], sizes)
        tokens[part][specific] = draws.hashed(
            topic * np.uint64(OWN_WORDS) + draws.pick(own[part][specific], own_sums), features
        )
    return draws.tally(tokens, lengths, features)


def _topics(member: draws.Whole, chance: draws.Whole, sizes: list[int]) -> draws.Whole:
    """Return the owner of each word: the class, or a group above it, by lower bits than `share` uses.

    Topics are the nodes below the root, level by level. Node i of a level is in group i modulo the size of the level
    above.
    """
    steps_up = (chance & np.uint64(2**11 - 1)) % np.uint64(len(sizes))
    topic = member + np.uint64(sum(sizes[:-1]))
    for up in range(1, len(sizes)):
        member = member % np.uint64(sizes[-1 - up])
        topic = np.where(steps_up == np.uint64(up), member + np.uint64(sum(sizes[: -1 - up])), topic)
    return topic
