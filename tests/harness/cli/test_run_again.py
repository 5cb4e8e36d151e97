"""`harness run` once more: what is done is not repeated, what failed is when asked for, more trials extend."""

import json
import tomllib
from dataclasses import replace

import pytest

from harness.record_lines import to_line

pytestmark = pytest.mark.usefixtures("nothing_left")


def test_failed_trials_run_again_when_asked_and_more_trials_extend(place):
    place.log.unlink(missing_ok=True)
    command = ("good,recovers", "--out", "extended", "--trials")
    place.run(*command, 1, code=1)
    first = place.records("extended")
    assert [(r.label, r.status) for r in first] == [("good", "ok"), ("recovers", "error")]

    place.log.write_text("")
    place.run(*command, 1, code=1)  # still failed: nobody asked to try again
    assert place.records("extended") == first

    done = place.run(*command, 1, "--retry-failed")
    assert "1 of 2 trials are done already" in done.stderr
    assert [(r.label, r.status) for r in place.records("extended")[2:]] == [("recovers", "ok")]
    assert "2 trials failed" not in done.stderr

    done = place.run(*command, 3)
    assert "2 of 6 trials are done already" in done.stderr
    assert sorted((r.label, r.seed) for r in place.records("extended")[3:]) == [
        ("good", 1),
        ("good", 2),
        ("recovers", 1),
        ("recovers", 2),
    ]


def test_finished_trials_of_another_folder_are_taken_over(place):
    place.log.unlink(missing_ok=True)
    place.run("good,recovers", "--trials", 2, "--out", "old", code=1)
    place.log.write_text("")
    more = ("--trials", 3, "--out", "new", "--reuse", "old")
    done = place.run("fine=good,recovers", *more)
    assert "2 finished trials taken from old" in done.stderr
    assert "4 trials to run" in done.stderr
    old = {r.key: r for r in place.records("old") if r.status == "ok"}
    new = {r.key: r for r in place.records("new")}
    assert len(new) == len(place.records("new")) == 6
    assert {new[key].started for key in old} == {record.started for record in old.values()}
    assert {new[key].label for key in old} == {"fine"}
    assert place.ranks("new").keys() == new.keys()
    assert "itself" in place.run("good", *more[:-1], "new", code=2).stderr


def test_what_is_taken_over_brings_its_machine_along(place):
    place.run("pa", "--trials", 1, "--out", "far")
    (record,) = place.records("far")
    far = place.folder / "far"
    (facts,) = json.loads((far / "machine.json").read_text()).values()
    (far / "machine.json").write_text(json.dumps({"another": {**facts, "id": "another"}}))
    (far / "records.jsonl").write_text(to_line(replace(record, machine="another")))
    place.run("pa", "--trials", 2, "--out", "near", "--reuse", "far")
    kept = json.loads((place.folder / "near" / "machine.json").read_text())
    assert kept.keys() == {"another", record.machine}
    assert [one.machine for one in place.records("near")] == ["another", record.machine]


def test_a_smaller_run_into_the_folder_leaves_its_grids_and_settings_as_they_were(place):
    place.run("pa", "--set", "pa.C=[0.1, 1]", "--tune", "pa.passes=[1, 2]", "--trials", 2, "--out", "kept/grid")
    file = place.folder / "kept" / "grid" / "experiment.toml"
    whole = tomllib.loads(file.read_text())
    assert (whole["name"], whole["set"], whole["tune"]) == (
        "grid",
        {"pa": {"C": [0.1, 1]}},
        {"params": {"pa": {"passes": [1, 2]}}},
    )

    done = place.run("pa", "--trials", 1, "--out", "kept/grid")
    assert "kept/grid holds more than this run: experiment.toml stays, this one is in experiment-2.toml" in done.stderr
    assert tomllib.loads(file.read_text()) == whole
    beside = tomllib.loads(file.with_name("experiment-2.toml").read_text())
    assert (beside["trials"], "set" in beside) == (1, False)

    place.run("pa", "--set", "pa.C=[0.1, 1]", "--tune", "pa.passes=[1, 2]", "--trials", 2, "--out", "kept/grid")
    place.run("pa", "--trials", 1, "--out", "kept/grid")
    assert sorted(path.name for path in file.parent.glob("*.toml")) == ["experiment-2.toml", "experiment.toml"]


def test_an_experiment_with_a_name_has_the_folder_of_that_name(place):
    place.run("pa", "--trials", 1, "--out", "results/named")
    done = place.run(None, "results/named/experiment.toml")
    assert "1 of 1 trial is done already in results/named" in done.stderr


def test_a_refused_value_is_found_before_anything_trains_and_leaves_no_folder(place):
    place.run("pa", "--trials", 1, "--out", "some")
    learners = "pa(C=[1, -1]),sklearn.linear_model:SGDClassifier(alpha=-1)"
    for out in ("none", "some"):
        told = place.run(learners, "--out", out, code=2).stderr
        assert "learner 'pa(C=-1)' refuses its parameters: C=-1: must be a finite number above 0; `harness expl" in told
        assert "learner 'SGDClassifier' refuses its parameters: The 'alpha' parameter" in told
    assert not (place.folder / "none").exists()
    assert len(place.records("some")) == 1


def test_options_that_stand_twice_add_up(place):
    words = ("--learners", "perceptron,ff", "--data", "digits", "--metrics", "r1", "--metrics", "r5", "--dry-run")
    lines = place.run("pa", "--trials", 1, *words).stdout.splitlines()
    planned = [line.split()[1:3] for line in lines[2:8]]
    datasets = sorted({dataset for _, dataset in planned})
    assert "digits" in datasets
    assert len(datasets) == 2
    assert sorted(planned) == sorted([name, dataset] for name in ("pa", "perceptron", "ff") for dataset in datasets)


STOPS = """
import os
import signal

from harness import MetricSpec, hookimpl


@hookimpl
def harness_metrics():
    return [MetricSpec(name="stops", compute="stops:stop")]


def stop(outcome):
    os.kill(os.getpid(), signal.SIGINT)
"""


def test_a_trial_done_under_another_label_and_without_a_metric_is_not_repeated(place, tmp_path):
    place.run("one=good", "--trials", 1, "--out", "labelled")
    (tmp_path / "stops.py").write_text(STOPS)
    stopped = ("--trials", 1, "--out", "labelled", "--metrics", "stops", "--plugins-dir", tmp_path)
    assert "interrupted: 1 of 1 trial is kept in labelled" in place.run("one=good", *stopped, code=130).stderr
    done = place.run("two=good", "--trials", 1, "--out", "labelled", "--metrics", "r1,mrr,predict_one")
    assert "1 of 1 trial is done already" in done.stderr
    computed, nothing_left = done.stderr.partition("nothing left to run")[:2]
    assert nothing_left
    assert "\nmrr: computed for 1 finished trial from saved ranks" in computed
    assert "warning: metric 'predict_one' times rows one at a time" in computed
    (row,) = [line.split() for line in done.stdout.splitlines() if line.startswith("two ")]
    assert (row[-1], 0 < float(row[-2]) <= 1) == ("-", True)
    assert "In none of the records: predict_one" in done.stdout
    assert "\none " not in done.stdout
