"""Who beats whom: the matrix counts every paired trial once for each side, and ranks come from data sets in common."""

import pytest

from harness import MetricSpec
from harness.errors import HarnessError
from harness.groups import group_records, rank_learners
from harness.tables.pairwise import Score, beaten_pairs, count_scores, matrix_grid, pair_up, ranks_grid

R1 = MetricSpec(name="r1", compute="a:b", title="R1")
TRAIN = MetricSpec(name="train", compute="a:b", direction="lower", unit="seconds")


@pytest.fixture
def lines(make_record):
    def make(values, datasets=("one",)):
        return group_records(
            [
                make_record(label, seed, r1=value, train=value, dataset=dataset)
                for dataset in datasets
                for label, by_seed in values.items()
                for seed, value in enumerate(by_seed)
            ]
        )

    return make


def test_trials_are_counted_for_both_sides_and_added_up(lines):
    found = count_scores(pair_up(lines({"a": [3, 2, 1], "b": [1, 2, 2]}), R1) * 2)
    assert found == {("a", "b"): Score(2, 2, 2), ("b", "a"): Score(2, 2, 2)}


def test_lower_wins_where_lower_is_better(lines):
    assert count_scores(pair_up(lines({"a": [1, 1], "b": [2, 2]}), TRAIN))["a", "b"] == Score(2, 0, 0)


def test_only_trials_with_one_seed_are_paired(lines):
    assert count_scores(pair_up(lines({"a": [1, 1, 1], "b": [0]}), R1))["a", "b"] == Score(1, 0, 0)


def test_a_clear_winner_is_starred_and_a_rival_as_good_is_not(lines):
    made = lines({"a": [0.9] * 10, "b": [0.9] * 10, "c": [0.1] * 10})
    assert beaten_pairs(pair_up(made, R1), "sign", 0.1) == {("a", "c"), ("b", "c")}
    grid = matrix_grid(made, R1, "sign")
    assert grid.columns == ("learner", "a", "b", "c")
    assert grid.rows == (
        ("a", "", "0/10/0", "10/0/0 *"),
        ("b", "0/10/0", "", "10/0/0 *"),
        ("c", "0/0/10", "0/0/10", ""),
    )
    assert {"metric": "r1", "learner": "a", "against": "c", "won": 10, "tied": 0, "lost": 0, "data_sets_beaten": 1} in (
        grid.values
    )
    assert "paired sign test" in grid.foot[1]


def test_the_matrix_is_over_all_data_sets(lines):
    grid = matrix_grid(lines({"a": [3, 2, 1], "b": [1, 2, 2]}, ("one", "two")), R1, "wins")
    assert grid.rows == (("a", "", "2/2/2"), ("b", "2/2/2", ""))


def test_too_few_trials_are_not_tested(lines):
    assert beaten_pairs(pair_up(lines({"a": [1] * 5, "b": [0] * 5}), R1), "sign", 0.1) == set()
    assert beaten_pairs(pair_up(lines({"a": [1] * 6, "b": [0] * 6}), R1), "sign", 0.1) == {("a", "b")}


def test_average_ranks_are_those_of_the_means(lines):
    made = lines({"a": [0.9, 0.7], "b": [0.5, 0.5], "c": [0.1, 0.1]}, ("one", "two", "three"))
    assert rank_learners(made, R1).ranks == {"a": 1.0, "b": 2.0, "c": 3.0}
    grid = ranks_grid(made, TRAIN)
    assert [row[:2] for row in grid.rows] == [("c", "1.00"), ("b", "2.00"), ("a", "3.00")]
    assert "over 3 data sets" in grid.foot[0]


def test_who_takes_all_common_data_sets_away_is_named(make_record):
    records = [make_record(name, 0, dataset=data, r1=0.5) for name in ("a", "b") for data in ("one", "two")]
    records += [make_record("bad", 0, dataset=data, status="error", message="no") for data in ("one", "two")]
    with pytest.raises(HarnessError, match=r"3 learners on 0 common .* not on all data sets: bad \(--learners"):
        rank_learners(group_records(records), R1)


def test_one_data_set_is_too_few_to_rank(lines):
    with pytest.raises(HarnessError, match="r1: no average ranks: 2 learners on 1 common data set:"):
        ranks_grid(lines({"a": [1], "b": [0]}), R1)
