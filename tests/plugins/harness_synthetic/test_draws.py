"""Shared random draws: picks with and without a guide table, tree sizes, rejected values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import DataError
from harness_synthetic import draws
from messages import naming

weights = st.lists(st.integers(1, 2**20), min_size=1, max_size=200)


@given(weights, st.integers(0, 2**32 - 1))
def test_a_guide_table_picks_the_same_as_binary_search(weights, seed):
    sums = np.cumsum(np.array(weights, dtype=np.uint64), dtype=np.uint64)
    bits = draws.raw(np.random.PCG64(seed), 500)
    assert draws.guide(sums).pick(bits).tolist() == draws.pick(bits, sums).tolist()


def test_a_guide_table_for_zipf_weights_decides_almost_all_picks_without_search():
    sums = draws.zipf_sums(60_000)
    bits = draws.raw(np.random.PCG64(0), 100_000)
    guide = draws.guide(sums)
    assert guide.pick(bits).tolist() == draws.pick(bits, sums).tolist()
    assert (guide.known[draws.below(bits, sums[-1]) >> guide.shift] >= 0).mean() > 0.9


@given(weights)
def test_picks_are_as_frequent_as_their_weights(weights):
    sums = np.cumsum(np.array(weights, dtype=np.uint64), dtype=np.uint64)
    n = 4000
    evenly = np.arange(n, dtype=np.uint64) * np.uint64(2**64 // n)  # a grid over all possible draws
    counts = np.bincount(draws.pick(evenly, sums).astype(int), minlength=len(weights))
    assert np.abs(counts - n * np.array(weights) / sum(weights)).max() <= 1.1


@given(st.integers(2, 10**7), st.integers(1, 8))
def test_level_sizes_are_rounded_down_powers(classes, depth):
    sizes = draws.level_sizes(classes, depth)
    assert len(sizes) == depth
    assert sizes[-1] == classes
    for level, size in enumerate(sizes, start=1):
        assert size**depth <= classes**level < (size + 1) ** depth


@given(st.integers(2, 300), st.integers(1, 5))
def test_a_class_tree_has_its_levels_below_the_root_and_distinct_names(classes, depth):
    sizes = draws.level_sizes(classes, depth)
    tree = draws.class_tree(sizes)
    assert len(tree.parent) == len(tree.node_names) == len(set(tree.node_names)) == 1 + sum(sizes)
    assert tree.depth == depth
    assert [tree.node_names[node] for node in tree.class_node] == [f"class-{c}" for c in range(classes)]
    children = np.bincount(tree.parent[1:], minlength=len(tree.parent))
    assert children[: 1 + sum(sizes[:-1])].min() >= 1
    for level in range(1, depth):  # sibling counts differ by at most one
        start = 1 + sum(sizes[: level - 1])
        assert np.ptp(children[start : start + sizes[level - 1]]) <= 1


@pytest.mark.parametrize("value", [True, "many", float("nan"), -1, 9.5])
def test_a_number_out_of_range_raises_an_error_with_the_allowed_range(value):
    with pytest.raises(DataError, match=naming("x", "rho=", "0", "8")):
        draws.check_number("x", {"rho": value}, {"rho": (0, 8)})
