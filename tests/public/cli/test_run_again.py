"""`harness run` repeated: finished trials are skipped, failed ones retried on request, more trials added."""

import json
import tomllib
from dataclasses import replace

import pytest

from internals import to_line
from messages import NOTHING_TO_RUN, assert_names

pytestmark = pytest.mark.usefixtures("nothing_left")


def test_failed_trials_run_again_on_request_and_more_trials_are_added(workspace):
    workspace.log.unlink(missing_ok=True)
    command = ("good,recovers", "--out", "extended", "--trials")
    workspace.run(*command, 1, code=1)
    first = workspace.records("extended")
    assert [(r.label, r.status) for r in first] == [("good", "ok"), ("recovers", "error")]

    workspace.log.write_text("")
    workspace.run(*command, 1, code=1)  # still failed: no retry was requested
    assert workspace.records("extended") == first

    done = workspace.run(*command, 1, "--retry-failed")
    assert_names(done.stderr, "1", "2", "trials")
    assert [(r.label, r.status) for r in workspace.records("extended")[2:]] == [("recovers", "ok")]
    assert "2 trials failed" not in done.stderr

    done = workspace.run(*command, 3)
    assert_names(done.stderr, "2", "6", "trials")
    assert sorted((r.label, r.seed) for r in workspace.records("extended")[3:]) == [
        ("good", 1),
        ("good", 2),
        ("recovers", 1),
        ("recovers", 2),
    ]


def test_finished_trials_of_another_folder_are_reused(workspace):
    workspace.log.unlink(missing_ok=True)
    workspace.run("good,recovers", "--trials", 2, "--out", "old", code=1)
    workspace.log.write_text("")
    more = ("--trials", 3, "--out", "new", "--reuse", "old")
    done = workspace.run("fine=good,recovers", *more)
    assert_names(done.stderr, "2", "trials")
    assert "4 trials to run" in done.stderr
    old = {r.key: r for r in workspace.records("old") if r.status == "ok"}
    new = {r.key: r for r in workspace.records("new")}
    assert len(new) == len(workspace.records("new")) == 6
    assert {new[key].started for key in old} == {record.started for record in old.values()}
    assert {new[key].label for key in old} == {"fine"}
    assert workspace.ranks("new").keys() == new.keys()
    assert "itself" in workspace.run("good", *more[:-1], "new", code=2).stderr


def test_reused_trials_keep_their_machine(workspace):
    workspace.run("pa", "--trials", 1, "--out", "far")
    (record,) = workspace.records("far")
    far = workspace.folder / "far"
    (facts,) = json.loads((far / "machine.json").read_text()).values()
    (far / "machine.json").write_text(json.dumps({"another": {**facts, "id": "another"}}))
    (far / "records.jsonl").write_text(to_line(replace(record, machine="another")))
    workspace.run("pa", "--trials", 2, "--out", "near", "--reuse", "far")
    kept = json.loads((workspace.folder / "near" / "machine.json").read_text())
    assert kept.keys() == {"another", record.machine}
    assert [one.machine for one in workspace.records("near")] == ["another", record.machine]


def test_a_smaller_run_into_the_folder_keeps_its_grids_and_settings(workspace):
    workspace.run("pa", "--set", "pa.C=[0.1, 1]", "--tune", "pa.passes=[1, 2]", "--trials", 2, "--out", "kept/grid")
    file = workspace.folder / "kept" / "grid" / "experiment.toml"
    content = tomllib.loads(file.read_text())
    assert (content["name"], content["set"], content["tune"]) == (
        "grid",
        {"pa": {"C": [0.1, 1]}},
        {"params": {"pa": {"passes": [1, 2]}}},
    )

    done = workspace.run("pa", "--trials", 1, "--out", "kept/grid")
    assert_names(done.stderr, "kept/grid", "experiment.toml", "experiment-2.toml")
    assert tomllib.loads(file.read_text()) == content
    beside = tomllib.loads(file.with_name("experiment-2.toml").read_text())
    assert (beside["trials"], "set" in beside) == (1, False)

    workspace.run("pa", "--set", "pa.C=[0.1, 1]", "--tune", "pa.passes=[1, 2]", "--trials", 2, "--out", "kept/grid")
    workspace.run("pa", "--trials", 1, "--out", "kept/grid")
    assert sorted(path.name for path in file.parent.glob("*.toml")) == ["experiment-2.toml", "experiment.toml"]


def test_a_named_experiment_uses_the_folder_of_that_name(workspace):
    workspace.run("pa", "--trials", 1, "--out", "results/named")
    done = workspace.run(None, "results/named/experiment.toml")
    assert_names(done.stderr, "1", "results/named")


def test_a_rejected_value_is_found_before_training_and_leaves_no_folder(workspace):
    workspace.run("pa", "--trials", 1, "--out", "some")
    learners = "pa(C=[1, -1]),sklearn.linear_model:SGDClassifier(alpha=-1)"
    for out in ("none", "some"):
        message = workspace.run(learners, "--out", out, code=2).stderr
        assert_names(message, "pa(C=-1)", "0")
        assert_names(message, "SGDClassifier", "alpha")
    assert not (workspace.folder / "none").exists()
    assert len(workspace.records("some")) == 1


def test_repeated_options_are_combined(workspace):
    words = ("--learners", "perceptron,ff", "--data", "digits", "--metrics", "r1", "--metrics", "r5", "--dry-run")
    lines = workspace.run("pa", "--trials", 1, *words).stdout.splitlines()
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


def test_a_trial_finished_under_another_label_or_without_a_metric_is_not_repeated(workspace, tmp_path):
    workspace.run("one=good", "--trials", 1, "--out", "labelled")
    (tmp_path / "stops.py").write_text(STOPS)
    stopped = ("--trials", 1, "--out", "labelled", "--metrics", "stops", "--plugins-dir", tmp_path)
    assert_names(workspace.run("one=good", *stopped).stderr, "stops", "topics")
    done = workspace.run("two=good", "--trials", 1, "--out", "labelled", "--metrics", "r1,mrr,predict_one")
    assert_names(done.stderr, "1", "trial")
    computed, nothing_left = done.stderr.partition("nothing left to run")[:2]
    assert nothing_left
    assert_names(computed, "1", "trial", "ranks")
    assert_names(computed, "predict_one")
    (row,) = [line.split() for line in done.stdout.splitlines() if line.startswith("two ")]
    assert (row[-1], 0 < float(row[-2]) <= 1) == ("-", True)
    assert_names(done.stdout, "predict_one")
    assert "\none " not in done.stdout


def make_earlier(workspace, name):
    """Rewrite a results folder as if earlier code had made it; return its records and the present code."""
    records = workspace.records(name)
    earlier = [replace(one, key=f"{one.seed:020}", code="earlier", ranks_crc32="") for one in records]
    folder = workspace.folder / name
    (folder / "records.jsonl").write_text("".join(map(to_line, earlier)))
    return earlier, records[0].code


def state_same_code(workspace, name, record, code, **changed):
    statement = {
        "learner": record.learner,
        "representation": record.representation,
        "recorded": record.code,
        "present": code,
        "evidence": "a trial that ran again",
    }
    (workspace.folder / name / "same_code.json").write_text(json.dumps([statement | changed]))


def test_records_of_earlier_code_count_where_the_folder_states_that_both_give_the_same(workspace):
    command = ("pa", "--trials", 2, "--out", "stated")
    workspace.run(*command)
    earlier, present = make_earlier(workspace, "stated")
    state_same_code(workspace, "stated", earlier[0], present)
    done = workspace.run(*command)
    assert NOTHING_TO_RUN in done.stderr
    assert workspace.records("stated") == earlier, "records keep the code that made them"
    more = workspace.run("pa", "--trials", 3, "--out", "stated")
    assert_names(more.stderr, "1", "trial to run")
    assert [one.code for one in workspace.records("stated")] == ["earlier", "earlier", present]


@pytest.mark.parametrize("changed", [{"present": "other"}, {"representation": "chars"}, {"learner": "ooz"}])
def test_a_statement_about_other_code_or_another_representation_changes_nothing(workspace, changed):
    command = ("pa", "--trials", 1, "--out", "unstated-" + "".join(changed))
    workspace.run(*command)
    earlier, present = make_earlier(workspace, command[-1])
    state_same_code(workspace, command[-1], earlier[0], present, **changed)
    workspace.run(*command)
    assert [one.code for one in workspace.records(command[-1])] == ["earlier", present]


def test_a_malformed_file_of_statements_is_an_error_that_names_it(workspace):
    workspace.run("pa", "--trials", 1, "--out", "malformed")
    (workspace.folder / "malformed" / "same_code.json").write_text('[{"learner": "pa"}]')
    done = workspace.run("pa", "--trials", 1, "--out", "malformed", code=2)
    assert_names(done.stderr, "same_code.json")
