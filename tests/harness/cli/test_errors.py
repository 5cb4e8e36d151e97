"""Bad input: exit code 2, a clear line with the culprit and the way out, no traceback unless asked for, no training."""

import json
import os

import pytest

from harness.store import read_incompatible

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
def refused(harness, folder, tmp_path):
    """Runs a command that must be refused: with these words on stderr, and without a trace of training."""

    def check(*words, expecting, plugins=True, **options):
        ended = harness(*words, *(["--plugins-dir", folder] if plugins else []), **options)
        last = ended.stderr.splitlines()[-1] if ended.stderr else ""
        assert ended.returncode == 2, ended.stderr + ended.stdout
        assert "Traceback" not in ended.stderr + ended.stdout
        assert last.startswith("harness: "), ended.stderr
        for text in expecting:
            assert text in last
        assert not (folder / "trained").exists()
        assert not (tmp_path / "results").exists()
        return ended

    return check


# -- known before any data is read -----------------------------------------------------------------------------------

WORDS = {
    "nothing to run": (["run"], ["nothing to run: give --learners", "or an experiment file"]),
    "unknown learner": (["run", "--learners", "tinny"], ["unknown learner 'tinny'", "did you mean tiny"]),
    "unknown data set": (["run", "--learners", "tiny", "--datasets", "digts"], ["unknown data set 'digts'", "digits?"]),
    "unknown metric": (
        ["run", "--learners", "tiny", "--metrics", "zzz"],
        ["unknown metric 'zzz'", "known: "],
    ),
    "unknown experiment": (["run", "pa-stepz"], ["unknown experiment 'pa-stepz'", "did you mean pa-steps?", ".toml"]),
    "unknown parameter": (
        ["run", "--learners", "tiny(Cc=1)"],
        ["learner 'tiny' has no parameter 'Cc'", "did you mean C?"],
    ),
    "unknown file": (["run", "nowhere.toml"], ["nowhere.toml: there is no such file"]),
    "lost experiment": (["run", "lost"], ["experiment 'lost' of trouble.py", "no_such_package_here"]),
    "code for a value": (
        ["run", "--learners", "tiny(C=__import__('os'))"],
        ["cannot read the value", "Python literal"],
    ),
    "unbalanced": (["run", "--learners", "tiny("], ["unbalanced brackets or quotes in 'tiny('"]),
    "zero trials": (
        ["run", "--learners", "tiny", "--trials", "0"],
        ["command line: trials: expected 1 or more (got 0)"],
    ),
    "negative seed": (["run", "--learners", "tiny", "--seed=-1"], ["command line: seed", "(got -1)"]),
    "bad time": (
        ["run", "--learners", "tiny", "--timeout", "soon"],
        ["timeout: 'soon' is not a time such as 90s, 10m"],
    ),
    "bad size": (["run", "--learners", "tiny", "--memory", "much"], ["memory: 'much' is not a size such as 512MB"]),
    "forgotten unit": (
        ["run", "--learners", "tiny", "--memory", "4"],
        ["memory: '4' is a limit of 4 bytes", "at least 16MB", "4GB"],
    ),
    "bad split": (
        ["run", "--learners", "tiny", "--split", "half"],
        ["split 'half' is unknown: expected 'holdout:SHARE'"],
    ),
    "bad representation": (
        ["run", "--learners", "tiny", "--representation", "bag"],
        ["unknown representation 'bag'; known: binary, ", "`harness list representations` shows all"],
    ),
    "bad setting": (["run", "--learners", "tiny", "--set", "C=1"], ["--set C=1: expected NAME.PARAM=VALUE"]),
    "idle setting": (
        ["run", "--learners", "tiny", "--set", "pa.C=1"],
        ["set.pa matches no learner or data set of this run"],
    ),
    "one label twice": (["run", "--learners", "tiny,tiny(C=2)"], ["two learners are labelled 'tiny'"]),
    "no classifier": (
        ["run", "--learners", "json:JSONDecoder"],
        ["'json:JSONDecoder' is not a classifier", "fit and predict"],
    ),
    "no module": (["run", "--learners", "no.module:X"], ["module 'no.module' cannot be imported"]),
    "no such plugin": (["plugins", "--disable-plugin", "zzz"], ["--disable-plugin 'zzz' matches no plugin; known: "]),
    "no results": (["table", "nowhere"], ["nowhere is not a results folder", "harness run --out makes one"]),
    "no such file": (
        ["run", "--learners", "tiny", "--data", "nowhere.csv"],
        ["data set 'nowhere.csv'", "give its path from", "harness list datasets"],
    ),
    "nothing to check": (
        ["check", "tinny"],
        [
            "no learner, data set, metric or representation 'tinny'",
            "did you mean tiny (a learner)",
            "module:Class",
            "./titles.csv",
        ],
    ),
}


@pytest.mark.parametrize("case", WORDS)
def test_bad_words_are_refused_with_the_culprit_and_the_way_out(refused, case):
    words, expecting = WORDS[case]
    refused(*words, expecting=expecting)


FILES = {
    "no toml": ("learners = [", "bad.toml: not valid TOML: "),
    "unknown key": (
        "learners = 'tiny'\ntrails = 3",
        "bad.toml: unknown key trails: did you mean 'trials'? allowed here: ",
    ),
    "wrong value": (
        "learners = 'tiny'\ntrials = 'many'",
        "bad.toml: trials: expected a whole number (got 'many')",
    ),
    "wrong table": (
        "learners = 'tiny'\n[[datasets]]\nname = 'good'\nrepresentation = 3",
        "bad.toml: datasets[0].representation: expected a list (got 3)",
    ),
}


@pytest.mark.parametrize("case", FILES)
def test_a_malformed_file_is_refused_by_file_table_key_and_what_is_allowed(refused, tmp_path, case):
    text, expected = FILES[case]
    (tmp_path / "bad.toml").write_text(text)
    refused("run", "bad.toml", expecting=[expected])


def test_a_missing_plugins_folder_is_refused(refused):
    refused("list", "--plugins-dir", "nowhere", plugins=False, expecting=["nowhere: there is no such folder"])


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
def test_the_commands_own_words_are_checked_too(harness, words, expected):
    ended = harness(*words)
    assert ended.returncode == 2
    assert "Traceback" not in ended.stderr
    assert expected in ended.stderr


# -- known once the data is read -------------------------------------------------------------------------------------

DATA = {
    "NaN": (["tiny", "nan"], ["data set 'nan': row 0, feature 0 is nan (8 such values)", "remove or replace"]),
    "infinity": (["tiny", "infinite"], ["data set 'infinite': row 0, feature 0 is inf"]),
    "negative values": (
        ["positive", "negative"],
        ["learner 'positive' cannot run on data set 'negative'", "negative values"],
    ),
    "one class name": (
        ["tiny", "one-name"],
        ["harness: data set 'one-name': it has 1 class, ", "at least two are needed"],
    ),
    "a single class": (
        ["tiny", "one-class"],
        ["data set 'one-class'", "trains on a single class, 'a'", "choose another"],
    ),
    "a label out of range": (["tiny", "unlabelled"], ["the label of row 0 is -1, expected 0 to 3"]),
    "several labels": (
        ["tiny", "several"],
        ["learner 'tiny' cannot run on data set 'several'", "takes one", "leave one", "on = [...]"],
    ),
    "no taxonomy": (["treelike", "good"], ["learner 'treelike' cannot run on data set 'good'", "has no taxonomy"]),
    "an empty test part": (
        ["tiny", "good", "--split", "holdout:0.001"],
        ["data set 'good'", "leaves the test part empty"],
    ),
    "no such split": (
        ["tiny", "good", "--split", "given:official"],
        ["data set 'good'", "no split 'official'", "use holdout"],
    ),
    "a loader that raises": (["tiny", "raises"], ["data set 'raises': OSError: the mirror is gone"]),
    "a loader that gives rubbish": (
        ["tiny", "rubbish"],
        ["data set 'rubbish': its loader gave tuple, expected harness.Data"],
    ),
    "one trial twice": (["tiny,b=tiny(C=1.0)", "good"], ["'tiny' and 'b' are the same learner", "leave one out"]),
}


@pytest.mark.parametrize("case", DATA)
def test_data_that_cannot_be_used_is_refused_before_any_training(refused, case):
    (learners, dataset, *more), expecting = DATA[case]
    refused("run", "--learners", learners, "--datasets", dataset, *more, expecting=expecting)


def test_a_pair_that_cannot_run_is_told_twice_and_costs_the_others_nothing(harness, folder, tmp_path):
    words = ["--learners", "tiny,treelike", "--datasets", "good", "--trials", "1", "--out", tmp_path / "out"]
    crowd = os.cpu_count() + 1
    ended = harness("run", *words, "--threads", crowd, "--plugins-dir", folder)
    (folder / "trained").unlink()
    told = "learner 'treelike' cannot run on data set 'good': it has no taxonomy, which the learner needs (labels"
    assert ended.returncode == 1
    assert f"warning: {told}" in ended.stderr.partition("1 trial to run")[0]
    assert told in ended.stdout.partition("Mean ±")[2]
    assert read_incompatible(tmp_path / "out")[0].startswith(told)  # for `harness table`
    assert "\ntiny " in ended.stdout
    assert f"warning: --threads {crowd} is more than the " in ended.stderr


def test_a_class_only_in_the_test_part_and_empty_rows_are_allowed_and_counted(harness, tmp_path):
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


# -- when asked for --------------------------------------------------------------------------------------------------


def test_debug_shows_the_traceback_and_keeps_line_and_code(harness):
    ended = harness("run", "--learners", "no.module:X", "--debug")
    assert ended.returncode == 2
    assert "Traceback (most recent call last)" in ended.stderr
    assert "UnknownName" in ended.stderr
    assert ended.stderr.splitlines()[-1].startswith("harness: learner 'no.module:X'")


def test_no_command_at_all_shows_the_help(harness):
    ended = harness()
    assert "Commands:" in ended.stdout + ended.stderr
    assert harness("--help").returncode == 0
