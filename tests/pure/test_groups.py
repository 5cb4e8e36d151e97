"""Lines: grouping of records, titles, and values."""

import subprocess
import sys

import pytest

from harness import MetricSpec
from internals import (
    USUAL_RATIO,
    CurvePoint,
    correction_ratio_of,
    expand_imports,
    flat_first,
    group_records,
    lines_by_dataset,
    pair_values,
    rank_learners,
)
from messages import assert_names

R1 = MetricSpec(name="r1", compute="a:b", title="R1")
TRAIN = MetricSpec(name="train", compute="a:b", direction="lower", unit="seconds")


@pytest.fixture
def run_of(make_record):
    """Return the trials of one learner with these values of R1."""

    def make(label, values, **fields):
        return [make_record(label, seed, r1=value, **fields) for seed, value in enumerate(values)]

    return make


def titles(records):
    return [(line.dataset, line.title) for line in group_records(records)]


# -- which records stand together ------------------------------------------------------------------------------------


def test_two_configurations_under_one_label_are_two_lines(run_of):
    records = [*run_of("pa", [0.9, 0.934], params={"C": 1}), *run_of("pa", [0.2, 0.2], params={"C": 100})]
    first, second = group_records(records)
    assert (first.title, first.summary("r1").mean) == ("pa [C=1]", pytest.approx(0.917))
    assert (second.title, second.summary("r1").mean) == ("pa [C=100]", 0.2)
    assert first.label == second.label == first.family == "pa"


def test_a_label_ambiguous_on_one_dataset_has_the_same_titles_on_all(run_of):
    records = [
        *run_of("pa", [0.9], params={"C": 1}),
        *run_of("pa", [0.2], params={"C": 100}),
        *run_of("pa", [0.8], params={"C": 1}, dataset="icd", fingerprint="beef"),
        *run_of("ooz", [0.8], dataset="icd", fingerprint="beef"),
    ]
    assert titles(records) == [
        ("digits", "pa [C=1]"),
        ("digits", "pa [C=100]"),
        ("icd", "pa [C=1]"),
        ("icd", "ooz"),
    ]


def test_parameters_that_differ_by_dataset_only_are_not_in_the_title(run_of):
    records = [
        *run_of("pa", [0.9], params={"C": 1}),
        *run_of("pa", [0.8], params={"C": 5}, dataset="icd", fingerprint="beef"),
    ]
    assert titles(records) == [("digits", "pa"), ("icd", "pa")]


def test_lines_follow_the_records_and_tables_put_flat_learners_first(run_of):
    records = [*run_of("lomtree", [0.5], learner_kind="tree"), *run_of("pa", [0.5]), *run_of("ooz", [0.5])]
    lines = group_records(records)
    assert [line.title for line in lines] == ["lomtree", "pa", "ooz"]
    assert [line.title for line in flat_first(lines)] == ["pa", "ooz", "lomtree"]


def test_trials_are_in_seed_order_and_the_last_of_duplicates_counts(make_record):
    records = [make_record("pa", 1, r1=0.1), make_record("pa", 0, r1=0.2), make_record("pa", 1, r1=0.3, depth=20)]
    (line,) = group_records(records)
    assert [record.seed for record in line.records] == [0, 1]
    assert line.values("r1") == {0: 0.2, 1: 0.3}


def test_a_random_state_is_a_parameter_only_if_fixed_by_the_user(run_of):
    (line,) = group_records(run_of("pa", [0.5, 0.6]))
    assert line.params == {}
    (line,) = group_records(run_of("pa", [0.5, 0.6], params={"random_state": 1}))
    assert line.params == {"random_state": 1}


def test_the_content_of_the_data_determines_competitors(run_of):
    records = [
        *run_of("a", [0.5]),
        *run_of("b", [0.5]),
        *run_of("a", [0.5], fingerprint="beef" * 16),
        *run_of("a", [0.5], split="kfold:5"),
    ]
    rivals = lines_by_dataset(group_records(records))
    assert [[line.title for line in lines] for lines in rivals.values()] == [["a", "b"], ["a"], ["a"]]


# -- content of a line -----------------------------------------------------------------------------------------------


def test_a_line_has_its_learner_and_data(run_of):
    fields = {"dataset": "made(seed=1)", "learner_kind": "tree", "params": {"C": 2}, "representation": "raw"}
    (line,) = group_records(run_of("pa(C=2)", [0.5], **fields))
    assert (line.label, line.family, line.kind, line.params) == ("pa(C=2)", "pa", "tree", {"C": 2})
    assert (line.dataset, line.dataset_family) == ("made(seed=1)", "made")
    assert line.preparation == "raw, holdout:0.1"
    assert_names(line.detail, "holdout:0.1", "900", "100")


@pytest.mark.parametrize("value", [None, float("nan"), float("inf")])
def test_values_are_the_finite_ones_of_finished_trials(make_record, value):
    records = [make_record("pa", 0, r1=0.5), make_record("pa", 1, r1=value), make_record("pa", 2, status="error")]
    (line,) = group_records(records)
    assert line.values("r1") == {0: 0.5}
    assert line.values("r5") == {}
    assert line.summary("r5") is None
    assert [record.seed for record in line.finished] == [0, 1]


def test_curve_points_are_those_of_all_finished_trials(make_record):
    points = [[{"passes": 1, "scores": {"r1": r1}}] for r1 in (0.1, 0.2, 0.3)]
    records = [make_record("pa", seed, curve=curve) for seed, curve in enumerate(points[:2])]
    records.append(make_record("pa", 2, status="crash", curve=points[2]))
    (line,) = group_records(records)
    assert line.curve_points == [CurvePoint(1, {"r1": 0.1}), CurvePoint(1, {"r1": 0.2})]


# -- lines that meet -------------------------------------------------------------------------------------------------


def test_values_are_paired_by_seed_and_signed_as_larger_is_better(make_record):
    records = [make_record("a", seed, r1=seed, train=seed) for seed in (0, 1, 2)]
    records += [make_record("b", seed, r1=5, train=5) for seed in (2, 1, 7)]
    first, second = group_records(records)
    assert pair_values(first, second, R1) == ([1, 2], [5, 5])
    assert pair_values(first, second, TRAIN) == ([-1, -2], [-5, -5])


def test_the_correction_ratio_comes_from_the_first_trial_with_numbers_of_rows(make_record):
    failed, silent = make_record("a", 0, status="error"), make_record("a", 1, n_train=None)
    assert correction_ratio_of(group_records([failed, silent, make_record("a", 2)])) == 1.3 * 100 / 900
    assert correction_ratio_of(group_records([make_record("a", 2, split="kfold:10")])) == 100 / 900
    assert correction_ratio_of(group_records([failed, silent])) == USUAL_RATIO


def test_ranks_separate_two_configurations_of_one_label(make_record):
    records = [
        make_record("pa", 0, r1=r1, params={"C": C}, dataset=dataset, fingerprint=dataset)
        for dataset in ("one", "two")
        for C, r1 in ((1, 0.9), (100, 0.2))
    ]
    assert rank_learners(group_records(records), R1).ranks == {"pa [C=1]": 1.0, "pa [C=100]": 2.0}


def test_names_of_choices_are_available_without_heavy_imports():
    code = """
        import sys
        from internals import FIGURE_KINDS, FILE_FORMATS, FORMATS, ROW_HEADINGS, SPREADS, TESTS
        heavy = {"matplotlib", "scipy", "pandas", "pydantic", "tabulate", "numpy"} & set(sys.modules)
        assert not heavy, heavy
    """
    lines = "\n".join(line.strip() for line in code.splitlines())
    subprocess.run([sys.executable, "-c", expand_imports(lines)], check=True)
