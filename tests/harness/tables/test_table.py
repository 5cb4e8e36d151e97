"""Tables: which records make a line, which lines a group, what is marked best, by which test."""

import pytest

from harness import MetricSpec
from harness.errors import HarnessError
from tabling import INDEX, R1, TRAIN, make_table, rows_of, titles

# -- lines and groups ------------------------------------------------------------------------------------------------


def test_rows_are_learners_flat_first_grouped_by_data_set(run_of):
    records = [
        *run_of("tree-one", [0.5], learner_kind="tree"),
        *run_of("other-one", [0.5], learner_kind="other"),
        *run_of("flat-one", [0.5]),
        *run_of("tree-one", [0.5], learner_kind="tree", dataset="icd", fingerprint="beef"),
        *run_of("flat-one", [0.5], dataset="icd", fingerprint="beef"),
    ]
    table = make_table(records, [R1])
    assert titles(table) == [
        ("digits", ["flat-one", "tree-one", "other-one"]),
        ("icd", ["flat-one", "tree-one"]),
    ]
    assert table.row_heading == "learner"
    assert table.groups[0].detail == "tf, holdout:0.1; 900 training and 100 test rows, 5,000 features, 20 classes"


def test_by_learner_the_rows_are_data_sets(run_of):
    records = [*run_of("a", [0.5]), *run_of("b", [0.6]), *run_of("a", [0.7], dataset="icd", fingerprint="beef")]
    table = make_table(records, [R1], by="learner")
    assert titles(table) == [("a", ["digits", "icd"]), ("b", ["digits"])]
    assert table.row_heading == "data set"
    assert table.groups[0].detail == "flat"


def test_a_cell_is_the_mean_and_spread_of_the_trials(run_of):
    table = make_table(run_of("a", [0.5, 0.7, 0.9]), [R1])
    row = rows_of(table)["digits", "a"]
    assert row.trials == "3"
    assert (row.cells[0].summary.mean, row.cells[0].summary.n) == (pytest.approx(0.7), 3)
    assert row.cells[0].summary.sd == pytest.approx(0.2)


def test_the_seeds_own_random_state_is_no_parameter(run_of):
    assert titles(make_table(run_of("a", [0.5, 0.6]), [R1])) == [("digits", ["a"])]


def test_a_random_state_that_the_user_fixed_keeps_the_trials_together(run_of):
    table = make_table(run_of("a", [0.5, 0.6, 0.7], params={"random_state": 1}), [R1])
    assert [(row.title, row.trials) for row in table.groups[0].rows] == [("a", "3")]


def test_one_label_with_two_parameter_sets_is_two_lines_that_tell_them_apart(run_of):
    records = [
        *run_of("a", [0.5, 0.6], params={"C": 1, "passes": 5}),
        *run_of("a", [0.7, 0.8], params={"passes": 5, "C": 2}),
        *run_of("a", [0.7, 0.8], params={}),
        *run_of("b", [0.9], params={"C": 3}),
    ]
    assert titles(make_table(records, [R1])) == [
        ("digits", ["a [C=1, passes=5]", "a [C=2, passes=5]", "a [defaults]", "b"])
    ]


def test_the_order_in_which_parameters_were_given_does_not_matter(make_record):
    records = [make_record("a", 0, r1=1, params={"C": 1, "d": 2}), make_record("a", 1, r1=1, params={"d": 2, "C": 1})]
    assert titles(make_table(records, [R1])) == [("digits", ["a"])]


@pytest.mark.parametrize(
    ("field", "first", "second"),
    [
        ("learner_version", "a [dist 1.0]", "a [dist 2.0]"),
        ("learner_distribution", "a [dist 1.0]", "a [2.0 1.0]"),
        ("learner", "a [pa]", "a [2.0]"),
    ],
)
def test_one_label_from_two_places_says_which(run_of, field, first, second):
    records = [*run_of("a", [0.5]), *run_of("a", [0.6], **{field: "2.0"})]
    assert titles(make_table(records, [R1])) == [("digits", [first, second])]


def test_data_split_in_another_way_is_another_group(run_of):
    records = [*run_of("a", [0.5]), *run_of("a", [0.7], split="holdout:0.2")]
    details = [group.detail.partition(";")[0] for group in make_table(records, [R1]).groups]
    assert details == ["tf, holdout:0.1", "tf, holdout:0.2"]
    by_learner = make_table(records, [R1], by="learner")
    titles = [row.title.partition(";")[0] for row in by_learner.groups[0].rows]
    assert titles == ["digits [tf, holdout:0.1", "digits [tf, holdout:0.2"]


@pytest.mark.parametrize("by", ["dataset", "learner"])
def test_several_representations_of_the_same_rows_compete_in_one_group_with_a_column(run_of, by):
    records = [*run_of("a", [0.5] * 9), *run_of("a", [0.6] * 9, representation="chars(ngrams=2:5)")]
    table = make_table(records, [R1], by=by)
    (group,) = table.groups
    assert [row.facts for row in group.rows] == [
        {"representation": "tf", "kind": "flat", "trials": "9"},
        {"representation": "chars(ngrams=2:5)", "kind": "flat", "trials": "9"},
    ]
    assert [row.cells[0].best for row in group.rows] == [False, True]
    for way in ("terminal", "markdown", "html", "latex", "csv", "json"):
        assert "chars(ngrams=2:5)" in table.render(way)
        assert "representation" in table.render(way)


def test_two_contents_of_one_data_set_are_never_compared(run_of):
    records = [*run_of("a", [0.5] * 8), *run_of("b", [0.9] * 8, fingerprint="beef" * 16)]
    table = make_table(records, [R1])
    assert [group.detail[-13:] for group in table.groups] == ["data f00df00d", "data beefbeef"]
    assert not any(cell.best for group in table.groups for row in group.rows for cell in row.cells)


def test_the_parameters_of_a_data_set_are_told(run_of):
    (group,) = make_table(run_of("a", [0.5], dataset_params={"rows": 10, "seed": 1}), [R1]).groups
    assert group.detail.endswith("; rows=10, seed=1")


def test_a_trial_recorded_twice_counts_once_by_its_last_record(make_record):
    records = [make_record("a", 0, r1=0.1), make_record("a", 1, r1=0.5), make_record("a", 0, r1=0.9, depth=20)]
    row = rows_of(make_table(records, [R1]))["digits", "a"]
    assert (row.trials, row.cells[0].summary.mean) == ("2", pytest.approx(0.7))


def test_no_records_make_no_table():
    with pytest.raises(HarnessError, match="no records"):
        make_table([], [R1])


# -- failures and gaps -----------------------------------------------------------------------------------------------


def test_a_learner_that_failed_says_how_and_how_often(make_record, run_of):
    failed = [
        make_record("bad", 0, status="timeout"),
        make_record("bad", 1, status="timeout"),
        make_record("bad", 2, status="crash"),
    ]
    row = rows_of(make_table([*run_of("good", [0.5] * 3), *failed], [R1, INDEX]))["digits", "bad"]
    assert row.trials == "0/3"
    assert [cell.failed for cell in row.cells] == ["TIMEOUT 2/3, CRASH 1/3"] * 2
    assert [cell.summary for cell in row.cells] == [None, None]


def test_a_learner_that_failed_in_part_keeps_its_numbers_and_says_so(make_record):
    records = [make_record("a", 0, r1=0.5), make_record("a", 1, r1=0.7), make_record("a", 2, status="memory")]
    row = rows_of(make_table(records, [R1]))["digits", "a"]
    assert row.trials == "2/3, MEMORY 1/3"
    assert (row.cells[0].failed, row.cells[0].summary.n) == ("", 2)


def test_a_table_of_failures_only_can_be_made(make_record):
    table = make_table([make_record("a", 0, status="error", message="broken")], [R1, TRAIN])
    assert table.groups[0].detail == "tf, holdout:0.1"
    assert "a on digits: broken" in table.foot


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), -float("inf")])
def test_a_metric_without_a_number_is_missing_and_never_best(make_record, value):
    records = [make_record("a", seed, r1=value) for seed in range(8)] + [
        make_record("b", seed, r1=0.1) for seed in range(8)
    ]
    rows = rows_of(make_table(records, [R1, INDEX]))
    assert rows["digits", "a"].cells[0].summary is None
    assert rows["digits", "b"].cells[1].summary is None
    assert not any(cell.best for row in rows.values() for cell in row.cells)


# -- the best --------------------------------------------------------------------------------------------------------


def best_of(table, column=0):
    return [row.title for group in table.groups for row in group.rows if row.cells[column].best]


def test_the_best_and_all_that_cannot_be_told_from_it_are_marked(run_of):
    records = [
        *run_of("best", [0.9] * 10),
        *run_of("close", [0.95, 0.95, 0.95] + [0.8] * 7),
        *run_of("worse", [0.5] * 10),
    ]
    table = make_table(records, [R1])
    assert best_of(table) == ["best", "close"]
    assert "paired sign test (exact, ties dropped, Holm-corrected, 5%)" in table.foot[0]


def test_lower_is_better_where_the_metric_says_so(make_record):
    records = [make_record(name, seed, index=value) for name, value in [("a", 5), ("b", 3)] for seed in range(8)]
    assert best_of(make_table(records, [INDEX])) == ["b"]


def test_with_few_trials_the_best_mean_is_marked_and_the_foot_says_that_nothing_was_tested(run_of):
    table = make_table([*run_of("a", [0.9] * 3), *run_of("b", [0.8] * 3)], [R1])
    assert best_of(table) == ["a"]
    assert "the best mean (fewer than 6 paired trials are too few to test)" in table.foot[0]


def test_with_more_rivals_it_takes_more_trials_before_a_test_can_tell(run_of):
    def table(trials):
        return make_table(
            [r for name, r1 in zip("abc", (0.9, 0.8, 0.7), strict=True) for r in run_of(name, [r1] * trials)], [R1]
        )

    six, seven = table(6), table(7)
    assert best_of(six) == best_of(seven) == ["a"]
    assert "the best mean (fewer than 7 paired trials are too few to test)" in six.foot[0]
    assert "over 7 paired trials" in seven.foot[0]


def test_tuned_trials_are_a_line_of_their_own_and_the_foot_tells_what_was_chosen(make_record):
    tuning = [{"params": {"C": c}, "score": 0.5} for c in (0.1, 1)]
    tuned = [make_record("pa", seed, r1=0.9, tuned={"C": c}, tuning=tuning) for seed, c in ((0, 0.1), (1, 1), (2, 1))]
    plain = [make_record("pa", seed, r1=0.8) for seed in range(3)]
    told = "pa on digits: chosen on validation rows, most often C=1 (2 of 3 trials)."
    assert told in make_table(tuned, [R1]).foot
    assert titles(make_table([*tuned, *plain], [R1])) == [("digits", ["pa [tuned C, 2 candidates]", "pa [not tuned]"])]
    assert not any("chosen" in line for line in make_table(plain, [R1]).foot)


def test_what_was_to_be_tuned_makes_a_line_whatever_there_was_time_for_and_whoever_failed(make_record):
    def tried(count):
        return [{"params": {"C": c}, "score": 0.5} for c in range(1, count + 1)]

    same = {"to_tune": "tuned C=[1, 2, 3]; 10 by chance"}
    records = [make_record("pa", seed, r1=0.9, tuned={"C": 1}, tuning=tried(seed + 1), **same) for seed in range(3)]
    records.append(make_record("pa", 3, status="timeout", **same))
    assert titles(make_table(records, [R1])) == [("digits", ["pa"])]
    other = {"to_tune": "tuned C=[4, 5, 6]; 10 by chance"}
    records += [make_record("pa", seed, r1=0.9, tuned={"C": 4}, tuning=tried(1), **other) for seed in range(3)]
    told = [f"pa [{same['to_tune']}]", f"pa [{other['to_tune']}]"]
    assert sorted(titles(make_table(records, [R1]))[0][1]) == told


def test_other_versions_of_a_tool_make_another_line_named_by_those_that_differ(make_record):
    shared = {"numpy": "1.26.4", "scipy": "1.14.0"}
    versions = [{**shared, "libpecos": "1.2.6"}, {**shared, "libpecos": "1.2.7", "torch": "2.4"}]
    records = [make_record("pecos", seed, r1=0.9, packages=versions[seed % 2]) for seed in range(4)]
    told = ["pecos [libpecos 1.2.6]", "pecos [libpecos 1.2.7; torch 2.4]"]
    assert sorted(titles(make_table(records, [R1]))[0][1]) == told
    assert titles(make_table(records[::2], [R1])) == [("digits", ["pecos"])]


def test_a_learner_alone_is_not_marked(run_of, make_record):
    assert best_of(make_table(run_of("a", [0.9] * 3), [R1])) == []
    records = [*run_of("a", [0.9] * 3), make_record("b", 0, status="error")]
    table = make_table(records, [R1])
    assert best_of(table) == []
    assert table.foot[0] == "Mean ± sample standard deviation over trials."


def test_learners_are_compared_within_a_data_set_only(run_of):
    records = [
        *run_of("a", [0.9] * 8),
        *run_of("b", [0.8] * 8),
        *run_of("a", [0.2] * 8, dataset="icd", fingerprint="beef"),
        *run_of("b", [0.3] * 8, dataset="icd", fingerprint="beef"),
    ]
    for by in ("dataset", "learner"):
        rows = rows_of(make_table(records, [R1], by=by))
        best = {tuple(sorted(key)) for key, row in rows.items() if row.cells[0].best}
        assert best == {("a", "digits"), ("b", "icd")}


# -- tests and spreads -----------------------------------------------------------------------------------------------


def test_the_foot_names_the_test_and_counts_the_trials(run_of):
    records = [*run_of("a", [0.9] * 10), *run_of("b", [0.5] * 10)]
    for test, words in {"sign": "sign test", "ttest": "corrected resampled t-test", "wins": "nine wins in ten"}.items():
        table = make_table(records, [R1], test=test)
        assert best_of(table) == ["a"]
        assert words in table.foot[0]
        assert table.foot[0].endswith("over 10 paired trials.")
    assert (
        "fewer than 10 paired trials"
        in make_table([*run_of("a", [0.9] * 9), *run_of("b", [0.5] * 9)], [R1], test="wins").foot[0]
    )


def test_nine_wins_in_ten_mark_what_the_sign_test_after_correction_does_not(run_of):
    records = [*run_of("a", [0.9] * 9 + [0.5])]
    for name in "bcdef":
        records += run_of(name, [0.8] * 9 + [0.6])
    assert best_of(make_table(records, [R1], test="wins")) == ["a"]
    assert best_of(make_table(records, [R1], test="sign")) == list("abcdef")


def test_a_cell_may_carry_an_interval_instead_of_the_standard_deviation(run_of, make_record):
    records = [make_record("a", seed, r1=value, index=10) for seed, value in enumerate([0.8, 0.9, 1.0])]
    spreads = {
        s: rows_of(make_table(records, [R1, INDEX], spread=s))["digits", "a"].cells for s in ("sd", "t", "binomial")
    }
    assert spreads["sd"][0].spread == pytest.approx(0.1)
    assert spreads["t"][0].spread == pytest.approx(4.302653 * 0.1 / 3**0.5)
    assert spreads["binomial"][0].spread == pytest.approx(1.96 * (0.9 * 0.1 / 100) ** 0.5)
    assert spreads["binomial"][1].spread == 0.0
    assert "binomial 95% interval" in make_table(records, [R1], spread="binomial").foot[0]


def test_a_column_that_no_record_has_says_how_to_get_it(run_of):
    absent = MetricSpec(name="r7", compute="a:b")
    assert any(
        "In none of the records: r7; `harness rescore`" in line
        for line in make_table(run_of("a", [1]), [R1, absent]).foot
    )


def test_what_tuning_chose_is_told_for_each_set_up(make_record):
    def tuned(chosen, candidates):
        tuning = [{"params": {"C": C}, "score": 0.5} for C in candidates]
        return [make_record("pa", seed, r1=0.9, tuned={"C": chosen}, tuning=tuning) for seed in range(2)]

    foot = make_table([*tuned(1, (1, 2)), *tuned(3, (1, 2, 3))], [R1]).foot
    assert "pa [tuned C, 2 candidates] on digits: chosen on validation rows, most often C=1 (2 of 2 trials)." in foot
    assert "pa [tuned C, 3 candidates] on digits: chosen on validation rows, most often C=3 (2 of 2 trials)." in foot


def test_of_learners_that_share_the_best_mean_the_first_of_the_table_is_compared_with_the_rest(make_record):
    values = {"tree": [0.9, 0.5] * 5, "flat": [0.5, 0.9] * 5, "rival": [0.4, 0.8] * 5}
    kinds = {"tree": "tree"}
    records = [
        make_record(label, seed, r1=r1, learner_kind=kinds.get(label, "flat"))
        for label, by_seed in values.items()
        for seed, r1 in enumerate(by_seed)
    ]
    assert best_of(make_table(records, [R1])) == ["flat", "tree"]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"by": "colour"}, "table by 'colour': expected one of dataset, learner"),
        ({"test": "luck"}, "test 'luck': expected one of sign, ttest, wins"),
        ({"spread": "wide"}, "spread 'wide': expected one of sd, t, binomial"),
    ],
)
def test_what_nobody_can_choose_is_refused(run_of, asked, told):
    with pytest.raises(HarnessError) as raised:
        make_table(run_of("a", [0.5]), [R1], **asked)
    assert str(raised.value) == told
