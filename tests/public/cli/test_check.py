"""`harness check`: the conformance suite by name, each check in a separate process, with an exit code."""

import json

import pytest

PLUGIN = """
from harness import DatasetSpec, LearnerSpec, MetricSpec, hookimpl

@hookimpl
def harness_learners():
    return [
        LearnerSpec(name="good", load="_checked:Good"),
        LearnerSpec(name="crashing", load="_checked:Crashing"),
        LearnerSpec(name="hanging", load="_checked:Hanging"),
        LearnerSpec(name="raising", load="_checked:Raising"),
    ]

@hookimpl
def harness_datasets():
    return [
        DatasetSpec(name="bare", load="_checked:load"),
        DatasetSpec(name="stamped", load="_checked:load_rows", stamp="_checked:stamp", licence="none", citation="none"),
    ]

@hookimpl
def harness_metrics():
    return [MetricSpec(name="upside-down", compute="_checked:hits", direction="lower")]
"""
CHECKED = """
import os
import time

import numpy as np

from harness import Dataset

class Good:
    def __init__(self, *, sizes=(1, 2)):
        self.sizes = sizes

    def get_params(self, deep=True):
        return {"sizes": self.sizes}

    def set_params(self, **params):
        return self

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.sums_ = np.stack([np.asarray(X[y == c].sum(axis=0)) for c in self.classes_])

    def decision_function(self, X):
        return X @ self.sums_.T

    def predict(self, X):
        return self.classes_[self.decision_function(X).argmax(axis=1)]

class Crashing(Good):
    def fit(self, X, y):
        os._exit(3)

class Raising(Good):
    def fit(self, X, y):
        print("about to give up")
        give_up(X.shape[0])

def give_up(rows):
    raise ValueError(f"no, not with {rows} rows")

class Hanging(Good):
    def fit(self, X, y):
        time.sleep(60)

def load():
    return Dataset(np.eye(4), np.arange(4) % 2, ("a", "b"))

def load_rows(*, rows=4):
    return Dataset(np.eye(rows), np.arange(rows) % 2, ("a", "b"))

def stamp(rows):
    return f"{rows} rows"

def hits(outcome):
    return float((outcome.ranks[:, 0] == outcome.truth).mean()) if isinstance(outcome.truth, np.ndarray) else None
"""


@pytest.fixture
def check(harness, tmp_path):
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "to_check.py").write_text(PLUGIN)
    (folder / "_checked.py").write_text(CHECKED)
    return lambda *words: harness("check", *words, "--plugins-dir", folder, env={"COLUMNS": "80"})


def lines_of(ended):
    return [line.strip() for line in ended.stdout.splitlines()]


def failed_in(ended):
    """Return the reason of each failing check, by name."""
    checks = json.loads(ended.stdout)["checks"]
    return {found["check"]: found["reason"] for found in checks if found["result"] == "FAIL"}


def test_a_good_learner_passes(check):
    ended = check("good")
    assert ended.returncode == 0, ended.stdout
    lines = lines_of(ended)
    assert lines[0].startswith("learner good (to_check.py ")
    assert lines[2].split() == ["result", "check", "what", "and", "why"]
    assert "ok     names its parameters        The declared parameters and defaults equal" in lines
    place = next(i for i, line in enumerate(lines) if line.startswith("n/a    reports each pass           `fit` calls"))
    assert "fit takes no after_pass" in lines[place : place + 4]
    assert lines[-1] == "12 ok, 10 n/a"
    assert max(map(len, ended.stdout.splitlines()[1:])) <= 80


def test_json_has_the_purpose_of_each_check_and_the_line_of_a_failing_one(check):
    ended = check("upside-down", "--json")
    assert ended.returncode == 1
    report = json.loads(ended.stdout)
    assert (report["kind"], report["name"]) == ("metric", "upside-down")
    assert all(found["why"] for found in report["checks"])
    (failed,) = [found for found in report["checks"] if found["result"] == "FAIL"]
    assert failed["check"] == "prefers_perfect_ranks"
    (line,) = [i for i, text in enumerate(CHECKED.splitlines(), 1) if text.startswith("def hits(")]
    assert failed["where"] == f"_checked.py, line {line}, in hits"
    assert check("good", "--json").returncode == 0


def test_a_learner_without_a_plugin_can_be_checked(check):
    ended = check("_checked:Good")
    assert ended.returncode == 0, ended.stdout
    assert lines_of(ended)[0].startswith("learner _checked:Good (_checked.py ")


def test_one_cause_is_one_failure_and_its_consequences_are_named(check):
    ended = check("raising")
    assert ended.returncode == 1
    lines = lines_of(ended)
    place = lines.index("ValueError: no, not with 240 rows")
    below = " ".join(lines[place + 1 : place + 3])
    assert below.startswith("_checked.py, line ")
    assert below.endswith(', in give_up: raise ValueError(f"no, not with {rows} rows")')
    assert lines[place + 3 : place + 5] == ["output:", "| about to give up"]
    assert "same reason as 'ranks in the required shape'" in lines
    assert len([line for line in lines if line.startswith("FAIL")]) == 1
    assert lines[-1] == "2 ok, 1 FAIL, 13 hence, 6 n/a"
    assert "Traceback" not in ended.stdout
    report = check("raising", "--debug").stdout
    assert report.count("| Traceback (most recent call last):") == 1
    assert "in check_ranks_in_the_required_shape" in report


def test_a_rejected_value_is_one_cause_with_mapped_data_too(check):
    message = "ValueError: C=-1: must be a finite number above 0"
    assert failed_in(check("pa(C=-1)", "--json")) == {"ranks_in_the_required_shape": message}


def test_a_crashing_learner_fails_and_the_suite_continues(check):
    ended = check("crashing", "--json")
    assert ended.returncode == 1
    checks = json.loads(ended.stdout)["checks"]
    assert checks[0]["result"] == "ok"
    (failed,) = [found for found in checks if found["result"] == "FAIL"]
    assert failed["reason"].startswith("crash: the process ended with exit code 3")
    assert failed["where"].startswith("_checked.py, line ")  # no traceback: the class


def test_a_hanging_learner_is_stopped_and_ends_the_suite(check):
    ended = check("hanging", "--timeout", "200ms", "--json")
    assert ended.returncode == 1
    (reason,) = failed_in(ended).values()
    assert reason.startswith("timeout: killed")
    ended = check("good", "--within", "1ms", "--json")
    assert ended.returncode == 1
    (late,) = failed_in(ended).values()
    assert late == "not run: earlier checks took more than 0.001 s"
    assert any(found["follows"] for found in json.loads(ended.stdout)["checks"])


def test_expressions_are_checked_with_their_parameters(check):
    ended = check("pa(C=-1)")
    assert ended.returncode == 1
    assert any("C=-1: must be a finite number above 0" in line for line in lines_of(ended))
    assert lines_of(ended)[0].startswith("learner pa(C=-1) (")
    assert check("pa(C=[1, 2])").returncode == 2
    assert check("stamped(rows=6)").returncode == 0
    assert check("r7").returncode == 0


def test_datasets_and_metrics_can_be_checked(check):
    ended = check("bare")
    assert ended.returncode == 1
    assert lines_of(ended)[0].startswith("dataset bare (")
    assert "no licence: state the terms of use" in lines_of(ended)
