"""The shared draws: picks with and without a guide, sizes of trees, what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import DataError
from harness_synthetic import draws

weights = st.lists(st.integers(1, 2**20), min_size=1, max_size=200)


@given(weights, st.integers(0, 2**32 - 1))
def test_a_guide_picks_what_the_search_picks(weights, seed):
    sums = np.cumsum(np.array(weights, dtype=np.uint64), dtype=np.uint64)
    bits = draws.raw(np.random.PCG64(seed), 500)
    assert draws.guide(sums).pick(bits).tolist() == draws.pick(bits, sums).tolist()


def test_a_guide_for_zipf_weights_decides_nearly_all_picks_without_a_search():
    sums = draws.zipf_sums(60_000)
    bits = draws.raw(np.random.PCG64(0), 100_000)
    guide = draws.guide(sums)
    assert guide.pick(bits).tolist() == draws.pick(bits, sums).tolist()
    assert (guide.known[draws.below(bits, sums[-1]) >> guide.shift] >= 0).mean() > 0.9


@given(weights)
def test_picks_are_as_frequent_as_their_weights(weights):
    sums = np.cumsum(np.array(weights, dtype=np.uint64), dtype=np.uint64)
    n = 4000
    evenly = np.arange(n, dtype=np.uint64) * np.uint64(2**64 // n)  # stands for every possible draw
    counts = np.bincount(draws.pick(evenly, sums).astype(int), minlength=len(weights))
    assert np.abs(counts - n * np.array(weights) / sum(weights)).max() <= 1.1


@given(st.integers(2, 10**7), st.integers(1, 8))
def test_level_sizes_are_the_whole_part_of_the_powers(classes, depth):
    sizes = draws.level_sizes(classes, depth)
    assert len(sizes) == depth
    assert sizes[-1] == classes
    for level, size in enumerate(sizes, start=1):
        assert size**depth <= classes**level < (size + 1) ** depth


@given(st.integers(2, 300), st.integers(1, 5))
def test_a_class_tree_has_its_levels_below_the_root_and_names_apart(classes, depth):
    sizes = draws.level_sizes(classes, depth)
    tree = draws.class_tree(sizes)
    assert len(tree.parent) == len(tree.node_names) == len(set(tree.node_names)) == 1 + sum(sizes)
    assert tree.depth == depth
    assert [tree.node_names[node] for node in tree.class_node] == [f"class-{c}" for c in range(classes)]
    children = np.bincount(tree.parent[1:], minlength=len(tree.parent))
    assert children[: 1 + sum(sizes[:-1])].min() >= 1
    for level in range(1, depth):  # brothers are as many, give or take one
        start = 1 + sum(sizes[: level - 1])
        assert np.ptp(children[start : start + sizes[level - 1]]) <= 1


@pytest.mark.parametrize("value", [True, "many", float("nan"), -1, 9.5])
def test_a_number_outside_its_limits_is_named_with_what_is_allowed(value):
    with pytest.raises(DataError, match=r"^data set 'x': rho=.*; allowed: a number from 0 to 8$"):
        draws.check_number("x", {"rho": value}, {"rho": (0, 8)})
