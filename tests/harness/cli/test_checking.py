"""`harness check`: the conformance suite by name, each check in a process of its own, with an exit code."""

import pytest

PLUGIN = """
from harness import DatasetSpec, LearnerSpec, MetricSpec, hookimpl

@hookimpl
def harness_learners():
    return [
        LearnerSpec(name="good", load="_checked:Good"),
        LearnerSpec(name="crashing", load="_checked:Crashing"),
        LearnerSpec(name="hanging", load="_checked:Hanging"),
    ]

@hookimpl
def harness_datasets():
    return [DatasetSpec(name="bare", load="_checked:load")]

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

class Hanging(Good):
    def fit(self, X, y):
        time.sleep(60)

def load():
    return Dataset(np.eye(4), np.arange(4) % 2, ("a", "b"))

def hits(outcome):
    return float((outcome.ranks[:, 0] == outcome.truth).mean()) if isinstance(outcome.truth, np.ndarray) else None
"""


@pytest.fixture
def check(harness, tmp_path):
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "to_check.py").write_text(PLUGIN)
    (folder / "_checked.py").write_text(CHECKED)
    return lambda *words: harness("check", *words, "--plugins-dir", folder)


def lines_of(ended):
    return [line.strip() for line in ended.stdout.splitlines()]


def test_a_good_learner_passes(check):
    ended = check("good")
    assert ended.returncode == 0, ended.stdout
    lines = lines_of(ended)
    assert lines[0].startswith("learner good (to_check.py ")
    assert "ok    names its parameters" in lines
    assert "n/a   tells its passes: fit takes no after_pass" in lines
    assert lines[-1] == "12 ok, 9 n/a"


def test_a_learner_without_a_plugin_can_be_checked(check):
    ended = check("_checked:Good")
    assert ended.returncode == 0, ended.stdout
    assert lines_of(ended)[0].startswith("learner _checked:Good (_checked.py ")


def test_a_learner_that_crashes_fails_check_by_check_and_the_suite_goes_on(check):
    ended = check("crashing")
    assert ended.returncode == 1
    lines = lines_of(ended)
    assert "ok    names its parameters" in lines
    assert any(
        line.startswith("FAIL  learns an easy problem: crash: the process ended with exit code 3") for line in lines
    )


def test_a_learner_that_hangs_is_stopped(check):
    ended = check("hanging", "--timeout", "200ms")
    assert ended.returncode == 1
    assert any(line.startswith("FAIL  takes an empty row: timeout: killed") for line in lines_of(ended))


def test_data_sets_and_metrics_can_be_checked(check):
    ended = check("bare")
    assert ended.returncode == 1
    assert lines_of(ended)[0].startswith("data set bare (")
    assert "FAIL  states licence and citation: no licence line: say under what terms the data may be used" in lines_of(
        ended
    )
    ended = check("upside-down")
    assert ended.returncode == 1
    assert [line[:28] for line in lines_of(ended) if line.startswith("FAIL")] == ["FAIL  prefers perfect ranks:"]
