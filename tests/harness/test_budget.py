"""What is run where there is not time for all: the same rules for everybody, decided from records."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from experiments import LABELS, NAMES, ROWS
from harness import Dataset
from harness.api.giving_up import find_exhausted
from harness.budget import Budgeted, size_of
from harness.data.arrays import keep, read_header
from harness.data.checking import checked
from harness.errors import SpecError
from harness.experiment.budget_table import BudgetTable
from harness.experiment.building import build
from stored import RECORD

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


def run_all(budgeted, end, records=None):
    """What is run, in its order, where `end` says how a trial ends; and all records."""
    records, ran = dict(records or {}), []
    todo = [trial for trial in budgeted.trials if trial.key not in records]
    for group in budgeted.rounds(records, todo):
        exhausted = find_exhausted(group, budgeted.trials, records, budgeted.is_beyond)
        for trial in group:
            if trial.key in exhausted:
                one = exhausted[trial.key]
                records[trial.key] = replace(trial, status=one.status, message=one.tell(), total_seconds=None)
            else:
                records[trial.key] = end(trial)
                ran.append((trial.label, trial.dataset, trial.number))
    return ran, records


def test_the_first_trial_of_everybody_comes_before_the_second_of_any_and_small_data_first():
    ran, _ = run_all(Budgeted(TRIALS, SIZES, BudgetTable(trials=3)), record_of)
    assert len(ran) == len(TRIALS)
    assert [(number, data) for _, data, number in ran[:8:2]] == [(0, "other"), (0, "data"), (1, "other"), (1, "data")]


@pytest.mark.parametrize("status", ["timeout", "memory"])
def test_who_reached_a_limit_is_not_asked_again_there_nor_on_larger_data(status):
    budgeted = Budgeted(TRIALS, SIZES, BudgetTable(trials=3))
    ran, records = run_all(budgeted, lambda trial: record_of(trial, status if trial.label == "pa" else "ok"))
    assert [one for one in ran if one[0] == "pa"] == [("pa", "other", 0)]
    assert sum(label == "ooz" for label, _, _ in ran) == 6
    lacked = {"timeout": "time", "memory": "memory"}[status]
    assert records["padata0"].message == f"not run: out of {lacked} on other, which is smaller"
    assert records["paother1"].message == f"not run: out of {lacked} already"
    assert budgeted.tell_left_out(records) == []


def test_who_is_left_out_is_told_of_data_that_it_did_run_on():
    sizes = {"small": 1, "middle": 2, "large": 3}
    trials = [replace(RECORD, key=data, label="pa", dataset=data, number=0) for data in ("large", "middle", "small")]
    ran, records = run_all(Budgeted(trials, sizes, BudgetTable(trials=1)), lambda trial: record_of(trial, "timeout"))
    assert ran == [("pa", "small", 0)]
    assert {records[data].message for data in ("middle", "large")} == {
        "not run: out of time on small, which is smaller"
    }


def test_a_limit_on_large_data_says_nothing_of_smaller_and_an_error_nothing_at_all():
    def end(trial):
        return record_of(trial, {"data": "timeout", "other": "error"}[trial.dataset])

    ran, _ = run_all(Budgeted(TRIALS, SIZES, BudgetTable(trials=3)), end)
    assert sum(data == "other" for _, data, _ in ran) == 6
    assert sum(data == "data" for _, data, _ in ran) == 2


def test_more_trials_need_data_where_every_trial_was_quick():
    budgeted = Budgeted(TRIALS, SIZES, BudgetTable(trials=1, quick="10s"))
    slow = ("pa", "data")
    ran, _ = run_all(
        budgeted, lambda trial: record_of(trial, seconds=11.0 if (trial.label, trial.dataset) == slow else 9.0)
    )
    assert sum(data == "other" for _, data, _ in ran) == 6
    assert sum(data == "data" for _, data, _ in ran) == 2  # not for the quick learner either


def test_a_round_that_has_begun_is_run_whole_and_no_further_one_begins():
    budgeted = Budgeted(TRIALS, SIZES, BudgetTable(trials=3, hours=0.5))
    ran, records = run_all(budgeted, lambda trial: record_of(trial, seconds=1801.0))
    assert {(label, data) for label, data, _ in ran} == {("pa", "other"), ("ooz", "other")}
    assert all("the hours of the budget were spent" in line for line in budgeted.tell_left_out(records))


@given(data=st.data())
def test_a_run_that_was_interrupted_goes_on_as_if_it_had_not_been(data):
    ends = {trial.key: data.draw(st.sampled_from(["ok", "timeout", "error"])) for trial in TRIALS}
    budgeted = Budgeted(TRIALS, SIZES, BudgetTable(trials=2))
    _, records = run_all(budgeted, lambda trial: record_of(trial, ends[trial.key]))
    stop = data.draw(st.integers(0, len(records)))
    kept = dict(list(records.items())[:stop])
    assert run_all(budgeted, lambda trial: record_of(trial, ends[trial.key]), kept)[1] == records


def test_a_wrong_budget_is_told_by_table_and_key():
    with pytest.raises(SpecError, match=r"budget\.hours: expected more than 0"):
        build({"learners": "pa", "budget": {"trials": 3, "hours": 0}}, "mine.toml")
    with pytest.raises(SpecError, match=r"did you mean 'hours'"):
        build({"learners": "pa", "budget": {"trials": 3, "hour": 2}}, "mine.toml")


def size_of_kept(folder, **rows):
    keep(checked("data", Dataset(y=LABELS, class_names=NAMES, **rows)), folder)
    return size_of(read_header(folder))


def test_a_data_set_is_as_large_as_what_is_in_its_rows_times_classes(tmp_path):
    titles = size_of_kept(tmp_path / "titles", X=None, texts=["a title"] * 20)
    pages = size_of_kept(tmp_path / "pages", X=None, texts=["a page " * 50] * 20)
    assert titles == 20 * len("a title") * 4
    assert pages == 50 * titles
    assert size_of_kept(tmp_path / "values", X=csr_array(ROWS)) == ROWS.size * 4
