"""A third-party plugin, installed by pip into a separate environment, works like a built-in one."""

import json
import subprocess
import sys
from importlib.metadata import entry_points


def harness(*words, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "harness", *words], capture_output=True, text=True, cwd=cwd, check=False
    )


def test_the_plugin_is_installed_by_pip():
    (point,) = [p for p in entry_points(group="harness") if p.name == "nearest-mean"]
    assert point.dist is not None
    assert point.dist.name == "harness-nearest-mean"


def test_the_learner_passes_the_checks_as_tests(tmp_path):
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--harness-learner", "nearest-mean"]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "14 passed" in ended.stdout


def test_it_is_listed_with_its_origin_and_parameters():
    rows = json.loads(harness("list", "learners", "--json").stdout)
    (row,) = [row for row in rows if row["name"] == "nearest-mean"]
    assert row["origin"] == "harness-nearest-mean 1.0"
    assert row["parameters"] == {"power": 1.0}


def test_harness_check_passes():
    ended = harness("check", "nearest-mean")
    assert ended.returncode == 0, ended.stdout + ended.stderr


def test_it_runs_next_to_a_built_in_learner(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path / "data"))
    command = ("run", "--learners", "pa,nearest-mean", "--datasets", "digits", "--set", "nearest-mean.power=0.5")
    ended = harness(*command, "--trials", "2", "--out", str(tmp_path / "out"))
    assert ended.returncode == 0, ended.stderr
    records = [json.loads(line) for line in (tmp_path / "out" / "records.jsonl").read_text().splitlines()]
    mine = [r for r in records if r["learner"] == "nearest-mean"]
    assert len(mine) == 2
    assert all(r["scores"]["r1"] > 0.8 and r["learner_version"] == "1.0" for r in mine)
    assert all(r["params"] == {"power": 0.5} for r in mine)


def test_a_misspelt_parameter_raises_an_error_before_any_trial():
    ended = harness("run", "--learners", "nearest-mean(pover=2)")
    assert ended.returncode == 2
    assert "Did you mean power?" in ended.stderr
