"""`harness run --data FILE` and `harness check FILE` from the command line."""

import subprocess
import sys

import pytest

from harness.errors import DataError
from internals import LocalExecutor, NullProgress, RunOptions, Session, load_experiment, read_records, run_experiment
from messages import assert_names, naming

TITLES = "title,category\n" + "".join(f"w{i % 4} w{i % 7} of{i % 4},c{i % 4}\n" for i in range(80))


LEARNER = "sklearn.naive_bayes:MultinomialNB"
"""A learner without compiled kernels."""


def harness(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "harness", *arguments], capture_output=True, text=True, check=False, timeout=300
    )


def test_a_file_and_its_subsamples_run_under_separate_names(write, folder):
    write("jobs.csv", TITLES.replace("title,category", "one,two"))
    command = ("run", "--learners", LEARNER, "--trials", "1", "--out", "out", "--split", "stratified:0.25")
    columns = ("--set", "jobs.text='one'", "--set", "jobs.label='two'")
    ended = harness(*command, *columns, "--data", "jobs.csv,subsample(jobs.csv(text=one, label=two), classes=[2,3])")
    assert ended.returncode == 0, ended.stderr
    assert_names(ended.stderr, "80", "jobs.csv", "CSV", "one", "two", "4")
    found = {r.dataset: (r.n_train, r.n_test, r.n_classes) for r in read_records(folder / "out")}
    assert found == {
        "jobs": (60, 20, 4),
        "subsample(jobs, classes=2)": (30, 10, 2),
        "subsample(jobs, classes=3)": (45, 15, 3),
    }


def test_unknown_column_names_raise_an_error_that_shows_the_set_option(write):
    write("jobs.csv", TITLES.replace("title,category", "one,two"))
    ended = harness("run", "--learners", LEARNER, "--data", "jobs.csv")
    assert ended.returncode == 2
    assert_names(ended.stderr, "--set", "jobs.text=", "COLUMN", "jobs.label=")


class RecordingExecutor(LocalExecutor):
    """The local executor, with a record of the modules that it preloads."""

    preloaded = ()

    def prepare(self, workplace, on_slow=None):
        self.preloaded += tuple(workplace.preload)
        super().prepare(workplace, on_slow)


def test_unknown_columns_are_reported_before_any_kernel_is_imported(write):
    write("jobs.csv", TITLES.replace("title,category", "one,two"))
    raw = load_experiment(None, {"learners": ["pa"], "datasets": ["jobs.csv"]}, Session().catalog)
    with RecordingExecutor() as executor:
        with pytest.raises(DataError, match=naming("column", "text")):
            run_experiment(raw, RunOptions(), Session(), executor, NullProgress())
        assert executor.preloaded == ()


def test_a_split_by_group_runs_and_duplicate_texts_are_reported(write, folder):
    rows = "".join(f"w{i % 4} w{i % 7},c{i % 4},shop{i % 10}\n" for i in range(80))
    write("titles.csv", "title,category,shop\n" + rows)
    command = ("run", "--learners", LEARNER, "--trials", "1", "--data", "titles.csv(group=shop)")
    ended = harness(*command, "--split", "grouped:shop:0.2", "--out", "out")
    assert ended.returncode == 0, ended.stderr
    assert_names(ended.stderr, "16", "100.0%")
    (record,) = read_records(folder / "out")
    assert (str(record.split), record.n_train, record.n_test) == ("grouped:shop:0.2", 64, 16)
    apart = harness(*command, "--split", "grouped:text:0.25", "--out", "apart")
    assert "also in training" not in apart.stderr


def test_harness_check_accepts_a_file(write):
    ended = harness("check", write("mine.csv", TITLES))
    assert ended.returncode == 0, ended.stdout
    assert "6 ok" in ended.stdout
