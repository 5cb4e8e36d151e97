"""Selection of trials under a time budget: the same rules for every learner, decided from records."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from experiments import LABELS, NAMES, ROWS
from harness import Dataset
from harness.errors import SpecError
from internals import BudgetTable, Limits, build, checked, keep, read_header, size_of
from messages import assert_names, naming
from results_folders import RECORD

SIZES = {"data": 100, "other": 50}
TRIALS = [
    replace(RECORD, key=f"{label}{data}{number}", label=label, dataset=data, number=number)
    for data in SIZES
    for number in range(3)
    for label in ("pa", "ooz")
]
"""By their names, which are all that a budget looks at, and which a record has too."""


def record_of(trial, status="ok", seconds=1.0):
    return replace(trial, status=status, total_seconds=seconds)


def run_all(limits, end, records=None):
    """Return the executed trials in order, where `end` gives each trial's status, and all records."""
    records, ran = dict(records or {}), []
    todo = [trial for trial in limits.trials if trial.key not in records]
    for round_ in limits.rounds(todo, records):
        for one in round_.skipped:
            records[one.trial.key] = replace(one.trial, status=one.status, message=one.reason, total_seconds=None)
        for trial in round_.trials:
            records[trial.key] = end(trial)
            ran.append((trial.label, trial.dataset, trial.number))
    return ran, records


def test_first_trials_of_all_learners_come_before_second_ones_and_small_data_first():
    ran, _ = run_all(Limits(TRIALS, SIZES, BudgetTable(trials=3)), record_of)
    assert len(ran) == len(TRIALS)
    assert [(number, data) for _, data, number in ran[:8:2]] == [(0, "other"), (0, "data"), (1, "other"), (1, "data")]


@pytest.mark.parametrize("status", ["timeout", "memory"])
def test_a_learner_that_reached_a_limit_is_skipped_there_and_on_larger_data(status):
    limits = Limits(TRIALS, SIZES, BudgetTable(trials=3))
    ran, records = run_all(limits, lambda trial: record_of(trial, status if trial.label == "pa" else "ok"))
    assert [one for one in ran if one[0] == "pa"] == [("pa", "other", 0)]
    assert sum(label == "ooz" for label, _, _ in ran) == 6
    lacked = {"timeout": "time", "memory": "memory"}[status]
    assert_names(records["padata0"].message, f"{lacked}")
    assert_names(records["paother1"].message, f"{lacked}")
    assert limits.describe_unrun(records) == []


def test_a_skipped_learner_is_reported_with_the_data_that_it_ran_on():
    sizes = {"small": 1, "middle": 2, "large": 3}
    trials = [replace(RECORD, key=data, label="pa", dataset=data, number=0) for data in ("large", "middle", "small")]
    ran, records = run_all(Limits(trials, sizes, BudgetTable(trials=1)), lambda trial: record_of(trial, "timeout"))
    assert ran == [("pa", "small", 0)]
    assert {records[data].message for data in ("middle", "large")} == {
        "not run: out of time on small, which is smaller"
    }


def test_a_limit_on_large_data_does_not_affect_smaller_data_and_errors_affect_nothing():
    def end(trial):
        return record_of(trial, {"data": "timeout", "other": "error"}[trial.dataset])

    ran, _ = run_all(Limits(TRIALS, SIZES, BudgetTable(trials=3)), end)
    assert sum(data == "other" for _, data, _ in ran) == 6
    assert sum(data == "data" for _, data, _ in ran) == 2


def test_further_trials_run_on_data_where_every_trial_was_fast():
    limits = Limits(TRIALS, SIZES, BudgetTable(trials=1, quick="10s"))
    slow = ("pa", "data")
    ran, _ = run_all(
        limits, lambda trial: record_of(trial, seconds=11.0 if (trial.label, trial.dataset) == slow else 9.0)
    )
    assert sum(data == "other" for _, data, _ in ran) == 6
    assert sum(data == "data" for _, data, _ in ran) == 2  # not for the quick learner either


def test_a_started_round_is_completed_and_no_further_one_starts():
    limits = Limits(TRIALS, SIZES, BudgetTable(trials=3, hours=0.5))
    ran, records = run_all(limits, lambda trial: record_of(trial, seconds=1801.0))
    assert {(label, data) for label, data, _ in ran} == {("pa", "other"), ("ooz", "other")}
    assert all("the hours of the budget were spent" in line for line in limits.describe_unrun(records))


@given(data=st.data())
def test_an_interrupted_run_resumes_as_if_uninterrupted(data):
    ends = {trial.key: data.draw(st.sampled_from(["ok", "timeout", "error"])) for trial in TRIALS}
    limits = Limits(TRIALS, SIZES, BudgetTable(trials=2))
    _, records = run_all(limits, lambda trial: record_of(trial, ends[trial.key]))
    stop = data.draw(st.integers(0, len(records)))
    kept = dict(list(records.items())[:stop])
    assert run_all(limits, lambda trial: record_of(trial, ends[trial.key]), kept)[1] == records


def test_an_invalid_budget_raises_an_error_with_table_and_key():
    with pytest.raises(SpecError, match=naming("budget.hours", "0")):
        build({"learners": "pa", "budget": {"trials": 3, "hours": 0}}, "mine.toml")
    with pytest.raises(SpecError, match=naming("hours")):
        build({"learners": "pa", "budget": {"trials": 3, "hour": 2}}, "mine.toml")


def size_of_kept(folder, **rows):
    keep(checked("data", Dataset(y=LABELS, class_names=NAMES, **rows)), folder)
    return size_of(read_header(folder))


def test_the_size_of_a_dataset_is_its_values_times_classes(tmp_path):
    titles = size_of_kept(tmp_path / "titles", X=None, texts=["a title"] * 20)
    pages = size_of_kept(tmp_path / "pages", X=None, texts=["a page " * 50] * 20)
    assert titles == 20 * len("a title") * 4
    assert pages == 50 * titles
    assert size_of_kept(tmp_path / "values", X=csr_array(ROWS)) == ROWS.size * 4
