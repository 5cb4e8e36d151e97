"""`harness run --data FILE` and `harness check FILE`, as a user would."""

import subprocess
import sys

import pytest

from harness.api import Request, RunOptions, Session, run_request
from harness.errors import DataError
from harness.executors.local import LocalExecutor
from harness.progress import Silence
from harness.store import read_records

TITLES = "title,category\n" + "".join(f"w{i % 4} w{i % 7} of{i % 4},c{i % 4}\n" for i in range(80))


LEARNER = "sklearn.naive_bayes:MultinomialNB"
"""One that has nothing to compile."""


def harness(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "harness", *arguments], capture_output=True, text=True, check=False, timeout=300
    )


def test_a_file_and_parts_of_it_run_under_their_own_names(write, folder):
    write("jobs.csv", TITLES.replace("title,category", "one,two"))
    command = ("run", "--learners", LEARNER, "--trials", "1", "--out", "out", "--split", "stratified:0.25")
    columns = ("--set", "jobs.text='one'", "--set", "jobs.label='two'")
    ended = harness(*command, *columns, "--data", "jobs.csv,subsample(jobs.csv(text=one, label=two), classes=[2,3])")
    assert ended.returncode == 0, ended.stderr
    assert "jobs: 80 rows of jobs.csv (CSV), text from 'one', label from 'two', 4 classes" in ended.stderr
    found = {r.dataset: (r.n_train, r.n_test, r.n_classes) for r in read_records(folder / "out")}
    assert found == {
        "jobs": (60, 20, 4),
        "subsample(jobs, classes=2)": (30, 10, 2),
        "subsample(jobs, classes=3)": (45, 15, 3),
    }


def test_a_file_with_columns_of_other_names_says_what_to_set(write):
    write("jobs.csv", TITLES.replace("title,category", "one,two"))
    ended = harness("run", "--learners", LEARNER, "--data", "jobs.csv")
    assert ended.returncode == 2
    assert "--set \"jobs.text='COLUMN'\" --set \"jobs.label='COLUMN'\"" in ended.stderr


class Watched(LocalExecutor):
    """The real executor; what it was to import ahead is kept."""

    preloaded = ()

    def prepare(self, workplace, on_slow=None):
        self.preloaded += tuple(workplace.preload)
        super().prepare(workplace, on_slow)


def test_columns_are_asked_about_before_a_kernel_is_imported(write):
    write("jobs.csv", TITLES.replace("title,category", "one,two"))
    asked = Request(given={"learners": ["pa"], "datasets": ["jobs.csv"]})
    with Watched() as executor:
        with pytest.raises(DataError, match="which column holds the text"):
            run_request(asked, RunOptions(), Session(), executor, Silence())
        assert executor.preloaded == ()


def test_a_split_by_a_column_runs_and_texts_in_both_parts_are_told(write, folder):
    rows = "".join(f"w{i % 4} w{i % 7},c{i % 4},shop{i % 10}\n" for i in range(80))
    write("titles.csv", "title,category,shop\n" + rows)
    command = ("run", "--learners", LEARNER, "--trials", "1", "--data", "titles.csv(group=shop)")
    ended = harness(*command, "--split", "grouped:shop:0.2", "--out", "out")
    assert ended.returncode == 0, ended.stderr
    assert "warning: titles: 16 of 16 test rows (100.0%) have a text that is also in training (seed 0)" in ended.stderr
    (record,) = read_records(folder / "out")
    assert (str(record.split), record.n_train, record.n_test) == ("grouped:shop:0.2", 64, 16)
    apart = harness(*command, "--split", "grouped:text:0.25", "--out", "apart")
    assert "also in training" not in apart.stderr


def test_a_file_can_be_checked_like_any_data_set(write):
    ended = harness("check", write("mine.csv", TITLES))
    assert ended.returncode == 0, ended.stdout
    assert "6 ok" in ended.stdout
