"""`harness table`: tables from stored records of one folder or several, without training."""

import csv
import io
import json
import subprocess
import sys

import pytest

from internals import Machine, open_store
from messages import assert_names

MACHINE = Machine("m1", "Fast", 8)
OTHER = Machine("m2", "Slow", 2)


@pytest.fixture
def stored(tmp_path, make_record):
    """Store three trials of a learner in a results folder."""

    def keep(folder, label, r1, machine=MACHINE, incompatible=(), **fields):
        with open_store(tmp_path / folder) as store:
            store.describe("learners = 'pa'\n", machine, incompatible)
            for seed in range(3):
                scores = {"r1": r1, "r5": r1 + 0.05, "train": 2.0, "predict": 1e-5, "index": None, "peak": 5e8}
                store.append(make_record(label, seed, machine=machine.id, **scores, **fields))
        return tmp_path / folder

    return keep


def rows_of(ended):
    assert ended.returncode == 0, ended.stderr
    return list(csv.DictReader(io.StringIO(ended.stdout)))


def test_the_table_is_made_from_stored_records(harness, stored):
    ended = harness("table", stored("one", "pa", 0.9))
    assert ended.returncode == 0
    lines = ended.stdout.splitlines()
    assert lines[2].split() == ["learner", "kind", "trials", "R1", "R5", "train", "per", "prediction"]
    assert lines[4].startswith("pa         flat    3         0.900 ± 0.000")
    assert "Measured on Fast, 8 cores (m1), 1 thread." in lines


def test_columns_are_the_requested_ones_in_order(harness, stored):
    ended = harness("table", stored("one", "pa", 0.9), "--format", "csv", "--metrics", "peak,r1")
    assert [name for name in rows_of(ended)[0] if "_" not in name][5:] == ["peak", "r1"]


@pytest.mark.parametrize(
    ("form", "begins"),
    [
        ("terminal", "digits  ("),
        ("markdown", "### digits"),
        ("latex", "% Mean"),
        ("csv", "group,detail"),
        ("json", "{"),
        ("html", "<!doctype html>"),
    ],
)
def test_every_format_is_printed_without_other_output(harness, stored, form, begins):
    ended = harness("table", stored("one", "pa", 0.9), "--format", form)
    assert ended.returncode == 0
    assert ended.stdout.startswith(begins)
    assert ended.stderr == ""


def test_several_folders_are_joined_into_one_table(harness, stored):
    folders = [stored("one", "pa", 0.9), stored("two", "ooz", 0.8), stored("three", "pa", 0.9)]
    rows = rows_of(harness("table", *folders, "--format", "csv"))
    assert [(row["learner"], row["trials"]) for row in rows] == [("pa", "3"), ("ooz", "3")]


def test_rows_may_be_datasets_and_a_footnote_names_incompatible_pairs(harness, stored):
    message = [f"learner {name!r} cannot run on dataset 'digits': it has no taxonomy" for name in ("x", "y")]
    folders = [
        stored("one", "pa", 0.9, incompatible=message[:1]),
        stored("two", "pa", 0.7, incompatible=message, dataset="icd10cm", fingerprint="beef"),
    ]
    content = json.loads(harness("table", *folders, "--by", "learner", "--format", "json").stdout)
    (group,) = content["groups"]
    assert group["title"] == "pa"
    assert [row["dataset"] for row in group["rows"]] == ["digits", "icd10cm"]
    assert content["footnotes"][-2:] == message


def test_times_of_two_machines_are_shown_with_a_flag_only(harness, stored):
    folders = [stored("one", "pa", 0.9), stored("two", "ooz", 0.8, machine=OTHER)]
    without, shown = harness("table", *folders), harness("table", *folders, "--mixed-machines")
    assert "train" not in without.stdout.splitlines()[2]
    assert "--mixed-machines" in without.stdout
    assert "Slow, 2 cores (m2), 1 thread" in without.stdout
    assert "train" in shown.stdout.splitlines()[2]
    assert_names(shown.stdout, "TIMES", "ARE", "NOT", "COMPARABLE")


def test_a_damaged_line_is_named_and_ignored(harness, stored):
    folder = stored("one", "pa", 0.9)
    with open(folder / "records.jsonl", "a") as file:
        file.write("rubbish\n")
    ended = harness("table", folder, "--format", "csv")
    assert rows_of(ended)[0]["trials"] == "3"
    assert "warning: " in ended.stderr
    assert "line 4" in ended.stderr


def test_a_closed_pipe_causes_no_error_message(stored):
    command = [sys.executable, "-m", "harness", "table", str(stored("one", "pa", 0.9)), "--format", "html"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert process.stderr.read() == ""


def test_an_unknown_metric_and_an_empty_folder_are_rejected(harness, stored, tmp_path):
    ended = harness("table", stored("one", "pa", 0.9), "--metrics", "r1,trian")
    assert (ended.returncode, "Did you mean train" in ended.stderr) == (2, True)
    with open_store(tmp_path / "empty"):
        pass
    ended = harness("table", tmp_path / "empty")
    assert (ended.returncode, "no records" in ended.stderr) == (2, True)
