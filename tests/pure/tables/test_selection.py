"""Selection and order of table lines: where, best and sort."""

import pytest

from harness.errors import HarnessError
from internals import LineFilter, choose_columns, discover, group_records, keep_lines, parse_filter
from messages import assert_names
from small_tables import R1, TRAIN, foot_of, make_table, titles

SEVEN = [0.1, 0.2, 0.1, 0.2, 0.1, 0.2, 0.1]


@pytest.fixture
def lines(run_of):
    records = [
        *run_of("pa(C=0.1)", [0.9, 0.9], train=3.0, params={"C": 0.1}),
        *run_of("pa(C=1)", [0.7, 0.7], train=1.0, params={"C": 1}),
        *run_of("tree", [0.8, 0.8], train=2.0, learner_kind="tree", params={}),
        *run_of("tree", [0.4, 0.4], dataset="icd", learner_kind="tree", params={}),
    ]
    return group_records(records)


def kept(lines, *conditions):
    found = keep_lines(lines, map(parse_filter, conditions), discover())
    return [(line.title, line.dataset) for line in found]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("dataset=icd", [3]),
        ("dataset!=icd", [0, 1, 2]),
        ("dataset=i*,digits", [0, 1, 2, 3]),
        ("kind=tree", [2, 3]),
        ("learner=pa", [0, 1, 2, 3]),
        ("learner=pa(C=1)", [1]),
        ("C=0.1", [0]),
        ("C!=0.1", [1]),
        ("C>0.5", [1]),
        ("r1>=0.8", [0, 2]),
        ("r1 < 0.5", [3]),
        ("train<=2", [1, 2]),
        ("split=holdout:*", [0, 1, 2, 3]),
        ("representation=raw,tf", [0, 1, 2, 3]),
    ],
)
def test_lines_are_filtered_by_fields_and_by_metrics(lines, condition, expected):
    assert kept(lines, condition) == [(lines[place].title, lines[place].dataset) for place in expected]


def test_several_conditions_must_all_hold(lines):
    assert kept(lines, "kind=tree", "dataset=digits") == [("tree", "digits")]


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("kin=tree", "Did you mean kind?"),
        ("nothing=1", "Conditions: C, dataset, kind"),
        ("dataset=zz", "where dataset=zz: no learner"),
        ("kind>tree", "with = or !="),
        ("r1=0.9", "with < or >"),
        ("r1>high", "expected a number after >"),
        ("r1", "'r1'. Examples: dataset="),
        ("=3", "cannot read"),
    ],
)
def test_an_invalid_condition_raises_an_error_with_the_valid_fields(lines, condition, words):
    with pytest.raises(HarnessError) as caught:
        kept(lines, condition)
    assert words in str(caught.value)


def test_a_metric_with_parameters_is_one_field():
    assert parse_filter("mrr(depth=10)>0.5") == LineFilter("mrr(depth=10)", ">", "0.5")


def test_rows_are_sorted_by_a_metric_best_first_and_missing_values_last(run_of, make_record):
    records = [
        *run_of("none", [0.5]),
        *run_of("slow", [0.9], train=9.0),
        *run_of("fast", [0.3], train=1.0, learner_kind="tree"),
        make_record("failed", 0, status="error"),
    ]
    assert titles(make_table(records, [R1], sort=R1)) == [("digits", ["slow", "none", "fast", "failed"])]
    assert titles(make_table(records, [R1], sort=TRAIN)) == [("digits", ["fast", "slow", "none", "failed"])]
    assert titles(make_table(records, [R1])) == [("digits", ["none", "slow", "failed", "fast"])]


def test_best_shows_the_best_line_of_each_dataset_and_its_ties(run_of):
    records = [
        *run_of("a", [0.9 - one for one in SEVEN]),
        *run_of("b", SEVEN),
        *run_of("c", [0.9 - one for one in reversed(SEVEN)]),
        *run_of("b", [0.5], dataset="alone"),
    ]
    table = make_table(records, [R1], best=R1)
    assert titles(table) == [("digits", ["a", "c"]), ("alone", ["b"])]
    assert_names(foot_of(table), "R1", "3", "4")


def test_results_tables_filter_sort_and_note_the_omitted_lines(run_of, tmp_path):
    from harness import Results

    records = (*run_of("a", [0.9, 0.8]), *run_of("b", [0.5, 0.4]), *run_of("c", [0.95, 0.9], dataset="icd"))
    results = Results((tmp_path,), records, {})
    table = results.table("r1", sort="r1", where=["dataset=digits", "r1>0.5"])
    assert titles(table) == [("digits", ["a"])]
    assert_names(table.footnotes, "1", "3", "dataset=digits", "r1>0.5")
    assert titles(results.table("r1", where="dataset=digits", best="r1")) == [("digits", ["a"])]


QUALITY = {"r1": 0.9, "r5": 0.95, "p1": 0.9, "p3": 0.6, "p5": 0.4}


def columns(*records):
    return [metric.name for metric in choose_columns(discover(), None, records)]


def test_the_default_columns_depend_on_the_number_of_labels_a_row(make_record):
    one = make_record("pa", 0, multilabel=False, train=1.0, **QUALITY)
    several = make_record("pa", 0, multilabel=True, train=1.0, **QUALITY)
    assert columns(one) == ["r1", "r5", "train"]
    assert columns(several) == ["p1", "p3", "p5", "train"]
    assert columns(one, several) == ["r1", "r5", "p1", "p3", "p5", "train"]


def test_records_that_do_not_tell_their_number_of_labels_have_the_columns_for_one(make_record):
    assert columns(make_record("pa", 0, r1=0.9, r5=0.95)) == ["r1", "r5"]


def test_the_tree_loss_is_a_default_column_where_the_data_has_a_taxonomy(make_record):
    assert columns(make_record("pa", 0, r1=0.9, tree_loss=0.2)) == ["r1", "tree_loss"]
    assert columns(make_record("pa", 0, r1=0.9, tree_loss=None)) == ["r1"]
