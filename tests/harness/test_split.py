"""Splits: the parts are disjoint and cover the rows, and a seed means the same rows for ever."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import DataError, SpecError
from harness.split import check_split, settle_split, shuffled, split_rows, split_sizes

seeds = st.integers(0, 2**32)
PINNED = {
    0: [1, 3, 5, 7, 4, 9, 0, 11, 10, 6, 8, 2],
    7: [4, 8, 11, 2, 6, 3, 9, 10, 7, 5, 0, 1],
    2**31: [3, 8, 11, 9, 2, 5, 7, 1, 4, 6, 0, 10],
}


@given(st.integers(0, 300), seeds)
def test_a_shuffle_is_a_permutation(rows, seed):
    assert sorted(shuffled(rows, seed)) == list(range(rows))


@given(st.integers(2, 300), st.floats(0.01, 0.99), seeds)
def test_the_parts_are_disjoint_cover_all_rows_and_have_the_sizes_told(rows, share, seed):
    split = check_split(f"holdout:{share}")
    train, test = split_rows(split, rows, seed, {})
    assert sorted([*train, *test]) == list(range(rows))
    if len(train) and len(test):
        assert split_sizes(split, rows, {}) == (len(train), len(test))
    assert len(test) == round(share * rows)


@given(st.integers(2, 200), seeds)
def test_a_seed_always_means_the_same_rows(rows, seed):
    for first, second in zip(*(split_rows("holdout:0.3", rows, seed, {}) for _ in range(2)), strict=True):
        assert np.array_equal(first, second)


@given(st.integers(0, 2**31), st.integers(1, 1000))
def test_different_seeds_mean_different_orders(seed, further):
    assert not np.array_equal(shuffled(40, seed), shuffled(40, seed + further))


def test_the_order_of_a_seed_never_changes():
    for seed, order in PINNED.items():
        assert shuffled(12, seed).tolist() == order


def splitmix64(state):
    """The published generator in unbounded integers, step by step."""
    mask = 2**64 - 1
    z = state & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


@given(st.integers(1, 100), seeds)
def test_rows_are_ordered_by_the_hash_of_seed_and_row(rows, seed):
    golden = 0x9E3779B97F4A7C15
    start = seed * 0xD1342543DE82EF95 + golden
    hashes = [splitmix64(start + (row + 1) * golden) for row in range(rows)]
    assert shuffled(rows, seed).tolist() == sorted(range(rows), key=hashes.__getitem__)


def test_the_test_parts_of_many_seeds_take_every_row_about_equally_often():
    counts = np.zeros(100)
    for seed in range(400):
        counts[split_rows("holdout:0.1", 100, seed, {})[1]] += 1
    assert counts.sum() == 400 * 10
    assert counts.min() > 15  # 40 on average, with a standard deviation of 6
    assert counts.max() < 70


# -- names -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("holdout:0.1", "holdout:0.1"),
        ("holdout:.10", "holdout:0.1"),
        ("holdout:1e-1", "holdout:0.1"),
        ("holdout:0.12345678", "holdout:0.12345678"),
        ("given", "given"),
        ("given:official", "given:official"),
    ],
)
def test_a_split_has_one_way_to_be_written(text, canonical):
    assert check_split(text) == canonical
    assert check_split(canonical) == canonical


@pytest.mark.parametrize(
    "text", ["", "holdout", "holdout:", "holdout:0", "holdout:1", "holdout:-0.1", "holdout:nan", "holdout:x", "kfold:5"]
)
def test_an_unknown_split_is_named_with_what_is_allowed(text):
    with pytest.raises(SpecError) as caught:
        check_split(text)
    assert repr(text) in str(caught.value)
    assert "'holdout:SHARE' with 0 < SHARE < 1" in str(caught.value)


@pytest.mark.parametrize(("split", "rows", "part"), [("holdout:0.1", 4, "test"), ("holdout:0.9", 4, "training")])
def test_an_empty_part_is_refused(split, rows, part):
    with pytest.raises(DataError, match=f"of {rows} rows leaves the {part} part empty"):
        split_sizes(split, rows, {})


# -- splits that the data brings -------------------------------------------------------------------------------------

OFFICIAL = (np.array([4, 2, 9, 7]), np.array([0, 1]))


@given(seeds)
def test_a_given_split_keeps_its_parts_and_shuffles_the_training_one(seed):
    train, test = split_rows("given:official", 10, seed, {"official": OFFICIAL})
    assert sorted(train) == sorted(OFFICIAL[0])
    assert np.array_equal(test, OFFICIAL[1])


def test_the_training_order_of_a_given_split_depends_on_the_seed():
    orders = {tuple(split_rows("given", 10, seed, {"official": OFFICIAL})[0]) for seed in range(20)}
    assert len(orders) > 5


def test_the_only_given_split_needs_no_name():
    assert settle_split("given", {"official": OFFICIAL}) == "given:official"
    assert settle_split("given:official", {"official": OFFICIAL}) == "given:official"
    assert settle_split("holdout:0.1", {"official": OFFICIAL}) == "holdout:0.1"
    assert split_sizes("given", 10, {"official": (4, 2)}) == (4, 2)


@pytest.mark.parametrize(
    ("split", "given", "brings"),
    [
        ("given", {}, "it brings: none, use holdout:SHARE"),
        ("given:b", {"a": OFFICIAL}, "no split 'b'; it brings: given:a"),
        ("given", {"a": OFFICIAL, "b": OFFICIAL}, "it brings: given:a, given:b"),
    ],
)
def test_a_split_that_the_data_does_not_bring_is_named_with_those_it_does(split, given, brings):
    with pytest.raises(DataError) as caught:
        split_rows(split, 10, 0, given)
    assert brings in str(caught.value)


def test_a_given_split_with_an_empty_part_is_refused():
    with pytest.raises(DataError, match="leaves the test part empty"):
        split_sizes("given:a", 10, {"a": (10, 0)})
