"""Made-up texts of any size, for speed and scaling: Zipf classes, Zipf words, long rows, classes in groups.

Made block by block, so that a million rows fit in memory; a class's words come from a hash and need no table, so that
a hundred thousand classes do. The same parameters give the same data on any machine; `draws` says how.
"""

from __future__ import annotations

from math import isqrt

import numpy as np
from scipy.sparse import csr_array, vstack

from harness import Dataset
from harness.errors import DataError
from harness_synthetic.draws import (
    LARGEST,
    Whole,
    below,
    check_share,
    check_whole,
    grouped_classes,
    pick,
    raw,
    share,
    tally,
    zipf_sums,
)

BLOCK_TOKENS = 4_000_000
OWN_WORDS = 512
"""How many words a class, or a group of classes, calls its own; by their hash, so some are shared by chance."""


def load(
    *,
    rows: int = 40_000,
    classes: int = 1_000,
    features: int = 60_000,
    words: int = 170,
    noise: float = 0.9,
    seed: int = 0,
) -> Dataset:
    """Rows of `words` words each, a fifth more or less; some occur twice, so a row has fewer non-zeros than words.

    A share `noise` of the words comes from a background that all rows share; of the rest half from the row's class and
    half from its group. Class sizes and word frequencies follow Zipf's law, and every class has a row.
    """
    given: dict[str, float] = {"rows": rows, "classes": classes, "features": features, "words": words, "seed": seed}
    counts = dict.fromkeys(("rows", "features", "words"), (1, LARGEST))
    check_whole("zipf", given, {**counts, "classes": (2, LARGEST), "seed": (0, 2**32 - 1)})
    check_share("zipf", "noise", noise)
    if rows < classes:
        raise DataError(f"data set 'zipf': rows={rows}; allowed: at least one for each of the {classes} classes")
    bits = np.random.PCG64(seed)
    groups = isqrt(classes)
    y = _draw_classes(bits, rows, classes)
    step = max(1, BLOCK_TOKENS // words)
    blocks = [_draw_rows(bits, y[i : i + step], groups, features, words, noise) for i in range(0, rows, step)]
    X = vstack(blocks, format="csr")
    mean = X.nnz / rows
    return Dataset(
        X=csr_array(X),
        y=y.astype(np.intp),
        class_names=tuple(f"class-{position}" for position in range(classes)),
        taxonomy=grouped_classes(groups, classes),
        found=f"{rows:,} rows of {mean:.0f} non-zeros, {features:,} features, {classes:,} classes; seed {seed}",
    )


def _draw_classes(bits: np.random.PCG64, rows: int, classes: int) -> Whole:
    every = np.arange(classes, dtype=np.uint64)
    drawn = np.concatenate([every, pick(raw(bits, rows - classes), zipf_sums(classes))])
    return drawn[np.argsort(raw(bits, rows), kind="stable")]


def _draw_rows(bits: np.random.PCG64, y: Whole, groups: int, features: int, words: int, noise: float) -> csr_array:
    lengths = below(raw(bits, len(y)), 2 * (words // 5) + 1) + np.uint64(words - words // 5)
    total = int(lengths.sum())
    token_class = np.repeat(y, lengths.astype(np.int64))
    chance = raw(bits, total)
    from_group = (chance & np.uint64(1)).astype(bool)
    # Topics: the groups are 0 to groups - 1, class c is groups + c and belongs to group c modulo groups.
    topic = np.where(from_group, token_class % np.uint64(groups), token_class + np.uint64(groups))
    own = _hash(topic * np.uint64(OWN_WORDS) + pick(raw(bits, total), zipf_sums(OWN_WORDS)), features)
    background = pick(raw(bits, total), zipf_sums(features))
    tokens = np.where(share(chance, noise), background, own)
    return tally(tokens, lengths.astype(np.int64), features).astype(np.float32)


def _hash(value: Whole, bound: int) -> Whole:
    """A whole number below `bound` for each value: the mixing of splitmix64, in wrapping integer arithmetic."""
    z = value * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return below(z ^ (z >> np.uint64(31)), bound)
