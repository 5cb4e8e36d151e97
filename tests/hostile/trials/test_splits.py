"""Splits: disjoint parts that cover the rows, and fixed rows for a seed."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import Dataset
from harness.errors import DataError
from harness.sdk import Texts
from internals import draw_split, parse_split, part_data, shuffled
from messages import naming

seeds = st.integers(0, 2**32)
PINNED = {
    0: [1, 3, 5, 7, 4, 9, 0, 11, 10, 6, 8, 2],
    7: [4, 8, 11, 2, 6, 3, 9, 10, 7, 5, 0, 1],
    2**31: [3, 8, 11, 9, 2, 5, 7, 1, 4, 6, 0, 10],
}


def draw(split, rows, seed, given, labels=None):
    """Return the parts of a split given as text."""
    return draw_split(parse_split(split), rows, seed, given, labels)


@given(st.integers(0, 300), seeds)
def test_a_shuffle_is_a_permutation(rows, seed):
    assert sorted(shuffled(rows, seed)) == list(range(rows))


@given(st.integers(2, 300), st.floats(0.01, 0.99), seeds)
def test_the_parts_are_disjoint_cover_all_rows_and_have_the_planned_sizes(rows, share, seed):
    split = parse_split(f"holdout:{share}")
    train, test = draw_split(split, rows, seed, {})
    assert sorted([*train, *test]) == list(range(rows))
    if len(train) and len(test):
        assert split.sizes(rows, {}) == (len(train), len(test))
    assert len(test) == round(share * rows)


@given(st.integers(20, 300), st.floats(0.1, 0.5), st.floats(0.1, 0.4), st.integers(0, 2**31 - 1))
def test_no_trial_tests_on_a_row_that_is_reserved_for_tuning(rows, share, reserve, seed):
    tuning, trials = parse_split(f"holdout:{share}").for_tuning(reserve)
    used = np.concatenate(draw_split(tuning, rows, seed, {}))
    train, test = draw_split(trials, rows, seed + 1, {})
    assert sorted([*train, *test]) == list(range(rows))
    assert len(test) == round(share * rows)
    assert len(used) == round(reserve * rows)
    assert not set(used) & set(test)
    assert set(used) <= set(train)
    assert parse_split(str(tuning)) == tuning
    assert parse_split(str(trials)) == trials


@given(seeds)
def test_tuning_once_has_only_training_rows_of_a_given_split(seed):
    given = {"official": (np.arange(30), np.arange(30, 40))}
    tuning, trials = parse_split("given:official").for_tuning(0.2)
    train, test = draw_split(tuning, 40, seed, given)
    assert sorted([*train, *test]) == list(range(30))
    assert len(test) == 3
    assert str(trials) == "given:official"


def test_equal_reserved_rows_for_every_seed():
    parts = [draw("tuning:0.2", 50, seed, {}) for seed in range(3)]
    first, *others = (set(np.concatenate(part)) for part in parts)
    assert all(other == first for other in others)


@pytest.mark.parametrize("split", ["kfold:5", "stratified:0.1", "grouped:author"])
def test_other_splits_cannot_reserve_rows(split):
    with pytest.raises(DataError, match=naming("reserve", split)):
        parse_split(split).for_tuning(0.2)


def test_reserved_and_test_rows_must_leave_some_for_training():
    with pytest.raises(DataError, match=naming("0.6")):
        parse_split("holdout:0.4").for_tuning(0.6)


@given(st.integers(2, 200), seeds)
def test_a_seed_always_gives_the_same_rows(rows, seed):
    for first, second in zip(*(draw("holdout:0.3", rows, seed, {}) for _ in range(2)), strict=True):
        assert np.array_equal(first, second)


@given(st.integers(0, 2**31), st.integers(1, 1000))
def test_different_seeds_give_different_orders(seed, further):
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


def test_over_many_seeds_every_row_is_tested_about_equally_often():
    counts = np.zeros(100)
    for seed in range(400):
        counts[draw("holdout:0.1", 100, seed, {})[1]] += 1
    assert counts.sum() == 400 * 10
    assert counts.min() > 15  # 40 on average, with a standard deviation of 6
    assert counts.max() < 70


# -- folds -----------------------------------------------------------------------------------------------------------

folds = st.integers(2, 12)


@given(st.integers(2, 200), folds, st.integers(0, 5))
def test_kfold_tests_every_row_once(rows, k, shuffle):
    tests = []
    for fold in range(k):
        train, test = draw(f"kfold:{k}", rows, shuffle * k + fold, {})
        assert sorted([*train, *test]) == list(range(rows))
        tests += test.tolist()
    assert sorted(tests) == list(range(rows))


@given(st.integers(12, 200), folds, seeds)
def test_fold_sizes_differ_by_at_most_one(rows, k, seed):
    train, test = draw(f"kfold:{k}", rows, seed, {})
    assert len(test) in (rows // k, -(-rows // k))
    least_train, least_test = parse_split(f"kfold:{k}").sizes(rows, {})
    assert len(train) >= least_train
    assert len(test) >= least_test


def test_the_next_shuffle_has_other_folds():
    first, second = (set(draw("kfold:5", 100, seed, {})[1].tolist()) for seed in (0, 5))
    assert first != second


# -- strata ----------------------------------------------------------------------------------------------------------


@st.composite
def labelled(draw):
    sizes = draw(st.lists(st.integers(1, 40), min_size=1, max_size=8))
    labels = np.repeat(np.arange(len(sizes)), sizes)
    return labels[shuffled(len(labels), draw(st.integers(0, 100)))]


shares = st.sampled_from([0.1, 0.2, 0.25, 1 / 3, 0.5, 0.8])


@given(labelled(), shares, seeds)
def test_stratified_parts_are_disjoint_cover_all_rows_and_have_the_holdout_size(labels, share, seed):
    train, test = draw(f"stratified:{share}", len(labels), seed, {}, labels)
    assert sorted([*train, *test]) == list(range(len(labels)))
    assert len(test) == round(share * len(labels))


@given(labelled(), shares, seeds)
def test_every_class_with_enough_rows_keeps_its_share_and_has_training_rows(labels, share, seed):
    train, test = draw(f"stratified:{share}", len(labels), seed, {}, labels)
    for label, size in enumerate(np.bincount(labels)):
        if size * min(share, 1 - share) >= 1:
            tested = int((labels[test] == label).sum())
            assert abs(tested - share * size) < 1
            assert (labels[train] == label).any()


@given(labelled(), seeds, st.permutations(range(8)))
def test_class_names_affect_only_ties(labels, seed, names):
    counts = np.bincount(labels)
    exact = all(size % 4 == 0 for size in counts)
    renamed = np.array(names)[labels]
    first, second = (draw("stratified:0.25", len(labels), seed, {}, y)[1] for y in (labels, renamed))
    if exact:  # nothing is left over, so no tie is broken
        assert np.array_equal(first, second)
    assert len(first) == len(second)


def test_classes_too_small_for_their_share_are_pooled():
    labels = np.concatenate([np.zeros(100, np.int64), np.arange(1, 101)])
    _, test = draw("stratified:0.1", 200, 0, {}, labels)
    assert (labels[test] == 0).sum() == 10
    assert (labels[test] > 0).sum() == 10


@pytest.mark.parametrize("split", ["stratified:0.5", "stratified-kfold:2"])
def test_a_stratified_split_needs_one_label_per_row(split):
    for labels in (None, np.zeros((10, 2)), np.zeros(9, np.int64)):
        with pytest.raises(DataError, match=naming("split", "label")):
            draw(split, 10, 0, {}, labels)


@given(labelled(), folds, st.integers(0, 5))
def test_stratified_folds_test_every_row_once_and_balance_every_class(labels, k, shuffle):
    counts = []
    tests = []
    for fold in range(k):
        train, test = draw(f"stratified-kfold:{k}", len(labels), shuffle * k + fold, {}, labels)
        assert sorted([*train, *test]) == list(range(len(labels)))
        assert len(test) in (len(labels) // k, -(-len(labels) // k))
        counts.append(np.bincount(labels[test], minlength=8))
        tests += test.tolist()
    assert sorted(tests) == list(range(len(labels)))
    assert (np.ptp(counts, axis=0) <= 1).all()  # a class of at least K rows is then in every fold


@given(labelled(), folds, seeds, st.permutations(range(8)))
def test_class_names_do_not_affect_stratified_folds(labels, k, seed, names):
    renamed = np.array(names)[labels]
    first, second = (draw(f"stratified-kfold:{k}", len(labels), seed, {}, y) for y in (labels, renamed))
    assert [part.tolist() for part in first] == [part.tolist() for part in second]


@given(labelled(), folds, seeds)
def test_stratified_folds_follow_their_definition(labels, k, seed):
    order = shuffled(len(labels), seed // k).tolist()
    classes = list(dict.fromkeys(labels[order].tolist()))
    dealt = [row for name in classes for row in order if labels[row] == name]
    _, test = draw(f"stratified-kfold:{k}", len(labels), seed, {}, labels)
    assert test.tolist() == [row for row in order if dealt.index(row) % k == seed % k]


def stratified_by_hand(share, labels, seed):
    """Compute the definition in plain lists: whole shares, then largest remainders, ties by seed."""
    sizes = [labels.count(name) for name in range(max(labels) + 1)]
    pool = len(sizes)
    stratum = [name if sizes[name] * min(share, 1 - share) >= 1 else pool for name in labels]
    wanted = [share * stratum.count(name) for name in range(pool + 1)]
    tests = [int(share) for share in wanted]
    left = round(share * len(labels)) - sum(tests)
    for name in sorted(shuffled(pool + 1, seed).tolist(), key=lambda name: tests[name] - wanted[name])[:left]:
        tests[name] += 1
    train, test = [], []
    for row in shuffled(len(labels), seed).tolist():
        if tests[stratum[row]] > 0:
            tests[stratum[row]] -= 1
            test.append(row)
        else:
            train.append(row)
    return train, test


@given(labelled(), shares, seeds)
def test_stratified_parts_follow_their_definition(labels, share, seed):
    train, test = draw(f"stratified:{share}", len(labels), seed, {}, labels)
    assert (train.tolist(), test.tolist()) == stratified_by_hand(share, labels.tolist(), seed)


GOLDEN = {
    "holdout:0.25": ([4, 6, 11, 3, 1, 7, 9, 5, 2], [0, 8, 10]),
    "kfold:4": ([5, 4, 3, 11, 0, 2, 1, 7, 9], [10, 8, 6]),
    "stratified:0.25": ([10, 6, 11, 3, 1, 7, 9, 5, 2], [0, 8, 4]),
    "stratified-kfold:4": ([5, 10, 3, 11, 8, 0, 2, 6, 9], [4, 1, 7]),
}


@pytest.mark.parametrize("split", GOLDEN)
def test_a_split_is_the_same_on_every_machine(split):
    labels = np.array([0] * 6 + [1] * 5 + [2])
    train, test = draw(split, 12, 5, {}, labels)
    assert (train.tolist(), test.tolist()) == GOLDEN[split]


# -- splits that the data brings -------------------------------------------------------------------------------------

OFFICIAL = (np.array([4, 2, 9, 7]), np.array([0, 1]))


@given(seeds)
def test_a_given_split_keeps_its_parts_and_shuffles_the_training_set(seed):
    train, test = draw("given:official", 10, seed, {"official": OFFICIAL})
    assert sorted(train) == sorted(OFFICIAL[0])
    assert np.array_equal(test, OFFICIAL[1])


def test_the_training_order_of_a_given_split_depends_on_the_seed():
    orders = {tuple(draw("given", 10, seed, {"official": OFFICIAL})[0]) for seed in range(20)}
    assert len(orders) > 5


@pytest.mark.parametrize(
    ("split", "given", "brings"),
    [
        ("given", {}, "Use holdout:SHARE"),
        ("given:b", {"a": OFFICIAL}, "no split 'b'. It has given:a"),
        ("given", {"a": OFFICIAL, "b": OFFICIAL}, "the dataset has 2 splits: choose one of given:a, given:b"),
    ],
)
def test_an_absent_given_split_raises_an_error_with_the_available_ones(split, given, brings):
    with pytest.raises(DataError) as caught:
        draw(split, 10, 0, given)
    assert brings in str(caught.value)


# -- by a column -----------------------------------------------------------------------------------------------------


columns = st.lists(st.integers(0, 9), min_size=2).filter(lambda values: len(set(values)) > 1)


@given(columns, st.sampled_from(["grouped:a", "time:a"]), st.floats(0.05, 0.95), seeds)
def test_rows_with_equal_values_stay_together(values, kind, share, seed):
    train, test = draw_split(parse_split(f"{kind}:{share}"), len(values), seed, {}, None, np.array(values))
    assert sorted([*train, *test]) == list(range(len(values)))
    trained, tested = ({values[row] for row in part} for part in (train, test))
    assert trained
    assert tested
    assert not trained & tested
    if kind == "time:a":
        assert max(trained) < min(tested)


def test_the_latest_rows_are_the_test_set_nearest_to_the_share():
    times = np.array([3, 1, 2, 3, 1, 2, 1, 1, 1, 1])
    for seed in range(3):
        train, test = draw_split(parse_split("time:when:0.2"), 10, seed, {}, None, times)
        assert sorted(test) == [0, 3]
        assert train.tolist() != sorted(train)


def test_groups_are_drawn_by_seed():
    groups = np.arange(100) // 5
    tests = [frozenset(draw_split(parse_split("grouped:a:0.2"), 100, seed, {}, None, groups)[1]) for seed in range(5)]
    assert {len(test) for test in tests} == {20}
    assert len(set(tests)) > 1


def test_a_constant_column_cannot_split_rows():
    with pytest.raises(DataError, match=naming("rows", "value")):
        draw_split(parse_split("grouped:a"), 4, 0, {}, None, np.zeros(4, dtype=np.int64))


def test_equal_texts_stay_together_and_columns_are_found_by_name():
    groups, times = {"who": np.array([0, 0, 1, 1])}, {"when": np.array([0, 1, 1, 2])}
    texts = Texts.of(["x", "y", "x", "y"])
    data = Dataset(None, np.array([0, 1, 0, 1]), ("a", "b"), texts=texts, groups=groups, times=times)
    parts = {
        name: sorted(map(sorted, part_data(parse_split(name), data, 0)))
        for name in ("grouped:text:0.5", "grouped:who:0.5", "time:when:0.3")
    }
    assert parts == {
        "grouped:text:0.5": [[0, 2], [1, 3]],
        "grouped:who:0.5": [[0, 1], [2, 3]],
        "time:when:0.3": [[0, 1, 2], [3]],
    }
