"""Tuning gives every learner the same chances, and a table names those that had fewer."""

import pytest

import harness
from harness.errors import SpecError
from messages import assert_names, naming
from small_titles import titles

ASKED = {"trials": 1, "progress": False}
WAYS = ["words", "chars", "hashed(bits=8)"]


def test_auto_tries_as_many_candidates_of_each_learner_on_every_representation(tmp_path):
    tune = {"auto": True, "representation": WAYS}
    results = harness.run(["pa", "svm", "complement-nb"], titles(), tune=tune, out=tmp_path / "out", **ASKED)
    assert len(results.records) == 3
    for record in results.records:
        tried = [candidate.params["representation"] for candidate in record.tuning]
        assert tried == WAYS * 4, record.label
        assert all(candidate.is_tried for candidate in record.tuning)
    assert "time limit" not in str(results.table())


def test_a_time_limit_leaves_every_representation_tried_and_is_a_footnote(tmp_path):
    tune = {"auto": True, "representation": WAYS, "time": "1ms"}
    results = harness.run("pa,dummy", titles(), tune=tune, out=tmp_path / "out", **ASKED)
    by_label = {record.label: record for record in results.records}
    tried = [one.params["representation"] for one in by_label["pa"].tuning if one.is_tried]
    assert tried[:3] == WAYS
    assert len(tried) < len(by_label["pa"].tuning) == 12
    assert all(one.is_tried for one in by_label["dummy"].tuning)  # it has the representations to choose from alone
    message = [line for line in results.table().footnotes if "time limit" in line]
    assert_names(message, "pa", f"{len(tried)} of 12 candidates")


def test_auto_is_a_word_and_a_trial_keeps_what_it_tried(tmp_path):
    results = harness.run("pa,dummy", titles(), tune="auto", out=tmp_path / "out", **ASKED)
    by_label = {record.label: record for record in results.records}
    assert [one.params["C"] for one in by_label["pa"].tuning] == [0.1, 0.01, 0.3, 1.0]
    assert by_label["dummy"].tuning == ()
    assert_names([line for line in results.table().footnotes if "Not tuned" in line], "dummy")
    again = harness.run(experiment=tmp_path / "out" / "experiment.toml", data=titles(), out=tmp_path / "again", **ASKED)
    assert {record.key for record in again.records} == {record.key for record in results.records}


def test_tune_is_auto_or_a_mapping():
    with pytest.raises(SpecError, match=naming("tune", "automatic", "auto")):
        harness.run("pa", titles(), tune="automatic", **ASKED)
