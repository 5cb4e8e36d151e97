"""The default test rarely claims differences between equal learners, and gives no verdict without evidence."""

import numpy as np
import pytest

from harness import MetricSpec
from internals import PlannedComparison, describe_expected_power, draw_split, group_records, parse_split
from internals import make_table as make_table_of_lines
from small_tables import R1, TRAIN, foot_of, make_table, rows_of

LEVELS = {"a": 0.9, "b": 0.8, "c": 0.7}


@pytest.fixture
def trials(make_record):
    """Return trials of learners a, b and c, ten points apart with some noise."""

    def make(n=10, learners="abc", **fields):
        generator = np.random.default_rng(0)
        return [
            make_record(label, seed, r1=LEVELS[label] + generator.normal(0, 0.01), train=1.0, **fields)
            for label in learners
            for seed in range(n)
        ]

    return make


def marked(table, column=0):
    return {title for (_, title), row in rows_of(table).items() if row.cells[column].best}


def test_a_clear_winner_is_marked_alone_by_the_corrected_t_test(trials):
    table = make_table(trials(), [R1], test="auto")
    assert marked(table) == {"a"}
    assert "corrected resampled t-test" in table.footnotes[0]
    assert table.footnotes[0].endswith("over 10 paired trials.")


def test_too_few_trials_mark_nothing_and_name_the_command_that_adds_some(trials):
    table = make_table(trials(2), [R1], test="auto", folder="results/mine")
    assert marked(table) == set()
    assert "`harness run results/mine/experiment.toml --out results/mine --trials 10`" in foot_of(table)


def test_identical_differences_mark_nothing(make_record):
    records = [make_record(label, seed, r1=r1) for label, r1 in (("a", 0.9), ("b", 0.8)) for seed in range(10)]
    table = make_table(records, [R1], test="auto")
    assert marked(table) == set()
    assert "a and b differ by the same amount in every trial" in foot_of(table)


def test_equal_learners_are_all_marked(make_record):
    records = [make_record(label, seed, r1=0.5 + 0.1 * (seed % 3)) for label in "ab" for seed in range(10)]
    assert marked(make_table(records, [R1], test="auto")) == {"a", "b"}


@pytest.mark.parametrize("test", ["auto", "ttest", "sign", "wins"])
def test_seeds_on_a_fixed_split_are_never_trials(trials, test):
    for split in ("given:official", "time:year:0.1"):
        table = make_table(trials(split=split), [R1], test=test)
        assert "over 10 paired trials" not in foot_of(table)


@pytest.fixture
def hits():
    """Return hits on 1,000 test rows: a is right on the first 900, b on the first 800, c on others."""
    right = {"a": range(900), "b": range(800), "c": range(100, 1000)}

    def make(records):
        return {
            (record.key, 1): [row in right[record.label] for row in range(1000)]
            for record in records
            if record.seed == 0
        }

    return make


@pytest.fixture
def fixed(make_record):
    scores = {"a": 0.9, "b": 0.8, "c": 0.9}
    return [
        make_record(label, seed, r1=r1 + 0.001 * seed, train=1.0, split="given", n_test=1000)
        for label, r1 in scores.items()
        for seed in range(3)
    ]


def test_on_a_fixed_split_mcnemars_test_compares_the_rows_of_the_first_shared_trial(fixed, hits):
    table = make_table(fixed, [R1, TRAIN], test="auto", hits=hits(fixed))
    assert marked(table) == {"a", "c"}
    assert marked(table, column=1) == set()
    assert "McNemar's test" in table.footnotes[0]
    assert "over 1,000 test rows of one trial" in table.footnotes[0]
    assert "No verdict for train on digits: the split is fixed" in foot_of(table)


def test_without_saved_ranks_there_is_no_verdict_on_a_fixed_split(fixed):
    table = make_table(fixed, [R1], test="auto")
    assert marked(table) == set()
    assert "saved ranks" in foot_of(table)


def test_a_metric_that_is_no_share_of_test_rows_has_no_verdict_on_a_fixed_split(fixed, hits):
    doubled = {key: [*row, *([True] * 1000)] for key, row in hits(fixed).items()}
    table = make_table(fixed, [R1], test="auto", hits=doubled)
    assert marked(table) == set()
    assert "share of test rows" in foot_of(table)


def test_a_table_states_the_smallest_detectable_difference(make_record):
    generator = np.random.default_rng(1)
    records = [make_record(name, seed, r1=0.8 + generator.normal(0, 0.01)) for name in "ab" for seed in range(10)]
    table = make_table(records, [R1], test="auto")
    assert marked(table) == {"a", "b"}
    assert "may go undetected with these trials (80% power)" in foot_of(table)


def test_the_detectable_difference_is_that_of_the_first_column(make_record):
    generator = np.random.default_rng(1)
    r5 = MetricSpec(name="r5", compute="a:b", title="R5", depth=5)
    records = []
    for dataset, is_clear in (("one", True), ("two", False)):  # on the first dataset, only R5 has a tie
        for name in "ab":
            for seed in range(10):
                ahead = 0.3 if is_clear and name == "a" else 0.0
                values = {"r1": 0.5 + ahead + generator.normal(0, 0.01), "r5": 0.9 + generator.normal(0, 0.01)}
                records.append(make_record(name, seed, dataset=dataset, **values))
    assert "Differences in R1 below" in foot_of(make_table(records, [R1, r5], test="auto"))
    assert "Differences in R5 below" in foot_of(make_table(records, [r5, R1], test="auto"))


# -- equal learners --------------------------------------------------------------------------------------------------

ROWS, FEATURES = 400, 30


def equal_learners_on(split, trials, generator):
    """Return R1 by trial of three learners that see different features and are equal by construction."""
    y = np.repeat([0, 1], ROWS // 2)
    X = generator.normal(size=(ROWS, FEATURES)) + 0.25 * y[:, np.newaxis]
    values = {label: [] for label in "abc"}
    for seed in range(trials):
        train, test = draw_split(parse_split(split), ROWS, seed, {}, y)
        for place, label in enumerate("abc"):
            seen = slice(10 * place, 10 * place + 10)
            values[label].append(nearest_mean_score(X[train, seen], y[train], X[test, seen], y[test]))
    return values


def nearest_mean_score(X, y, X_test, y_test):
    means = np.stack([X[y == 0].mean(axis=0), X[y == 1].mean(axis=0)])
    distances = ((X_test[:, np.newaxis] - means) ** 2).sum(axis=2)
    return float((distances.argmin(axis=1) == y_test).mean())


def share_separated(make_record, test, tables=40):
    generator = np.random.default_rng(7)
    separated = 0
    for _ in range(tables):
        found = equal_learners_on("holdout:0.2", 10, generator)
        records = [
            make_record(label, seed, r1=value, n_train=320, n_test=80)
            for label, values in found.items()
            for seed, value in enumerate(values)
        ]
        table = make_table_of_lines(group_records(records), [R1], test=test)
        separated += len(marked(table)) < 3
    return separated / tables


def test_the_default_test_rarely_separates_equal_learners_and_the_sign_test_often(make_record):
    assert share_separated(make_record, "auto") <= 0.125
    assert share_separated(make_record, "sign") > 0.125


# -- power before a run ----------------------------------------------------------------------------------------------


def planned(split="holdout:0.2", learners=3, trials=10, n_test=200):
    return PlannedComparison("digits", parse_split(split), learners, trials, 800, n_test)


def points_of(note):
    return float(note.split(": ")[1].split(" on ")[0])


def test_a_plan_names_the_difference_that_its_trials_can_detect():
    (note,) = describe_expected_power([planned()])
    assert note.startswith("Detectable differences in R1, in points (80% power")
    assert note.endswith(" on digits.")
    assert 1 < points_of(note) < 10


def test_more_trials_and_more_test_rows_detect_smaller_differences():
    by_size = [describe_expected_power([one])[0] for one in (planned(trials=3), planned(), planned(n_test=2000))]
    assert sorted(map(points_of, by_size), reverse=True) == list(map(points_of, by_size))


def test_on_a_fixed_split_more_seeds_detect_no_smaller_differences():
    notes = {describe_expected_power([planned("given:official", trials=n)])[0] for n in (1, 7, 50)}
    assert len(notes) == 1


def test_a_plan_with_too_few_trials_names_the_number_that_is_enough():
    assert describe_expected_power([planned(trials=2)]) == [
        "2 trials are too few for a verdict on digits: --trials 10 gives one."
    ]


def test_a_plan_of_one_learner_or_with_a_rule_of_the_papers_has_no_note():
    assert describe_expected_power([planned(learners=1)]) == []
    assert describe_expected_power([planned()], "wins") == []
