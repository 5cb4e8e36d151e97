"""Metrics of other plugins: computed in separate processes under a time limit, and only if their value is shown."""

from functools import partial

import pytest

from command import run_harness
from internals import read_records
from messages import assert_names

METRICS = """
import time

from harness import MetricSpec, hookimpl

def endless(outcome):
    while True:
        time.sleep(1)

def rows(outcome):
    return len(outcome.ranks)

@hookimpl
def harness_metrics():
    return [
        MetricSpec(name="endless", compute=f"{__name__}:endless", shown=False),
        MetricSpec(name="hidden_rows", compute=f"{__name__}:rows", shown=False),
        MetricSpec(name="rows", compute=f"{__name__}:rows", direction="lower"),
    ]
"""
WORDS = ("run", "--learners", "centroid", "--datasets", "digits", "--trials", "2", "--out", "out")


@pytest.fixture
def command(install, tmp_path):
    install("slow_metrics", METRICS)
    return partial(run_harness, cwd=tmp_path, env={"PYTHONPATH": str(tmp_path / "site")})


def test_a_hidden_metric_of_a_plugin_is_computed_on_request_only(command, tmp_path):
    ended = command(*WORDS)
    assert ended.returncode == 0, ended.stderr
    scores = read_records(tmp_path / "out")[0].scores
    assert scores["rows"] == 359
    assert scores.keys().isdisjoint({"endless", "hidden_rows"})
    assert "aurc" in scores  # a hidden metric of this project
    command(*WORDS[:-1], "shown", "--metrics", "r1,hidden_rows")
    assert read_records(tmp_path / "shown")[0].scores["hidden_rows"] == 359


def test_a_metric_that_never_ends_is_named_and_skipped_after_its_limit(command, tmp_path):
    ended = command(*WORDS, "--metrics", "r1,endless", "--timeout", "3s")
    assert ended.returncode == 0, ended.stderr
    records = read_records(tmp_path / "out")
    assert [(record.status, record.scores["endless"]) for record in records] == [("ok", None)] * 2
    (text,) = [line for line in ended.stderr.splitlines() if "endless" in line and "warning" in line]
    assert_names(text, "'endless'", "3 s", "--timeout")
    assert all("'endless'" in record.message for record in records)
