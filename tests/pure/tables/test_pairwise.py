"""Pairwise comparison: every paired trial counts for both sides, and ranks use common datasets."""

import pytest

from harness import MetricSpec
from harness.errors import HarnessError
from internals import Wins, compare_pairs, differences_grid, group_records, matrix_grid, rank_learners, ranks_grid
from messages import assert_names, naming

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


def test_wins_and_losses_are_counted_for_both_sides(lines):
    (found,) = compare_pairs(lines({"a": [3, 2, 1], "b": [1, 2, 2]}), R1)
    assert (found.learners, found.wins) == (("a", "b"), Wins(1, 1, 1))
    assert Wins(1, 0, 2) + Wins(1, 1, 1) == Wins(2, 1, 3)
    assert Wins(1, 0, 2).reversed() == Wins(2, 0, 1)


def test_the_lower_value_wins_for_lower_is_better_metrics(lines):
    (found,) = compare_pairs(lines({"a": [1, 1], "b": [2, 2]}), TRAIN)
    assert found.wins == Wins(2, 0, 0)


def test_only_trials_with_equal_seeds_are_paired(lines):
    (found,) = compare_pairs(lines({"a": [1, 1, 1], "b": [0]}), R1)
    assert found.wins == Wins(1, 0, 0)


def winners(made, test):
    return {result.learners: result.winner for result in compare_pairs(made, R1, test)}


def test_a_clear_winner_is_starred_and_an_equal_competitor_is_not(lines):
    made = lines({"a": [0.9] * 10, "b": [0.9] * 10, "c": [0.1] * 10})
    assert winners(made, "sign") == {("a", "b"): "", ("a", "c"): "a", ("b", "c"): "b"}
    grid = matrix_grid(compare_pairs(made, R1, "sign"), R1, "sign")
    assert grid.columns == ("learner", "a", "b", "c")
    assert grid.rows == (
        ("a", "", "0/10/0", "10/0/0 *"),
        ("b", "0/10/0", "", "10/0/0 *"),
        ("c", "0/0/10", "0/0/10", ""),
    )
    (value,) = [row for row in grid.values if (row["learner"], row["against"]) == ("a", "c")]
    assert (value["won"], value["tied"], value["lost"], value["better"]) == (10, 0, 0, "a")
    assert "paired sign test" in grid.footnotes[1]


def test_the_matrix_covers_all_datasets(lines):
    results = compare_pairs(lines({"a": [3, 2, 1], "b": [1, 2, 2]}, ("one", "two")), R1, "wins")
    assert matrix_grid(results, R1, "wins").rows == (("a", "", "2/2/2"), ("b", "2/2/2", ""))


def test_too_few_trials_are_not_tested(lines):
    assert winners(lines({"a": [1] * 5, "b": [0] * 5}), "sign") == {("a", "b"): ""}
    assert winners(lines({"a": [1] * 6, "b": [0] * 6}), "sign") == {("a", "b"): "a"}


def test_missing_verdicts_have_a_reason_and_a_command(lines):
    made = lines({"a": [0.5, 0.6], "b": [0.4, 0.55]})
    for draw in (matrix_grid, differences_grid):
        for test in ("auto", "sign"):
            note = draw(compare_pairs(made, R1, test), R1, test, folder="results/a").footnotes[-1]
            assert_names(note, "R1 on one", "2 paired trials", "harness run results/a/experiment.toml", "--trials 10")
    enough = compare_pairs(lines({"a": [0.5, 0.6, 0.5], "b": [0.4, 0.55, 0.6]}), R1)
    assert not any("No verdict" in note for note in differences_grid(enough, R1).footnotes)


def test_differences_have_intervals_in_points_and_a_detectable_size(lines):
    results = compare_pairs(lines({"a": [0.5, 0.52, 0.54, 0.51], "b": [0.48, 0.51, 0.5, 0.5]}), R1)
    grid = differences_grid(results, R1)
    (row,) = grid.rows
    assert row[1] == "a - b"
    assert row[2] == "+2.0 [-0.8, +4.8] points"
    (values,) = grid.values
    assert values["difference"] == pytest.approx(0.02)
    assert values["difference_low"] < 0 < values["difference_high"]
    assert values["detectable"] > 0.02
    assert values["better"] is None


def test_a_reversed_difference_has_the_opposite_sign(lines):
    (found,) = compare_pairs(lines({"a": [0.5, 0.52, 0.54], "b": [0.1, 0.3, 0.2]}), R1)
    back = found.reversed()
    assert back.learners == ("b", "a")
    assert back.difference.low == -found.difference.high


def test_average_ranks_are_ranks_of_the_means(lines):
    made = lines({"a": [0.9, 0.7], "b": [0.5, 0.5], "c": [0.1, 0.1]}, ("one", "two", "three"))
    assert rank_learners(made, R1).ranks == {"a": 1.0, "b": 2.0, "c": 3.0}
    grid = ranks_grid(made, TRAIN)
    assert [row[:2] for row in grid.rows] == [("c", "1.00"), ("b", "2.00"), ("a", "3.00")]
    assert "over 3 datasets" in grid.footnotes[0]


def test_a_learner_that_leaves_no_common_dataset_raises_an_error_with_the_next_step(make_record):
    records = [make_record(name, 0, dataset=data, r1=0.5) for name in ("a", "b") for data in ("one", "two")]
    records += [make_record("bad", 0, dataset=data, status="error", message="no") for data in ("one", "two")]
    with pytest.raises(HarnessError, match=naming("3", "0", "--learners")):
        rank_learners(group_records(records), R1)


def test_ranks_need_at_least_two_datasets(lines):
    with pytest.raises(HarnessError, match=naming("r1", "2")):
        ranks_grid(lines({"a": [1], "b": [0]}), R1)
