"""The pytest plugin: options that add the conformance suite to the tests of an author."""

import os
import subprocess
import sys

import pytest

SUITE = """
import sys

def test_nothing_is_imported():
    assert not {"harness", "numpy", "sklearn"} & set(sys.modules)
"""

RAISING = """class Raising:
    def fit(self, X, y):
        raise ValueError(42)

    def predict(self, X):
        return X
"""


@pytest.fixture
def run_pytest(tmp_path):
    (tmp_path / "test_own.py").write_text(SUITE)
    (tmp_path / "own_learner.py").write_text(RAISING)
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "HARNESS_STRICT_PLUGINS": ""}

    def run(*words):
        command = [sys.executable, "-m", "pytest", "-v", "-p", "no:cacheprovider", "--rootdir", tmp_path, *words]
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False, timeout=300
        )

    return run


def test_without_an_option_nothing_is_added_or_imported(run_pytest):
    ended = run_pytest()
    assert ended.returncode == 0, ended.stdout
    assert "1 passed" in ended.stdout


def test_the_checks_of_several_objects_are_tests(run_pytest):
    words = ("--harness-learner", "pa", "--harness-learner", "ooz(d=50)", "--harness-metric", "r7")
    ended = run_pytest("-k", "easy or pure", *words)
    assert ended.returncode == 0, ended.stdout
    for name in ("learner pa::learns_an_easy", "learner ooz(d=50)::learns_an_easy", "metric r7::is_pure"):
        assert f"harness {name}" in ended.stdout
    assert "3 passed" in ended.stdout


def test_a_failing_check_names_the_line_and_one_that_does_not_apply_is_skipped(run_pytest):
    ended = run_pytest("-k", "easy or labels", "--harness-learner", "own_learner:Raising")
    assert ended.returncode == 1
    assert "own_learner.py, line 3, in fit: raise ValueError(42)" in ended.stdout
    assert "1 failed, 2 skipped" in ended.stdout


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("--harness-learner", "paa"), "Did you mean pa"),
        (("--harness-metric", "pa"), "Use --harness-learner."),
        (("--harness-learner", "liblinear-l2"), "Use `harness check liblinear-l2`."),
    ],
)
def test_an_object_that_cannot_be_tested_ends_the_run_with_the_next_step(run_pytest, words, reason):
    ended = run_pytest(*words)
    assert ended.returncode == pytest.ExitCode.USAGE_ERROR
    assert reason in ended.stderr
