"""Tuning once: a first stage chooses the parameters of each learner, and the trials run with them."""

import pytest

import harness
from harness.errors import DataError
from internals import read_records
from messages import naming

FILES = ("records.jsonl", "tuning/records.jsonl")
TUNE = {"pa": {"C": [1e-6, 0.1]}, "once": 0.3}


def run(folder, **options):
    given = {"learners": "pa,ff", "data": "digits", "trials": 2, "tune": TUNE, "progress": False}
    return harness.run(out=folder, **(given | options))


def test_all_trials_have_the_parameters_that_the_first_stage_chose(tmp_path):
    results = run(tmp_path / "out")
    chosen = {record.label: record.tuned for record in read_records(tmp_path / "out" / "tuning")}
    assert chosen == {"pa": {"C": 0.1}, "ff": {}}
    own = [record for record in results.records if record.label == "pa"]
    assert [record.params["C"] for record in own] == [0.1, 0.1]
    assert [record.tuned for record in own] == [{}, {}]
    assert len(results.records) == 4
    assert len(results.lines()) == 2, "a row of the table for each learner"
    assert {str(record.split) for record in results.records} == {"holdout:0.2:reserve:0.3"}
    before = [(tmp_path / "out" / name).read_bytes() for name in FILES]
    run(tmp_path / "out")
    assert [(tmp_path / "out" / name).read_bytes() for name in FILES] == before, "the same command runs nothing again"


def test_a_representation_is_chosen_once_for_each_learner(tmp_path):
    rows = [(f"baker of {kind} bread {number}", "food") for number, kind in enumerate(["rye", "white"] * 30)]
    rows += [(f"driver of {kind} buses {number}", "transport") for number, kind in enumerate(["red", "late"] * 30)]
    texts, labels = zip(*rows, strict=True)
    tune = {"representation": ["words", "chars"], "once": 0.4}
    results = run(tmp_path / "out", learners="pa", data=(list(texts), list(labels)), tune=tune)
    (tuning,) = read_records(tmp_path / "out" / "tuning")
    assert {record.representation for record in results.records} == {tuning.tuned["representation"]}


def test_a_learner_whose_tuning_failed_has_no_trials_and_the_reason_is_stated(tmp_path):
    results = run(tmp_path / "out", learners="ff,pa", tune={"pa": {"passes": [10**9]}, "once": 0.3}, timeout=4)
    assert {record.label for record in results.records} == {"ff"}
    (line,) = (tmp_path / "out" / "incompatible.txt").read_text().splitlines()
    assert "'pa' has no trials on 'digits'" in line
    assert "timeout" in line


def test_a_learner_far_behind_everywhere_has_one_trial(tmp_path):
    results = run(tmp_path / "out", learners="pa,dummy", trials=3, tune={**TUNE, "far_behind": 0.1})
    trials = [record.label for record in results.records]
    assert (trials.count("pa"), trials.count("dummy")) == (3, 1)


def test_a_dataset_too_small_for_the_reserved_rows_is_named(tmp_path):
    with pytest.raises(DataError, match=naming("dataset", "tuning")):
        run(tmp_path / "out", data=(["a b", "c d", "a e", "c f"], ["x", "y"] * 2), learners="pa")
    assert not (tmp_path / "out" / "records.jsonl").exists()


def test_far_behind_needs_a_first_stage(tmp_path):
    with pytest.raises(harness.errors.SpecError, match=naming("far_behind", "once")):
        run(tmp_path / "out", tune={"pa": {"C": [0.1]}, "far_behind": 0.1})
