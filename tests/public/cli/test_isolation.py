"""Correct measurements: learners do not affect each other, and no stale result is reused."""

import json
import os
import textwrap
import zlib

import pytest

from command import run_harness
from internals import from_line
from messages import NOTHING_TO_RUN, assert_names
from trial_runs import hides_folders

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
    """Return the source of a plain learner with extra code in fit."""
    return PLAIN.replace("return self\n", f"{statement}\n        return self\n", 1)


def write(folder, name, text):
    (folder / f"{name}.py").write_text(textwrap.dedent(text))


def records_in(folder):
    return [from_line(line) for line in (folder / "records.jsonl").read_text().splitlines(keepends=True)]


@pytest.fixture
def compare(harness, tmp_path):
    """Run learners on digits into the folder `out`; return the last record of each label."""

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
    """Run several learners with side effects at once; return the record of each, and the output."""
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


def test_a_module_that_replaces_a_class_does_not_affect_other_learners(compare, tmp_path):
    write(
        tmp_path, "patching", PLAIN + "import sklearn.linear_model\nsklearn.linear_model.LogisticRegression = Plain\n"
    )
    records, _ = compare("--learners", f"patching:Plain,{LOGISTIC}")
    assert records["LogisticRegression"].scores["r1"] > 0.9


def test_a_module_that_turns_warnings_into_errors_does_not_affect_other_learners(compare, tmp_path):
    write(tmp_path, "strict", "import warnings\nwarnings.simplefilter('error')\n" + PLAIN)
    records, _ = compare("--learners", f"strict:Plain,{LOGISTIC}")
    assert records["LogisticRegression"].status == "ok"


def test_a_module_that_stops_the_clock_is_timed_correctly(together):
    records, _ = together
    assert records["stopped"].fit_seconds >= 0.3
    assert records["pa"].fit_seconds > 0.0005


def test_a_module_level_generator_differs_between_trials(compare, tmp_path):
    drawing = in_fit("self.index_size_ = int(CHANCE.integers(2**40))")
    write(
        tmp_path,
        "drawing",
        drawing.replace("import numpy as np\n", "import numpy as np\nCHANCE = np.random.default_rng()\n"),
    )
    compare("--learners", "drawing:Plain", trials=3)
    assert len({record.index_size for record in records_in(tmp_path / "out")}) == 3


# -- old and new -----------------------------------------------------------------------------------------------------


def test_an_edited_helper_gives_new_trials_separate_from_the_old_ones(compare, harness, tmp_path):
    write(tmp_path, "helper", "SHIFT = 0\n")
    write(tmp_path, "direct", "from helper import SHIFT\n" + PLAIN.replace("self.best_)", "(self.best_ + SHIFT) % 10)"))
    compare("--learners", "direct:Plain")
    _, again = compare("--learners", "direct:Plain")
    assert NOTHING_TO_RUN in again.stderr
    write(tmp_path, "helper", "SHIFT = 5\n")
    _, edited = compare("--learners", "direct:Plain")
    assert "1 trial to run" in edited.stderr
    assert len({record.code for record in records_in(tmp_path / "out")}) == 2
    assert harness("table", "out").stdout.count("Plain [") == 2


def test_a_folder_plugin_runs_again_when_a_neighbouring_file_changes(harness, tmp_path):
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
    assert NOTHING_TO_RUN in harness(*words).stderr
    write(folder, "beside", "RATE = 2\n")
    assert "1 trial to run" in harness(*words).stderr


def test_rerun_repeats_only_trials_of_the_named_learner(compare, tmp_path):
    compare("--learners", "pa,ff")
    _, again = compare("--learners", "pa,ff", "--rerun", "pa")
    assert "1 trial to run" in again.stderr
    assert [record.label for record in records_in(tmp_path / "out")] == ["pa", "ff", "pa"]


def test_rerun_of_an_unknown_learner_is_rejected(harness, tmp_path):
    done = harness("run", "--learners", "pa", "--datasets", "digits", "--trials", 1, "--rerun", "oz", "--out", "out")
    assert done.returncode == 2
    assert_names(done.stderr, "--rerun", "oz")


def test_an_explicit_default_is_the_same_trial(compare):
    compare("--learners", "pa(C=1)")
    _, again = compare("--learners", "pa(C=1.0)")
    assert NOTHING_TO_RUN in again.stderr


# -- what is kept ----------------------------------------------------------------------------------------------------


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Return a separate data home to damage."""
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def test_modified_cached_data_is_detected_and_read_again(compare, home):
    before, _ = compare("--learners", "pa")
    (array,) = home.glob("parsed/digits-*/rows/X_data.npy")
    assert array.stat().st_mode & 0o222 == 0
    content = bytearray(array.read_bytes())
    content[-400:] = bytes(400)
    times = array.stat().st_mtime_ns
    array.chmod(0o644)
    array.write_bytes(content)
    os.utime(array, ns=(times, times))
    after, done = compare("--learners", "pa", "--rerun", "pa")
    assert_names(done.stderr, "changed", "digits")
    assert after["pa"].scores["r1"] == before["pa"].scores["r1"]


def test_modified_ranks_are_not_scored(compare, harness, tmp_path):
    compare("--learners", "pa")
    (ranks,) = (tmp_path / "out" / "ranks").iterdir()
    assert ranks.stat().st_mode & 0o222 == 0
    content = bytearray(ranks.read_bytes())
    content[-40] ^= 1
    ranks.chmod(0o644)
    ranks.write_bytes(content)
    done = harness("rescore", "out", "--metrics", "r3")
    assert done.returncode == 2
    assert_names(done.stderr, "checksum")
    assert "--rerun pa" in done.stderr


# -- what is said ----------------------------------------------------------------------------------------------------


def test_a_learner_that_only_predicts_has_no_r5(together):
    records, done = together
    assert records["only"].scores["r1"] is not None
    assert records["only"].scores["r5"] is None
    assert records["pa"].scores["r5"] is not None
    (row,) = [line for line in done.stdout.splitlines() if line.startswith("only ")]
    assert " - " in row


def test_warnings_of_a_learner_are_in_output_record_and_footnote(compare, tmp_path):
    warning = "import warnings\n" + PLAIN.replace(
        "return self\n", "warnings.warn('too few sweeps')\n        return self\n", 1
    )
    write(tmp_path, "warning", warning)
    records, done = compare("--learners", "warning:Plain", trials=2)
    assert records["Plain"].warnings == ("UserWarning: too few sweeps",)
    assert done.stderr.count("warning: Plain on digits: UserWarning: too few sweeps") == 1
    assert_names(done.stdout, "UserWarning", "2")


def test_a_learner_whose_predict_and_rank_disagree_is_reported(together):
    records, _ = together
    assert records["two"].warnings == (
        "predict names another class than decision_function on 180 of 180 test rows: R1 goes by decision_function",
    )


def test_a_lazy_prediction_is_evaluated_on_the_clock(together):
    records, _ = together
    assert records["lazy"].predict_seconds >= 0.2


def test_cpu_time_of_children_counts_and_many_children_are_reported(together):
    records, done = together
    assert records["crowd"].fit_cpu_seconds >= 1.4
    assert records["crowd"].processes >= 5
    assert_names(done.stdout, "processes", "crowd")


def test_a_trial_that_waits_is_reported_with_the_load(compare, tmp_path):
    write(
        tmp_path,
        "waiting",
        "import time\n" + PLAIN.replace("return self\n", "time.sleep(0.5)\n        return self\n", 1),
    )
    records, done = compare("--learners", "waiting:Plain")
    assert records["Plain"].load is not None
    assert_names(done.stdout, "warning: ", "1")


def test_a_run_can_wait_for_an_idle_machine(compare):
    _, done = compare("--learners", "pa", "--wait-for-idle", "1s")
    assert "1/1" in done.stderr


def test_waiting_for_an_idle_machine_is_rejected_where_unsupported(harness, tmp_path):
    arguments = ("run", "--learners", "pa", "--datasets", "digits", "--out", str(tmp_path / "none"))
    done = harness(*arguments, "--wait-for-idle", "1s", "--jobs", "2")
    assert done.returncode == 2
    assert_names(done.stderr, "--jobs")
    done = harness(*arguments, "--wait-for-idle", "mine.toml")
    assert done.returncode == 2
    assert_names(done.stderr, "wait_for_idle")
    assert not (tmp_path / "none").exists()


def test_a_parameter_that_is_both_set_and_tuned_is_rejected(harness):
    done = harness("run", "--learners", "pa", "--datasets", "digits", "--set", "pa.C=2", "--tune", "pa.C=[0.1,1]")
    assert done.returncode == 2
    assert_names(done.stderr, "pa.C")


def test_tuning_that_ends_at_the_edge_of_its_grid_is_reported(compare):
    records, done = compare("--learners", "pa", "--tune", "pa.C=[1e-9,1e-8,1e-7]")
    (chosen,) = records["pa"].tuned.values()
    edge = f"C={chosen} of 1e-09 to 1e-07"
    assert_names(done.stderr, f"tuning chose the edge of its grid, {edge}")
    assert_names(" ".join(done.stdout.split()), f"Most frequent: pa on digits: {edge}")


def test_a_record_of_format_2_is_read_with_its_original_meaning(tmp_path, compare, harness):
    """Format 2 stored the ranking time as the prediction time."""
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


FORGER = """
        import json, os, pathlib, sys, warnings, zlib
        names = ["records.jsonl", "out/records.jsonl", "../records.jsonl", *sys.argv, *os.environ.values()]
        names += [f"/proc/self/fd/{handle}" for handle in os.listdir("/proc/self/fd")]
        names += [f"{name}/out/records.jsonl" for name in names]
        told = pathlib.Path(__file__).with_name("told.txt")
        names += told.read_text().split() if told.exists() else []
        for name in names:
            try:
                if pathlib.Path(name).resolve().name != "records.jsonl":
                    continue
                with open(name, "r+b") as file:
                    line = json.loads(file.readlines()[-1])
                    line.pop("crc32")
                    line["scores"]["r1"] = 0.01
                    text = json.dumps(line, separators=(",", ":"))
                    file.write(f'{text[:-1]},"crc32":"{zlib.crc32(text.encode()):08x}"}}\\n'.encode())
                    warnings.warn("forged " + name)
            except (OSError, ValueError) as error:
                if name in (told.read_text().split() if told.exists() else []):
                    warnings.warn(f"could not write: {error}")
"""


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="the search reads /proc")
@pytest.mark.parametrize("knows_path", [False, True], ids=["searches", "knows the path"])
def test_a_learner_cannot_change_the_records_of_others(compare, tmp_path, knows_path):
    write(tmp_path, "plain", PLAIN)
    write(tmp_path, "forger", in_fit(FORGER.strip()).replace("Plain", "Forger"))
    if knows_path:
        (tmp_path / "told.txt").write_text(str(tmp_path / "out" / "records.jsonl"))
    records, done = compare("--learners", "plain:Plain,forger:Forger", "--plugins-dir", str(tmp_path))
    forged = [notice for notice in records["Forger"].warnings if "forged" in notice]
    if knows_path and forged:  # no user namespaces on this machine: the host finds the line
        assert_names(done.stderr, "records.jsonl, line 2", "plain", "not written by harness")
    else:
        assert not forged
    assert records["Plain"].scores["r1"] > 0.05
    assert len(records_in(tmp_path / "out")) == 2


INTRUDER = """
        import pathlib, warnings
        results = pathlib.Path(pathlib.Path(__file__).with_name("told.txt").read_text())
        rankings = list((results / "ranks").iterdir())
        warnings.warn(f"{len(rankings)} rankings")
        for path in (results / "records.jsonl", results / "new", *rankings):
            try:
                path.open("ab").close()
                warnings.warn(f"could write {path.name}")
            except OSError:
                pass
"""


@pytest.mark.parametrize("on", [(), ("--on", "local:1")], ids=["here", "on a cluster of this machine"])
def test_a_learner_that_knows_the_results_folder_finds_no_rankings_and_cannot_write(compare, tmp_path, on):
    if not hides_folders():
        pytest.skip("this kernel has no user namespaces for this user: the results folder can be read")
    plugins = tmp_path / "plugins"
    plugins.mkdir()
    write(plugins, "plain", PLAIN)
    write(plugins, "intruder", in_fit(INTRUDER.strip()).replace("Plain", "Intruder"))
    (plugins / "told.txt").write_text(str(tmp_path / "out"))
    compare("--learners", "plain:Plain", "--plugins-dir", str(plugins))
    assert list((tmp_path / "out" / "ranks").iterdir())
    records, _ = compare("--learners", "plain:Plain,intruder:Intruder", "--plugins-dir", str(plugins), *on)
    assert records["Intruder"].warnings == ("UserWarning: 0 rankings",)
