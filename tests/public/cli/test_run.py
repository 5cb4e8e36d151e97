"""`harness run`: what determines a result, and the contents of the results folder."""

import json
import textwrap
from pathlib import Path

import pytest

from internals import Plan, Record, build, show_plan
from messages import assert_names
from workspace import lasting

pytestmark = pytest.mark.usefixtures("nothing_left")


TWO = "good,chance"


@pytest.fixture(scope="module")
def plain(workspace):
    workspace.run(TWO, "--trials", 3, "--seed", 5, "--out", "plain")
    return {record.key: lasting(record) for record in workspace.records("plain")}, workspace.ranks("plain")


def test_the_same_seed_gives_the_same_records_elsewhere(workspace, plain):
    workspace.run(TWO, "--trials", 3, "--seed", 5, "--out", "plain-again")
    again = {record.key: lasting(record) for record in workspace.records("plain-again")}
    assert (again, workspace.ranks("plain-again")) == plain
    assert {record["seed"] for record in again.values()} == {5, 6, 7}
    assert all(record["params"]["random_state"] == record["seed"] for record in again.values())


def test_learner_order_and_concurrency_do_not_change_results(workspace, plain):
    workspace.run("chance,good", "--trials", 3, "--seed", 5, "--jobs", 2, "--out", "plain-at-once")
    records = {record.key: lasting(record) | {"jobs": 1} for record in workspace.records("plain-at-once")}
    assert (records, workspace.ranks("plain-at-once")) == plain
    assert {record.jobs for record in workspace.records("plain-at-once")} == {2}


def test_another_seed_gives_other_keys(workspace, plain):
    workspace.run(TWO, "--trials", 1, "--seed", 8, "--out", "plain-other")
    assert not {record.key for record in workspace.records("plain-other")} & plain[0].keys()


def test_one_thread_is_the_default_and_the_limit_is_enforced(workspace, plain):
    workspace.run("good,sklearn.naive_bayes:MultinomialNB", "--trials", 1, "--threads", 2, "--out", "threaded")
    for name, threads in (("plain", 1), ("threaded", 2)):
        for record in workspace.records(name):
            assert record.threads == threads
            assert record.threads_in_force
            assert set(record.threads_in_force.values()) == {threads}
    assert [record.label for record in workspace.records("threaded")] == ["good", "MultinomialNB"]


def test_labels_grids_and_parameters_by_dataset_are_in_the_records(workspace):
    (workspace.folder / "experiment.toml").write_text(
        textwrap.dedent(
            """
            name = "mine"
            trials = 1
            seed = 2
            split = "holdout:0.2"

            [[learners]]
            name = "good"
            label = "tried"
            params = { scale = [1.0, 2.0] }

            [[learners]]
            name = "good"
            label = "fixed"
            params = { scale = 3.0 }
            datasets = { digits = { scale = 4.0 } }

            [[datasets]]
            name = "topics"
            params = { rows = 120, classes = 5, features = 200 }
            representation = "tf"

            [[datasets]]
            name = "digits"
            representation = "raw"
            split = "holdout:0.5"
            """
        )
    )
    done = workspace.run(None, "experiment.toml", "--seed", 3, "--set", "tried@topics.scale=[5.0]")
    folder = workspace.folder / "results" / "mine"
    found = [
        (r.dataset, r.label, r.params["scale"], r.representation, str(r.split), r.seed)
        for r in workspace.records(folder.relative_to(workspace.folder))
    ]
    assert found == [
        ("topics", "tried(scale=5.0)", 5.0, "tf", "holdout:0.2", 3),
        ("topics", "fixed", 3.0, "tf", "holdout:0.2", 3),
        ("digits", "tried(scale=1.0)", 1.0, "raw", "holdout:0.5", 3),
        ("digits", "tried(scale=2.0)", 2.0, "raw", "holdout:0.5", 3),
        ("digits", "fixed", 4.0, "raw", "holdout:0.5", 3),
    ]
    assert str(folder.relative_to(workspace.folder)) in done.stderr


def test_a_dry_run_prints_the_plan_and_trains_nothing(workspace):
    workspace.log.unlink(missing_ok=True)
    limits = ("--timeout", "90s", "--memory", "2GB", "--jobs", 2)
    done = workspace.run("tells,fast=good(scale=2.0)", "--trials", 2, *limits, "--out", "dry", "--dry-run")
    assert not workspace.log.exists()
    assert not (workspace.folder / "dry").exists()
    assert done.stdout.count("tells ") == done.stdout.count("scale=2.0") == 2
    assert_names(done.stdout, "4", "2", "1", "90", "GB")


def test_a_dry_run_has_the_exit_code_of_a_run_with_an_incompatible_pair(capsys):
    experiment = build({"learners": "pa"}, "test")
    plans = [Plan(experiment, (), incompatible) for incompatible in ((), ("one cannot run",))]
    assert list(map(show_plan, plans)) == [0, 1]
    assert_names(capsys.readouterr().err, "one cannot run")


def test_the_saved_experiment_runs_again_with_the_same_keys(workspace, plain):
    workspace.run(None, workspace.folder / "plain" / "experiment.toml", "--out", "plain-from-file")
    assert {record.key for record in workspace.records("plain-from-file")} == plain[0].keys()


def test_a_results_folder_has_the_documented_files(workspace, plain):
    folder = workspace.folder / "plain"
    machines = json.loads((folder / "machine.json").read_text())
    assert {record.machine for record in workspace.records("plain")} == set(machines)
    assert {path.name for path in folder.iterdir()} == {
        "experiment.toml",
        "lock",
        "machine.json",
        "ranks",
        "records.jsonl",
    }
    assert all(isinstance(record, Record) for record in workspace.records("plain"))
    assert Path(folder / "ranks").is_dir()


def answer_of(done):
    """Return what a run prints before its first table."""
    before, found, _ = done.stdout.replace("\n\n", "\f").partition("learner  ")
    assert found
    return " ".join(before.split("\f")[0].split())


def test_the_answer_precedes_the_table(workspace):
    done = workspace.run(TWO, "--trials", 3, "--out", "answered")
    answer = answer_of(done)
    assert answer.startswith("Most accurate on topics")
    assert answer.count("within 1 point: good") == 2
    assert "good is best by R1" in answer or "The best mean R1 is that of good" in answer


def test_the_answer_for_many_datasets_has_two_sentences(workspace):
    data = "topics(rows=120,features=200,classes=[3,4,5,6])"
    answer = answer_of(workspace.run(TWO, "--trials", 1, "--out", "many", data=data))
    assert answer.startswith("Best mean R1 on 4 datasets: good (4)")
    assert answer.endswith(". No dataset has a verdict, for the reasons below the table.")


def test_a_failed_learner_is_not_in_the_answer(workspace):
    answer = answer_of(workspace.run("good,chance,raises", "--trials", 1, "--out", "answered-failed", code=1))
    assert answer.startswith("Most accurate on topics")
    assert "raises" not in answer


def test_a_learner_alone_has_no_answer(workspace):
    assert answer_of(workspace.run("good", "--trials", 1, "--out", "answered-alone")).startswith("topics")
