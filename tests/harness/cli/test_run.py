"""`harness run`: what decides a result and what does not, and what arrives in the results folder."""

import json
import textwrap
from pathlib import Path

import pytest

from harness.api import Plan
from harness.cli.run import show_plan
from harness.experiment.building import build
from harness.record import Record
from place import lasting

pytestmark = pytest.mark.usefixtures("nothing_left")


TWO = "good,chance"


@pytest.fixture(scope="module")
def plain(place):
    place.run(TWO, "--trials", 3, "--seed", 5, "--out", "plain")
    return {record.key: lasting(record) for record in place.records("plain")}, place.ranks("plain")


def test_the_same_seed_gives_the_same_records_elsewhere(place, plain):
    place.run(TWO, "--trials", 3, "--seed", 5, "--out", "plain-again")
    again = {record.key: lasting(record) for record in place.records("plain-again")}
    assert (again, place.ranks("plain-again")) == plain
    assert {record["seed"] for record in again.values()} == {5, 6, 7}
    assert all(record["params"]["random_state"] == record["seed"] for record in again.values())


def test_neither_the_order_of_learners_nor_trials_at_once_decide_a_result(place, plain):
    place.run("chance,good", "--trials", 3, "--seed", 5, "--jobs", 2, "--out", "plain-at-once")
    records = {record.key: lasting(record) | {"jobs": 1} for record in place.records("plain-at-once")}
    assert (records, place.ranks("plain-at-once")) == plain
    assert {record.jobs for record in place.records("plain-at-once")} == {2}


def test_another_seed_gives_other_keys(place, plain):
    place.run(TWO, "--trials", 1, "--seed", 8, "--out", "plain-other")
    assert not {record.key for record in place.records("plain-other")} & plain[0].keys()


def test_threads_are_one_unless_asked_for_and_in_force(place, plain):
    place.run("good,sklearn.naive_bayes:MultinomialNB", "--trials", 1, "--threads", 2, "--out", "threaded")
    for name, threads in (("plain", 1), ("threaded", 2)):
        for record in place.records(name):
            assert record.threads == threads
            assert record.threads_in_force
            assert set(record.threads_in_force.values()) == {threads}
    assert [record.label for record in place.records("threaded")] == ["good", "MultinomialNB"]


def test_labels_grids_and_parameters_by_data_set_arrive_in_the_records(place):
    (place.folder / "experiment.toml").write_text(
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
    done = place.run(None, "experiment.toml", "--seed", 3, "--set", "tried@topics.scale=[5.0]")
    folder = place.folder / "results" / "mine"
    found = [
        (r.dataset, r.label, r.params["scale"], r.representation, str(r.split), r.seed)
        for r in place.records(folder.relative_to(place.folder))
    ]
    assert found == [
        ("topics", "tried(scale=5.0)", 5.0, "tf", "holdout:0.2", 3),
        ("topics", "fixed", 3.0, "tf", "holdout:0.2", 3),
        ("digits", "tried(scale=1.0)", 1.0, "raw", "holdout:0.5", 3),
        ("digits", "tried(scale=2.0)", 2.0, "raw", "holdout:0.5", 3),
        ("digits", "fixed", 4.0, "raw", "holdout:0.5", 3),
    ]
    assert str(folder.relative_to(place.folder)) in done.stderr


def test_a_dry_run_prints_the_plan_and_trains_nothing(place):
    place.log.unlink(missing_ok=True)
    limits = ("--timeout", "90s", "--memory", "2GB", "--jobs", 2)
    done = place.run("tells,fast=good(scale=2.0)", "--trials", 2, *limits, "--out", "dry", "--dry-run")
    assert not place.log.exists()
    assert not (place.folder / "dry").exists()
    assert done.stdout.count("tells ") == done.stdout.count("scale=2.0") == 2
    assert "4 trials, 2 at once, 1 thread each; time limit 90 s, memory limit 2 GB" in done.stdout


def test_a_dry_run_ends_with_the_code_of_a_run_that_leaves_out_a_pair(capsys):
    experiment = build({"learners": "pa"}, "test")
    plans = [Plan(experiment, (), incompatible) for incompatible in ((), ("one cannot run",))]
    assert list(map(show_plan, plans)) == [0, 1]
    assert capsys.readouterr().err == "warning: one cannot run\n"


def test_the_experiment_as_kept_runs_again_to_the_same_keys(place, plain):
    place.run(None, place.folder / "plain" / "experiment.toml", "--out", "plain-from-file")
    assert {record.key for record in place.records("plain-from-file")} == plain[0].keys()


def test_a_results_folder_has_what_it_promises(place, plain):
    folder = place.folder / "plain"
    machines = json.loads((folder / "machine.json").read_text())
    assert {record.machine for record in place.records("plain")} == set(machines)
    assert {path.name for path in folder.iterdir()} == {
        "experiment.toml",
        "lock",
        "machine.json",
        "ranks",
        "records.jsonl",
    }
    assert all(isinstance(record, Record) for record in place.records("plain"))
    assert Path(folder / "ranks").is_dir()
