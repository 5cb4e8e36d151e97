"""Tables: records grouped into lines, lines into groups, and the test behind the best mark."""

import pytest

from harness import MetricSpec
from harness.errors import HarnessError
from messages import assert_names
from small_tables import INDEX, R1, TRAIN, make_table, rows_of, titles

# -- lines and groups ------------------------------------------------------------------------------------------------


def test_rows_are_learners_flat_first_grouped_by_dataset(run_of):
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


def test_by_learner_the_rows_are_datasets(run_of):
    records = [*run_of("a", [0.5]), *run_of("b", [0.6]), *run_of("a", [0.7], dataset="icd", fingerprint="beef")]
    table = make_table(records, [R1], by="learner")
    assert titles(table) == [("a", ["digits", "icd"]), ("b", ["digits"])]
    assert table.row_heading == "dataset"
    assert table.groups[0].detail == "flat"


def test_a_cell_is_mean_and_spread_over_trials(run_of):
    table = make_table(run_of("a", [0.5, 0.7, 0.9]), [R1])
    row = rows_of(table)["digits", "a"]
    assert row.trials == "3"
    assert (row.cells[0].summary.mean, row.cells[0].summary.n) == (pytest.approx(0.7), 3)
    assert row.cells[0].summary.sd == pytest.approx(0.2)


def test_the_random_state_of_a_trial_is_no_parameter(run_of):
    assert titles(make_table(run_of("a", [0.5, 0.6]), [R1])) == [("digits", ["a"])]


def test_a_random_state_fixed_by_the_user_keeps_trials_together(run_of):
    table = make_table(run_of("a", [0.5, 0.6, 0.7], params={"random_state": 1}), [R1])
    assert [(row.title, row.trials) for row in table.groups[0].rows] == [("a", "3")]


def test_one_label_with_two_parameter_sets_gives_two_distinct_lines(run_of):
    records = [
        *run_of("a", [0.5, 0.6], params={"C": 1, "passes": 5}),
        *run_of("a", [0.7, 0.8], params={"passes": 5, "C": 2}),
        *run_of("a", [0.7, 0.8], params={}),
        *run_of("b", [0.9], params={"C": 3}),
    ]
    assert titles(make_table(records, [R1])) == [
        ("digits", ["a [C=1, passes=5]", "a [C=2, passes=5]", "a [defaults]", "b"])
    ]


def test_the_order_of_parameters_does_not_matter(make_record):
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
def test_one_label_from_two_origins_shows_the_origin(run_of, field, first, second):
    records = [*run_of("a", [0.5]), *run_of("a", [0.6], **{field: "2.0"})]
    assert titles(make_table(records, [R1])) == [("digits", [first, second])]


def test_data_with_another_split_form_another_group(run_of):
    records = [*run_of("a", [0.5]), *run_of("a", [0.7], split="holdout:0.2")]
    details = [group.detail.partition(";")[0] for group in make_table(records, [R1]).groups]
    assert details == ["tf, holdout:0.1", "tf, holdout:0.2"]
    by_learner = make_table(records, [R1], by="learner")
    titles = [row.title.partition(";")[0] for row in by_learner.groups[0].rows]
    assert titles == ["digits [tf, holdout:0.1", "digits [tf, holdout:0.2"]


@pytest.mark.parametrize("by", ["dataset", "learner"])
def test_representations_of_the_same_rows_share_a_group_with_a_column(run_of, by):
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


def test_two_versions_of_one_dataset_are_never_compared(run_of):
    records = [*run_of("a", [0.5] * 8), *run_of("b", [0.9] * 8, fingerprint="beef" * 16)]
    table = make_table(records, [R1])
    assert [group.detail[-13:] for group in table.groups] == ["data f00df00d", "data beefbeef"]
    assert not any(cell.best for group in table.groups for row in group.rows for cell in row.cells)


def test_the_parameters_of_a_dataset_are_shown(run_of):
    (group,) = make_table(run_of("a", [0.5], dataset_params={"rows": 10, "seed": 1}), [R1]).groups
    assert group.detail.endswith("; rows=10, seed=1")


def test_a_trial_recorded_twice_counts_once_by_its_last_record(make_record):
    records = [make_record("a", 0, r1=0.1), make_record("a", 1, r1=0.5), make_record("a", 0, r1=0.9, depth=20)]
    row = rows_of(make_table(records, [R1]))["digits", "a"]
    assert (row.trials, row.cells[0].summary.mean) == ("2", pytest.approx(0.7))


def test_no_records_raise_an_error():
    with pytest.raises(HarnessError, match="no records"):
        make_table([], [R1])


# -- failures and gaps -----------------------------------------------------------------------------------------------


def test_a_failed_learner_shows_status_and_count(make_record, run_of):
    failed = [
        make_record("bad", 0, status="timeout"),
        make_record("bad", 1, status="timeout"),
        make_record("bad", 2, status="crash"),
    ]
    row = rows_of(make_table([*run_of("good", [0.5] * 3), *failed], [R1, INDEX]))["digits", "bad"]
    assert row.trials == "0/3"
    assert [cell.failed for cell in row.cells] == ["TIMEOUT 2/3, CRASH 1/3"] * 2
    assert [cell.summary for cell in row.cells] == [None, None]


def test_a_partly_failed_learner_keeps_its_numbers_and_is_noted(make_record):
    records = [make_record("a", 0, r1=0.5), make_record("a", 1, r1=0.7), make_record("a", 2, status="memory")]
    row = rows_of(make_table(records, [R1]))["digits", "a"]
    assert row.trials == "2/3, MEMORY 1/3"
    assert (row.cells[0].failed, row.cells[0].summary.n) == ("", 2)


def test_a_table_of_failures_only_can_be_made(make_record):
    table = make_table([make_record("a", 0, status="error", message="broken")], [R1, TRAIN])
    assert table.groups[0].detail == "tf, holdout:0.1"
    assert "a on digits: broken" in table.footnotes


@pytest.mark.parametrize("value", [None, float("nan"), float("inf"), -float("inf")])
def test_a_metric_without_a_value_is_missing_and_never_best(make_record, value):
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


def test_the_best_and_all_without_a_significant_difference_are_marked(snapshot, run_of):
    records = [
        *run_of("best", [0.9] * 10),
        *run_of("close", [0.95, 0.95, 0.95] + [0.8] * 7),
        *run_of("worse", [0.5] * 10),
    ]
    table = make_table(records, [R1])
    assert best_of(table) == ["best", "close"]
    snapshot("table", table.footnotes[0])


def test_lower_values_are_best_for_lower_is_better_metrics(make_record):
    records = [make_record(name, seed, index=value) for name, value in [("a", 5), ("b", 3)] for seed in range(8)]
    assert best_of(make_table(records, [INDEX])) == ["b"]


def test_with_few_trials_the_best_mean_is_marked_and_the_footnote_states_no_test(snapshot, run_of):
    table = make_table([*run_of("a", [0.9] * 3), *run_of("b", [0.8] * 3)], [R1])
    assert best_of(table) == ["a"]
    snapshot("table", table.footnotes[0])


def test_more_competitors_need_more_trials_for_a_verdict(snapshot, run_of):
    def table(trials):
        return make_table(
            [r for name, r1 in zip("abc", (0.9, 0.8, 0.7), strict=True) for r in run_of(name, [r1] * trials)], [R1]
        )

    six, seven = table(6), table(7)
    assert best_of(six) == best_of(seven) == ["a"]
    snapshot("table", six.footnotes[0])
    assert "over 7 paired trials" in seven.footnotes[0]


def test_tuned_trials_are_a_separate_line_and_a_footnote_has_the_chosen_values(make_record):
    tuning = [{"params": {"C": c}, "score": 0.5} for c in (0.1, 1)]
    tuned = [make_record("pa", seed, r1=0.9, tuned={"C": c}, tuning=tuning) for seed, c in ((0, 0.1), (1, 1), (2, 1))]
    plain = [make_record("pa", seed, r1=0.8) for seed in range(3)]
    note = "Tuned on validation rows, most frequent choice: pa on digits C=1 (2 of 3)."
    assert note in make_table(tuned, [R1]).footnotes
    assert titles(make_table([*tuned, *plain], [R1])) == [("digits", ["pa [tuned C, 2 candidates]", "pa [not tuned]"])]
    assert not any("Tuned" in line for line in make_table(plain, [R1]).footnotes)


def test_a_footnote_names_untuned_learners_and_those_with_incomplete_tuning(make_record):
    tried = [{"params": {"C": 1}, "score": 0.5}, {"params": {"C": 2}, "score": 0.6}]
    late = {"params": {"C": 3}, "trouble": "not tried: the time limit of tuning was reached"}
    slow = [make_record("slow", seed, r1=0.9, tuned={"C": 2}, tuning=[*tried, late]) for seed in range(3)]
    quick = [make_record("quick", seed, r1=0.9, tuned={"C": 2}, tuning=tried) for seed in range(3)]
    plain = [make_record("plain", seed, r1=0.8) for seed in range(3)]
    foot = make_table([*slow, *quick, *plain], [R1]).footnotes
    cut = [line for line in foot if "time limit" in line]
    assert len(cut) == 1
    assert_names(cut[0], "slow", "digits", "3 of 3 trials", "2 of 3 candidates")
    assert_names([line for line in foot if "Not tuned" in line], "plain")
    assert not any("Not tuned" in line for line in make_table(quick, [R1]).footnotes)
    assert not any("Not tuned" in line for line in make_table(plain, [R1]).footnotes)


def test_tuned_lines_are_grouped_by_search_space_despite_timeouts_and_failures(make_record):
    def tried(count):
        return [{"params": {"C": c}, "score": 0.5} for c in range(1, count + 1)]

    same = {"to_tune": "tuned C=[1, 2, 3]; 10 by chance"}
    records = [make_record("pa", seed, r1=0.9, tuned={"C": 1}, tuning=tried(seed + 1), **same) for seed in range(3)]
    records.append(make_record("pa", 3, status="timeout", **same))
    assert titles(make_table(records, [R1])) == [("digits", ["pa"])]
    other = {"to_tune": "tuned C=[4, 5, 6]; 10 by chance"}
    records += [make_record("pa", seed, r1=0.9, tuned={"C": 4}, tuning=tried(1), **other) for seed in range(3)]
    text = [f"pa [{same['to_tune']}]", f"pa [{other['to_tune']}]"]
    assert sorted(titles(make_table(records, [R1]))[0][1]) == text


def test_other_versions_of_a_tool_give_another_line_that_names_the_difference(make_record):
    shared = {"numpy": "1.26.4", "scipy": "1.14.0"}
    versions = [{**shared, "libpecos": "1.2.6"}, {**shared, "libpecos": "1.2.7", "torch": "2.4"}]
    records = [make_record("pecos", seed, r1=0.9, packages=versions[seed % 2]) for seed in range(4)]
    text = ["pecos [libpecos 1.2.6]", "pecos [libpecos 1.2.7; torch 2.4]"]
    assert sorted(titles(make_table(records, [R1]))[0][1]) == text
    assert titles(make_table(records[::2], [R1])) == [("digits", ["pecos"])]


def test_a_single_learner_is_not_marked(snapshot, run_of, make_record):
    assert best_of(make_table(run_of("a", [0.9] * 3), [R1])) == []
    records = [*run_of("a", [0.9] * 3), make_record("b", 0, status="error")]
    table = make_table(records, [R1])
    assert best_of(table) == []
    snapshot("table", table.footnotes[0])


def test_learners_are_compared_within_a_dataset_only(run_of):
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


def test_a_footnote_names_the_test_and_the_number_of_trials(snapshot, run_of):
    records = [*run_of("a", [0.9] * 10), *run_of("b", [0.5] * 10)]
    for test, words in {"sign": "sign test", "wins": "nine wins in ten"}.items():
        table = make_table(records, [R1], test=test)
        assert best_of(table) == ["a"]
        assert words in table.footnotes[0]
        assert table.footnotes[0].endswith("over 10 paired trials.")
    snapshot("table", make_table([*run_of("a", [0.9] * 9), *run_of("b", [0.5] * 9)], [R1], test="wins").footnotes[0])


def test_nine_wins_in_ten_are_marked_by_the_papers_rule_but_not_by_the_corrected_sign_test(run_of):
    records = [*run_of("a", [0.9] * 9 + [0.5])]
    for name in "bcdef":
        records += run_of(name, [0.8] * 9 + [0.6])
    assert best_of(make_table(records, [R1], test="wins")) == ["a"]
    assert best_of(make_table(records, [R1], test="sign")) == list("abcdef")


def test_a_cell_may_show_an_interval_instead_of_the_standard_deviation(run_of, make_record):
    records = [make_record("a", seed, r1=value, index=10) for seed, value in enumerate([0.8, 0.9, 1.0])]
    spreads = {
        s: rows_of(make_table(records, [R1, INDEX], spread=s))["digits", "a"].cells for s in ("sd", "t", "binomial")
    }
    assert spreads["sd"][0].spread == pytest.approx(0.1)
    assert spreads["t"][0].spread == pytest.approx(4.302653 * 0.1 / 3**0.5)
    assert spreads["binomial"][0].spread == pytest.approx(1.96 * (0.9 * 0.1 / 100) ** 0.5)
    assert spreads["binomial"][1].spread == 0.0
    assert "binomial 95% interval" in make_table(records, [R1], spread="binomial").footnotes[0]


def test_a_column_without_records_raises_an_error_with_the_next_step(run_of):
    absent = MetricSpec(name="r7", compute="a:b")
    assert any(
        "No record has r7. `harness rescore`" in line for line in make_table(run_of("a", [1]), [R1, absent]).footnotes
    )


def test_chosen_values_are_noted_for_each_configuration(make_record):
    def tuned(chosen, candidates):
        tuning = [{"params": {"C": C}, "score": 0.5} for C in candidates]
        return [make_record("pa", seed, r1=0.9, tuned={"C": chosen}, tuning=tuning) for seed in range(2)]

    foot = make_table([*tuned(1, (1, 2)), *tuned(3, (1, 2, 3))], [R1]).footnotes
    assert_names(foot, "pa", "2", "digits", "C=1")
    assert_names(foot, "pa", "3", "digits", "C=3")


def test_of_learners_tied_at_the_best_mean_the_first_is_compared_with_the_rest(make_record):
    values = {"tree": [0.9, 0.5] * 5, "flat": [0.5, 0.9] * 5, "rival": [0.4, 0.8] * 5}
    kinds = {"tree": "tree"}
    records = [
        make_record(label, seed, r1=r1, learner_kind=kinds.get(label, "flat"))
        for label, by_seed in values.items()
        for seed, r1 in enumerate(by_seed)
    ]
    assert best_of(make_table(records, [R1])) == ["flat", "tree"]


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"by": "colour"}, "table by 'colour': expected one of dataset, learner"),
        ({"test": "luck"}, "test 'luck': expected one of auto, ttest, mcnemar, sign, wins"),
        ({"spread": "wide"}, "spread 'wide': expected one of sd, t, binomial"),
    ],
)
def test_invalid_table_options_are_rejected(run_of, options, text):
    with pytest.raises(HarnessError) as raised:
        make_table(run_of("a", [0.5]), [R1], **options)
    assert str(raised.value) == text
