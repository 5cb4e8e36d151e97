"""Random rankings with what real ones have: ties, rows without a label or a hit, short rankings, unseen classes."""

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array

from harness import Outcome, Taxonomy

N_INPUTS = 400
"""Number of inputs that a metric is compared on with its reference."""


@dataclass(frozen=True)
class RandomRanking:
    """An outcome, and the same content as plain lists."""

    outcome: Outcome
    true_sets: list[list[int]]
    """True classes of each row."""
    ranked: list[list[int]]
    """Ranked classes of each row, best first, without padding."""
    y_train: np.ndarray
    """Indicator matrix of the training rows, rows x classes."""
    k: int

    @property
    def labelled(self):
        """Return the rows with a label: their true classes, and their ranked classes."""
        rows = [(true, ranked) for true, ranked in zip(self.true_sets, self.ranked, strict=True) if true]
        return [true for true, _ in rows], [ranked for _, ranked in rows]


def random_rankings(largest_set=4, seed=0):
    """Yield `N_INPUTS` random rankings; rows have up to `largest_set` labels."""
    random = np.random.default_rng(seed)
    for _ in range(N_INPUTS):
        yield random_ranking(random, largest_set)


def random_ranking(random, largest_set):
    n_classes, n_rows, width = random.integers(2, 15), random.integers(1, 12), random.integers(1, 8)
    ranks = np.full((n_rows, width), -1, np.int32)
    dense = np.zeros((n_rows, n_classes), np.int8)
    true_sets, ranked = [], []
    for row in range(n_rows):
        scores = random.integers(0, 4, n_classes)  # few values, hence ties, which a ranking lists in some order
        order = np.argsort(-scores, kind="stable")[: random.integers(0, width + 1)]
        ranks[row, : len(order)] = order
        true = random.choice(n_classes, size=min(random.integers(0, largest_set + 1), n_classes), replace=False)
        dense[row, true] = 1
        true_sets.append(sorted(true.tolist()))
        ranked.append(order.tolist())
    y_train = (random.random((random.integers(3, 40), n_classes)) < random.random(n_classes) ** 2).astype(np.int64)
    outcome = Outcome(
        truth=csr_array(dense) if largest_set > 1 else np.array([true[0] if true else -1 for true in true_sets]),
        ranks=ranks,
        n_classes=int(n_classes),
        train_class_counts=y_train.sum(axis=0),
        n_train=len(y_train),
        fit_seconds=1.0,
        fit_cpu_seconds=1.0,
        rank_seconds=1.0,
        taxonomy=random_tree(random, int(n_classes)),
    )
    return RandomRanking(outcome, true_sets, ranked, y_train, int(random.integers(1, 8)))


def random_tree(random, n_classes):
    """Return a tree of up to four levels with each class at a node of its own."""
    n_inner = int(random.integers(1, 6))
    parent = [-1]
    for node in range(1, n_inner + n_classes):
        parent.append(int(random.integers(0, min(node, n_inner))))
    return Taxonomy(np.array(parent), np.arange(n_inner, n_inner + n_classes))


def path_of(taxonomy, class_):
    """Return the nodes from below the root to the class, followed one by one."""
    node, found = int(taxonomy.class_node[class_]), []
    while taxonomy.parent[node] >= 0:
        found.insert(0, node)
        node = int(taxonomy.parent[node])
    return found
