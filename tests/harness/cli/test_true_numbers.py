"""What is measured is what is said: nothing reaches from one learner to another, nothing old passes for new."""

import json
import os
import textwrap
import zlib

import pytest

from command import run_harness
from harness.record_lines import from_line

PLAIN = """
import numpy as np

class Plain:
    '''Always names the most frequent class.'''

    def fit(self, X, y):
        self.classes_, counts = np.unique(y, return_counts=True)
        self.best_ = self.classes_[counts.argmax()]
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.best_)
"""


HOOK = """
from harness import LearnerSpec, hookimpl

@hookimpl
def harness_learners():
    return [LearnerSpec(name='plain', load='plugin:Plain')]
"""


def in_fit(statement):
    """The plain learner, which does something more when it is fitted."""
    return PLAIN.replace("return self\n", f"{statement}\n        return self\n", 1)


def write(folder, name, text):
    (folder / f"{name}.py").write_text(textwrap.dedent(text))


def records_in(folder):
    return [from_line(line) for line in (folder / "records.jsonl").read_text().splitlines(keepends=True)]


@pytest.fixture
def compare(harness, tmp_path):
    """Runs learners on digits into the folder `out`; gives the last record of each label."""

    def run(*words, trials=1):
        done = harness("run", *words, "--datasets", "digits", "--trials", trials, "--out", "out")
        assert done.returncode in (0, 1), done.stderr
        return {record.label: record for record in records_in(tmp_path / "out")}, done

    return run


STOPPED = """
import time
patient = time.sleep
time.perf_counter = time.process_time = time.monotonic = time.time = lambda: 0.0
"""
LAZY = """
import time

class Later:
    def __init__(self, value):
        self.value = value

    def __array__(self, dtype=None, copy=None):
        time.sleep(0.2)
        return self.value

class Lazy(Plain):
    def predict(self, X):
        return Later(super().predict(X))
"""
CROWD = """
import multiprocessing, time

def spin(_):
    end = time.process_time() + 0.4
    while time.process_time() < end:
        pass

class Crowd(Plain):
    def fit(self, X, y):
        with multiprocessing.get_context("fork").Pool(4) as pool:
            pool.map(spin, range(4))
        return super().fit(X, y)
"""
TWO_MINDS = "    def decision_function(self, X):\n        return -np.eye(10)[[self.best_] * X.shape[0]]\n"


@pytest.fixture(scope="module")
def together(tmp_path_factory):
    """One run of some learners that each do something of their own: the record of each, and what was said."""
    folder = tmp_path_factory.mktemp("together")
    write(folder, "only", PLAIN)
    write(folder, "two_minds", PLAIN + TWO_MINDS)
    write(folder, "lazy", PLAIN + LAZY)
    write(folder, "crowd", PLAIN + CROWD)
    write(folder, "stopped", STOPPED + in_fit("patient(0.3)"))
    learners = "only=only:Plain,two=two_minds:Plain,lazy=lazy:Lazy,crowd=crowd:Crowd,stopped=stopped:Plain,pa"
    words = ("run", "--learners", learners, "--datasets", "digits", "--trials", 1, "--out", "out")
    done = run_harness(*words, cwd=folder)
    assert done.returncode in (0, 1), done.stderr
    return {record.label: record for record in records_in(folder / "out")}, done


# -- one learner and another -----------------------------------------------------------------------------------------

LOGISTIC = "sklearn.linear_model:LogisticRegression(max_iter=20)"


def test_a_module_that_replaces_a_class_changes_nobody_elses_result(compare, tmp_path):
    write(
        tmp_path, "patching", PLAIN + "import sklearn.linear_model\nsklearn.linear_model.LogisticRegression = Plain\n"
    )
    records, _ = compare("--learners", f"patching:Plain,{LOGISTIC}")
    assert records["LogisticRegression"].scores["r1"] > 0.9


def test_a_module_that_makes_errors_of_warnings_fails_nobody_else(compare, tmp_path):
    write(tmp_path, "strict", "import warnings\nwarnings.simplefilter('error')\n" + PLAIN)
    records, _ = compare("--learners", f"strict:Plain,{LOGISTIC}")
    assert records["LogisticRegression"].status == "ok"


def test_a_module_that_stops_the_clock_is_timed_as_others_are(together):
    records, _ = together
    assert records["stopped"].fit_seconds >= 0.3
    assert records["pa"].fit_seconds > 0.0005


def test_chance_drawn_from_a_generator_of_the_module_differs_from_trial_to_trial(compare, tmp_path):
    drawing = in_fit("self.index_size_ = int(CHANCE.integers(2**40))")
    write(
        tmp_path,
        "drawing",
        drawing.replace("import numpy as np\n", "import numpy as np\nCHANCE = np.random.default_rng()\n"),
    )
    compare("--learners", "drawing:Plain", trials=3)
    assert len({record.index_size for record in records_in(tmp_path / "out")}) == 3


# -- old and new -----------------------------------------------------------------------------------------------------


def test_an_edited_helper_makes_new_trials_and_the_old_ones_stay_apart(compare, harness, tmp_path):
    write(tmp_path, "helper", "SHIFT = 0\n")
    write(tmp_path, "direct", "from helper import SHIFT\n" + PLAIN.replace("self.best_)", "(self.best_ + SHIFT) % 10)"))
    compare("--learners", "direct:Plain")
    _, again = compare("--learners", "direct:Plain")
    assert "nothing left to run" in again.stderr
    write(tmp_path, "helper", "SHIFT = 5\n")
    _, edited = compare("--learners", "direct:Plain")
    assert "1 trial to run" in edited.stderr
    assert len({record.code for record in records_in(tmp_path / "out")}) == 2
    assert harness("table", "out").stdout.count("Plain [") == 2


def test_a_plugin_of_a_folder_runs_again_when_a_file_beside_it_changes(harness, tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    write(folder, "plugin", "import beside\n" + PLAIN + HOOK)
    write(folder, "beside", "RATE = 1\n")
    words = (
        "run",
        "--learners",
        "plain",
        "--datasets",
        "digits",
        "--trials",
        1,
        "--out",
        "out",
        "--plugins-dir",
        folder,
    )
    assert harness(*words).returncode == 0
    assert "nothing left to run" in harness(*words).stderr
    write(folder, "beside", "RATE = 2\n")
    assert "1 trial to run" in harness(*words).stderr


def test_rerun_repeats_the_trials_of_the_named_learner_alone(compare, tmp_path):
    compare("--learners", "pa,ff")
    _, again = compare("--learners", "pa,ff", "--rerun", "pa")
    assert "1 trial to run" in again.stderr
    assert [record.label for record in records_in(tmp_path / "out")] == ["pa", "ff", "pa"]


def test_rerun_of_a_learner_that_is_not_there_is_refused(harness, tmp_path):
    done = harness("run", "--learners", "pa", "--datasets", "digits", "--trials", 1, "--rerun", "oz", "--out", "out")
    assert done.returncode == 2
    assert "--rerun 'oz' matches no learner of this run; there are: pa" in done.stderr


def test_a_default_in_other_words_is_the_same_trial(compare):
    compare("--learners", "pa(C=1)")
    _, again = compare("--learners", "pa(C=1.0)")
    assert "nothing left to run" in again.stderr


# -- what is kept ----------------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A data home of one's own, to damage."""
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_kept_data_that_was_changed_is_noticed_and_read_again(compare, home):
    before, _ = compare("--learners", "pa")
    (array,) = home.glob("parsed/digits-*/X_data.npy")
    assert array.stat().st_mode & 0o222 == 0
    content = bytearray(array.read_bytes())
    content[-400:] = bytes(400)
    times = array.stat().st_mtime_ns
    array.chmod(0o644)
    array.write_bytes(content)
    os.utime(array, ns=(times, times))
    after, done = compare("--learners", "pa", "--rerun", "pa")
    assert "was changed since digits was read: reading it again" in done.stderr
    assert after["pa"].scores["r1"] == before["pa"].scores["r1"]


def test_changed_ranks_are_not_scored(compare, harness, tmp_path):
    compare("--learners", "pa")
    (ranks,) = (tmp_path / "out" / "ranks").iterdir()
    assert ranks.stat().st_mode & 0o222 == 0
    content = bytearray(ranks.read_bytes())
    content[-40] ^= 1
    ranks.chmod(0o644)
    ranks.write_bytes(content)
    done = harness("rescore", "out", "--metrics", "r3")
    assert done.returncode == 2
    assert "is not what the trial wrote (checksum)" in done.stderr
    assert "--rerun pa" in done.stderr


# -- what is said ----------------------------------------------------------------------------------------------------


def test_a_learner_that_only_predicts_has_no_r5(together):
    records, done = together
    assert records["only"].scores["r1"] is not None
    assert records["only"].scores["r5"] is None
    assert records["pa"].scores["r5"] is not None
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("only ")]
    assert " - " in row


def test_what_a_learner_warns_of_is_in_the_run_the_record_and_the_foot(compare, tmp_path):
    warning = "import warnings\n" + PLAIN.replace(
        "return self\n", "warnings.warn('too few sweeps')\n        return self\n", 1
    )
    write(tmp_path, "warning", warning)
    records, done = compare("--learners", "warning:Plain", trials=2)
    assert records["Plain"].warnings == ("UserWarning: too few sweeps",)
    assert done.stderr.count("warning: Plain on digits: UserWarning: too few sweeps") == 1
    assert "Plain on digits: UserWarning: too few sweeps (2 trials)" in done.stdout


def test_a_learner_whose_predict_and_ranking_disagree_is_told_of(together):
    records, _ = together
    assert records["two"].warnings == (
        "predict names another class than decision_function on 180 of 180 test rows: R1 goes by decision_function",
    )


def test_an_answer_that_is_worked_out_when_it_is_looked_at_is_worked_out_on_the_clock(together):
    records, _ = together
    assert records["lazy"].predict_seconds >= 0.2


def test_processor_time_of_children_counts_and_many_of_them_are_told_of(together):
    records, done = together
    assert records["crowd"].fit_cpu_seconds >= 1.4
    assert records["crowd"].processes >= 5
    assert "started more processes than the allowed threads: crowd" in done.stdout


def test_a_trial_that_waits_is_told_of_with_the_load(compare, tmp_path):
    write(
        tmp_path,
        "waiting",
        "import time\n" + PLAIN.replace("return self\n", "time.sleep(0.5)\n        return self\n", 1),
    )
    records, done = compare("--learners", "waiting:Plain")
    assert records["Plain"].load is not None
    assert "WARNING: a busy machine, or learners that wait: in 1 of 1 trial training took clearly longer" in done.stdout


def test_a_run_can_wait_for_a_quiet_machine(compare):
    _, done = compare("--learners", "pa", "--wait-for-quiet", "1s")
    assert "1/1" in done.stderr


def test_waiting_for_a_quiet_machine_is_refused_where_it_cannot_be(harness, tmp_path):
    asked = ("run", "--learners", "pa", "--datasets", "digits", "--out", str(tmp_path / "none"))
    done = harness(*asked, "--wait-for-quiet", "1s", "--jobs", "2")
    assert done.returncode == 2
    assert "would wait for the other trials of --jobs" in done.stderr
    done = harness(*asked, "--wait-for-quiet", "mine.toml")
    assert done.returncode == 2
    assert "Invalid value for --wait-for-quiet" in done.stderr
    assert not (tmp_path / "none").exists()


def test_a_parameter_that_is_set_and_tuned_is_refused(harness):
    done = harness("run", "--learners", "pa", "--datasets", "digits", "--set", "pa.C=2", "--tune", "pa.C=[0.1,1]")
    assert done.returncode == 2
    assert "pa.C is set and tuned: leave out one of the two" in done.stderr


def test_tuning_that_ends_at_the_edge_of_its_grid_is_told_of(compare):
    records, done = compare("--learners", "pa", "--tune", "pa.C=[1e-9,1e-8,1e-7]")
    (chosen,) = records["pa"].tuned.values()
    edge = f"tuning chose the edge of its grid, C={chosen} of 1e-09 to 1e-07"
    assert f"warning: pa on digits: {edge}" in done.stderr
    assert f"pa on digits: {edge} (1 trial)" in done.stdout


def test_a_record_of_the_time_of_one_clock_is_read_as_what_it_was(tmp_path, compare, harness):
    """Records of format 2 called the time of the ranking that of predictions."""
    compare("--learners", "pa")
    (line,) = (tmp_path / "out" / "records.jsonl").read_text().splitlines()
    content = json.loads(line)
    scores = content["scores"]
    for name in ("rank", "rank_edges", "rank_one"):
        scores.pop(name, None)
    del content["crc32"]
    text = json.dumps(content | {"format": 2, "scores": scores | {"predict": 0.25}}, separators=(",", ":"))
    record = from_line(f'{text[:-1]},"crc32":"{zlib.crc32(text.encode()):08x}"}}\n')
    assert "predict" not in record.scores
    assert record.scores["rank"] == 0.25
