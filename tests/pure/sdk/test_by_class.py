"""Per-class results of a trial, compared with counts row by row."""

from collections import Counter
from math import log2

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from harness import Outcome, Taxonomy
from internals import by_class

NAMES = ("ant", "bee", "cat", "dog")
TREE = Taxonomy(parent=np.array([-1, 0, 0, 1, 1, 2, 2]), class_node=np.array([3, 4, 5, 6]))
"""Insects and mammals, two of each."""


def outcome_of(truth, answers, seen=(1, 2, 5, 0), taxonomy=TREE):
    ranks = np.array(answers, np.int32).reshape(-1, 1)
    costs = {"fit_seconds": 1.0, "fit_cpu_seconds": 1.0, "rank_seconds": 1.0}
    return Outcome(truth, ranks, len(NAMES), np.array(seen), sum(seen), taxonomy=taxonomy, **costs)


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(-1, 3)), min_size=1, max_size=30),
    st.lists(st.integers(0, 40), min_size=4, max_size=4),
)
def test_every_count_equals_the_count_over_rows(pairs, seen):
    truth, answers = zip(*pairs, strict=True)
    found = by_class(outcome_of(np.array(truth), answers, seen), NAMES)

    wrong = Counter((NAMES[t], NAMES[a] if a >= 0 else "") for t, a in pairs if t != a)
    assert {(one.truth, one.answer): one.rows for one in found.confusions} == wrong
    assert found.class_rows == Counter(NAMES[t] for t in truth)
    rows, right = Counter(), Counter()
    for t, a in pairs:
        if seen[t]:
            rows[2 ** int(log2(seen[t]))] += 1
            right[2 ** int(log2(seen[t]))] += t == a
    assert {one.least: (one.rows, one.right) for one in found.by_frequency} == {n: (rows[n], right[n]) for n in rows}
    assert found.by_level == (
        np.mean([a >= 0 and t // 2 == a // 2 for t, a in pairs]),
        np.mean([t == a for t, a in pairs]),
    )


def test_the_frequency_of_a_bin_is_the_mean_over_its_rows():
    found = by_class(outcome_of(np.array([0, 1, 1, 2]), [0, 1, 0, 2], seen=(2, 3, 4, 0)), NAMES)
    assert [(one.least, one.frequency) for one in found.by_frequency] == [(2, (2 + 3 + 3) / 3), (4, 4.0)]


def test_rows_without_a_label_are_ignored():
    found = by_class(outcome_of(np.array([0, -1]), [1, 1]), NAMES)
    assert found.class_rows == {"ant": 1}
    assert by_class(outcome_of(np.array([-1, -1]), [1, 1]), NAMES) is None


def test_without_a_taxonomy_there_are_no_levels_and_several_labels_give_none():
    assert by_class(outcome_of(np.array([0]), [0], taxonomy=None), NAMES).by_level == ()
    assert by_class(outcome_of(csr_array(np.eye(4)), [0, 1, 2, 3]), NAMES) is None
