"""Bad input: exit code 2, one line that names the culprit, no traceback without --debug, no training."""

import json
import os

import pytest

from internals import read_incompatible
from messages import assert_names

PLUGIN = """
from harness import DatasetSpec, ExperimentSpec, LearnerSpec, hookimpl

@hookimpl
def harness_learners():
    return [
        LearnerSpec(name="tiny", load="_tiny:Tiny"),
        LearnerSpec(name="positive", load="_tiny:Tiny", needs={"nonnegative"}),
        LearnerSpec(name="treelike", load="_tiny:Tiny", needs={"taxonomy"}),
    ]

@hookimpl
def harness_datasets():
    names = "good nan infinite negative one-name one-class unlabelled several raises rubbish".split()
    return [DatasetSpec(name=n, load=f"_tiny:load_{n.replace('-', '_')}", representation="raw") for n in names]

@hookimpl
def harness_experiments():
    return [ExperimentSpec(name="lost", resource="no_such_package_here:file.toml")]
"""
TINY = """
import pathlib

import numpy as np
from scipy.sparse import csr_array

from harness import Dataset

class Tiny:
    def __init__(self, *, C=1.0):
        self.C = C

    def fit(self, X, y):
        pathlib.Path(__file__).with_name("trained").touch()
        self.classes_ = np.unique(y)

    def predict(self, X):
        return np.full(X.shape[0], self.classes_[0])

X, Y, NAMES = np.eye(40, 8), np.arange(40) % 4, tuple("abcd")

def load_good(): return Dataset(csr_array(X), Y, NAMES)
def load_nan(): return Dataset(csr_array(np.where(X > 0, np.nan, 0)), Y, NAMES)
def load_infinite(): return Dataset(csr_array(np.where(X > 0, np.inf, 0)), Y, NAMES)
def load_negative(): return Dataset(csr_array(-X), Y, NAMES)
def load_one_name(): return Dataset(csr_array(X), Y * 0, ("only",))
def load_one_class(): return Dataset(csr_array(X), Y * 0, NAMES)
def load_unlabelled(): return Dataset(csr_array(X), Y - 1, NAMES)
def load_several(): return Dataset(csr_array(X), csr_array(np.eye(4)[Y]), NAMES)
def load_raises(): raise OSError("the mirror is gone")
def load_rubbish(): return X, Y
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("plugins")
    (path / "trouble.py").write_text(PLUGIN)
    (path / "_tiny.py").write_text(TINY)
    return path


@pytest.fixture
def refused(harness, folder, tmp_path, snapshot):
    """Run a command that must fail: the message names the culprits, and nothing is trained.

    The exact message of a case is in the snapshot of the command.
    """

    def check(*words, expecting, case, plugins=True, **options):
        ended = harness(*words, *(["--plugins-dir", folder] if plugins else []), **options)
        last = ended.stderr.splitlines()[-1] if ended.stderr else ""
        assert ended.returncode == 2, ended.stderr + ended.stdout
        assert "Traceback" not in ended.stderr + ended.stdout
        assert last.startswith("error: "), ended.stderr
        assert_names(last, *expecting)
        plain = last.replace(str(folder), "PLUGINS").replace(str(tmp_path), "FOLDER")
        snapshot(words[0], plain, case=f"error: {case}")
        assert not (folder / "trained").exists()
        assert not (tmp_path / "results").exists()
        return ended

    return check


# -- known before any data is read -----------------------------------------------------------------------------------

WORDS = {
    "nothing to run": (["run"], ["--learners", "experiment", "file"]),
    "unknown learner": (["run", "--learners", "tinny"], ["tinny", "tiny"]),
    "unknown dataset": (["run", "--learners", "tiny", "--datasets", "digts"], ["digts", "digits"]),
    "unknown metric": (
        ["run", "--learners", "tiny", "--metrics", "zzz"],
        ["zzz"],
    ),
    "unknown experiment": (["run", "pa-stepz"], ["pa-stepz", "pa-steps", "toml"]),
    "unknown parameter": (
        ["run", "--learners", "tiny(Cc=1)"],
        ["tiny", "Cc", "C"],
    ),
    "unknown file": (["run", "nowhere.toml"], ["nowhere.toml"]),
    "lost experiment": (["run", "lost"], ["lost", "trouble.py", "no_such_package_here"]),
    "code for a value": (
        ["run", "--learners", "tiny(C=__import__('os'))"],
        ["__import__"],
    ),
    "unbalanced": (["run", "--learners", "tiny("], ["tiny("]),
    "zero trials": (
        ["run", "--learners", "tiny", "--trials", "0"],
        ["1", "0", "trials"],
    ),
    "negative seed": (["run", "--learners", "tiny", "--seed=-1"], ["seed", "-1"]),
    "bad time": (
        ["run", "--learners", "tiny", "--timeout", "soon"],
        ["soon", "90s", "10m"],
    ),
    "bad size": (["run", "--learners", "tiny", "--memory", "much"], ["much", "512MB"]),
    "forgotten unit": (
        ["run", "--learners", "tiny", "--memory", "4"],
        ["4", "memory", "16MB", "4GB"],
    ),
    "bad split": (
        ["run", "--learners", "tiny", "--split", "half"],
        ["half", "holdout:SHARE"],
    ),
    "bad representation": (
        ["run", "--learners", "tiny", "--representation", "bag"],
        ["bag", "harness list representations"],
    ),
    "bad setting": (["run", "--learners", "tiny", "--set", "C=1"], ["--set", "C=1", "NAME.PARAM=VALUE"]),
    "idle setting": (
        ["run", "--learners", "tiny", "--set", "pa.C=1"],
        ["set.pa"],
    ),
    "one label twice": (["run", "--learners", "tiny,tiny(C=2)"], ["tiny"]),
    "no classifier": (
        ["run", "--learners", "json:JSONDecoder"],
        ["json:JSONDecoder", "predict"],
    ),
    "no module": (["run", "--learners", "no.module:X"], ["no.module"]),
    "no such plugin": (["plugins", "--disable-plugin", "zzz"], ["--disable-plugin", "zzz"]),
    "no results": (["table", "nowhere"], ["nowhere", "--out"]),
    "no such file": (
        ["run", "--learners", "tiny", "--data", "nowhere.csv"],
        ["nowhere.csv", "harness list datasets"],
    ),
    "nothing to check": (
        ["check", "tinny"],
        ["tinny", "tiny", "module:Class", "/titles.csv"],
    ),
}


@pytest.mark.parametrize("case", WORDS)
def test_bad_arguments_are_rejected_with_culprit_and_next_step(refused, case):
    words, expecting = WORDS[case]
    refused(*words, expecting=expecting, case=case)


FILES = {
    "no toml": ("learners = [", ["bad.toml", "TOML"]),
    "unknown key": (
        "learners = 'tiny'\ntrails = 3",
        ["bad.toml", "trials"],
    ),
    "wrong value": (
        "learners = 'tiny'\ntrials = 'many'",
        ["bad.toml", "many"],
    ),
    "wrong table": (
        "learners = 'tiny'\n[[datasets]]\nname = 'good'\nrepresentation = 3",
        ["bad.toml", "datasets[0].representation", "3"],
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_a_malformed_file_is_rejected_with_file_table_key_and_allowed_values(refused, tmp_path, case):
    text, expected = FILES[case]
    (tmp_path / "bad.toml").write_text(text)
    refused("run", "bad.toml", expecting=expected, case=case)


def test_a_missing_plugins_folder_is_rejected(refused):
    refused("list", "--plugins-dir", "nowhere", plugins=False, expecting=["nowhere"], case="missing folder")


def test_a_broken_plugin_is_an_error_in_strict_mode_only(harness, tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "broken.py").write_text("1 / 0")
    words = ["list", "--plugins-dir", tmp_path / "more"]
    assert harness(*words).returncode == 0
    ended = harness(*words, env={"HARNESS_STRICT_PLUGINS": "1"})
    assert ended.returncode == 2
    assert "broken (broken.py " in ended.stderr
    assert "ZeroDivisionError: division by zero" in ended.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run", "--trials", "x"], "'x' is not a valid integer"),
        (["list", "things"], "'things' is not one of"),
        (["table"], "Missing argument"),
        (["table", "x", "--format", "word"], "'word' is not one of"),
        (["runn"], "No such command 'runn'"),
        (["check", "pa", "--timeout", "soon"], "'soon' is not a time such as 90s, 10m or 2h"),
    ],
)
def test_arguments_of_other_commands_are_checked_too(harness, words, expected):
    ended = harness(*words)
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert expected in ended.stderr


LONG = "a" * 300


@pytest.mark.parametrize(
    "words",
    [
        ["table", LONG],
        ["fit", "--from", LONG, "--out", "m"],
        ["predict", LONG, "a text"],
        ["run", f"{LONG}.toml"],
        ["run", "--learners", "pa", "--datasets", "digits", "--trials", "1", "--out", LONG],
    ],
    ids=lambda words: " ".join(words[:2]).replace(LONG, "LONG"),
)
def test_a_name_that_is_too_long_is_an_error_with_a_next_step(harness, words):
    ended = harness(*words)
    assert ended.returncode == 2, ended.stderr
    last = ended.stderr.splitlines()[-1]
    assert last.startswith(f"error: {LONG}")
    assert_names(last, "255", "shorter")


# -- known once the data is read -------------------------------------------------------------------------------------

DATA = {
    "NaN": (["tiny", "nan"], ["nan", "0", "8"]),
    "infinity": (["tiny", "infinite"], ["infinite", "0"]),
    "negative values": (
        ["positive", "negative"],
        ["positive", "negative"],
    ),
    "one class name": (
        ["tiny", "one-name"],
        ["one-name", "1"],
    ),
    "a single class": (
        ["tiny", "one-class"],
        ["one-class", "a", "class"],
    ),
    "a label out of range": (["tiny", "unlabelled"], ["0", "-1", "3"]),
    "several labels": (
        ["tiny", "several"],
        ["tiny", "several"],
    ),
    "no taxonomy": (["treelike", "good"], ["treelike", "good", "taxonomy"]),
    "an empty test part": (
        ["tiny", "good", "--split", "holdout:0.001"],
        ["good", "empty"],
    ),
    "no such split": (
        ["tiny", "good", "--split", "given:official"],
        ["good", "official", "holdout"],
    ),
    "a loader that raises": (["tiny", "raises"], ["raises", "OSError"]),
    "a loader that gives rubbish": (
        ["tiny", "rubbish"],
        ["rubbish", "tuple"],
    ),
    "one trial twice": (["tiny,b=tiny(C=1.0)", "good"], ["tiny", "b"]),
}


@pytest.mark.parametrize("case", DATA)
def test_unusable_data_is_rejected_before_training(refused, case):
    (learners, dataset, *more), expecting = DATA[case]
    refused("run", "--learners", learners, "--datasets", dataset, *more, expecting=expecting, case=case)


def test_an_incompatible_pair_is_reported_and_the_others_run(harness, folder, tmp_path):
    words = ["--learners", "tiny,treelike", "--datasets", "good", "--trials", "1", "--out", tmp_path / "out"]
    crowd = os.cpu_count() + 1
    ended = harness("run", *words, "--threads", crowd, "--plugins-dir", folder)
    (folder / "trained").unlink()
    message = "learner 'treelike' cannot run on dataset 'good': it has no taxonomy, which the learner needs (labels"
    assert ended.returncode == 1
    assert f"warning: {message}" in ended.stderr.partition("1 trial to run")[0]
    assert message in ended.stdout.partition("Mean ±")[2]
    assert read_incompatible(tmp_path / "out")[0].startswith(message)  # for `harness table`
    assert "\ntiny " in ended.stdout
    assert f"warning: --threads {crowd} is more than the " in ended.stderr


def test_a_class_only_in_the_test_set_and_empty_rows_are_allowed_and_counted(harness, tmp_path):
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "sparse_rows.py").write_text(SPARSE_ROWS)
    words = [
        "--learners",
        "first",
        "--datasets",
        "sparse",
        "--split",
        "given",
        "--trials",
        "1",
        "--out",
        tmp_path / "out",
    ]
    ended = harness("run", *words, "--plugins-dir", tmp_path / "more")
    assert ended.returncode == 0, ended.stderr
    (record,) = map(json.loads, (tmp_path / "out" / "records.jsonl").read_text().splitlines())
    assert (record["unseen_test_rows"], record["empty_test_rows"]) == (2, 1)
    assert record["scores"]["r1"] == 0.25


SPARSE_ROWS = """
import numpy as np

from harness import Dataset, DatasetSpec, LearnerSpec, hookimpl

class First:
    def __init__(self):
        pass

    def fit(self, X, y):
        self.classes_ = np.unique(y)

    def predict(self, X):
        return np.full(X.shape[0], self.classes_[0])

def load():
    X = np.ones((10, 3))
    X[[1, 8]] = 0
    y = np.array([0, 1, 0, 1, 0, 1, 0, 1, 2, 2])
    return Dataset(X, y, ("a", "b", "only tested"), splits={"s": (np.arange(6), np.arange(6, 10))})

@hookimpl
def harness_learners():
    return [LearnerSpec(name="first", load=f"{__name__}:First")]

@hookimpl
def harness_datasets():
    return [DatasetSpec(name="sparse", load=f"{__name__}:load")]
"""


# -- with --debug ----------------------------------------------------------------------------------------------------


def test_debug_shows_the_traceback_and_keeps_message_and_code(harness):
    ended = harness("run", "--learners", "no.module:X", "--debug")
    assert ended.returncode == 2
    assert "Traceback (most recent call last)" in ended.stderr
    assert "UnknownName" in ended.stderr
    assert ended.stderr.splitlines()[-1].startswith("error: learner 'no.module:X'")


def test_no_command_shows_the_help(harness):
    ended = harness()
    assert_names(ended.stdout + ended.stderr, "run", "table", "predict", "data", "plugins")
    assert harness("--help").returncode == 0
