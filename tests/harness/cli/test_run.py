"""`harness run` with good and bad learners: whole results, nothing left running, and the same command goes on."""

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from harness.record import Record, from_line
from harness_metrics.plugin import harness_metrics

PLUGIN = textwrap.dedent(
    '''
    """A plugin for the tests: one good learner and many bad ones."""

    import ctypes
    import os
    import signal
    import subprocess
    import sys
    import time

    import numpy as np

    from harness import LearnerSpec, hookimpl

    CLASSES = {
        "good": "Good", "chance": "Chance", "slow": "Slow", "tells": "Tells", "recovers": "Recovers",
        "raises": "Raises", "sometimes": "Sometimes", "hangs": "Hangs", "holds": "Holds", "exits": "Exits",
        "killed": "Killed", "faults": "Faults", "grows": "Grows", "shape": "Shape", "dtype": "Dtype",
        "wrong": "Wrong", "changes": "Changes", "prints": "Prints", "leaves": "Leaves",
    }


    @hookimpl
    def harness_learners():
        found = [LearnerSpec(name=name, load=f"company:{kind}", kind="flat") for name, kind in CLASSES.items()]
        return [*found, LearnerSpec(name="deadly", load="deadly:Deadly", preload=("deadly",))]


    class Good:
        """Scores classes by the sum of their rows."""

        def __init__(self, *, scale=1.0, random_state=None):
            self.scale, self.random_state = scale, random_state

        def fit(self, X, y):
            self.classes_ = np.unique(y)
            self.coef_ = np.array([np.asarray(X[y == c].sum(axis=0)).ravel() for c in self.classes_]) * self.scale
            return self

        def decision_function(self, X):
            return X @ self.coef_.T

        def predict(self, X):
            return self.classes_[self.decision_function(X).argmax(axis=1)]

        def rank(self, X, k):
            order = np.argsort(-self.decision_function(X), axis=1, kind="stable")[:, :k].astype(np.int32)
            return np.pad(order, ((0, 0), (0, k - order.shape[1])), constant_values=-1)


    class Chance(Good):
        """Draws its weights."""

        def fit(self, X, y):
            super().fit(X, y)
            self.coef_ = self.coef_ + np.random.RandomState(self.random_state).rand(*self.coef_.shape)
            return self


    class Slow(Good):
        def fit(self, X, y):
            time.sleep(0.1)
            with open(os.environ["RUN_TEST_LOG"], "a") as log:
                log.write(f"{self.random_state}\\n")
            return super().fit(X, y)


    class Tells(Good):
        """Writes down that it was trained."""

        def fit(self, X, y):
            with open(os.environ["RUN_TEST_LOG"], "a") as log:
                log.write("trained\\n")
            return super().fit(X, y)


    class Recovers(Good):
        """Fails until somebody puts things right."""

        def fit(self, X, y):
            if not os.path.exists(os.environ["RUN_TEST_LOG"]):
                raise RuntimeError("not yet")
            return super().fit(X, y)


    class Raises(Good):
        def fit(self, X, y):
            raise ValueError("it cannot be done")


    class Sometimes(Good):
        def fit(self, X, y):
            if self.random_state % 2:
                raise ValueError("an odd seed")
            return super().fit(X, y)


    class Hangs(Good):
        def fit(self, X, y):
            while True:
                time.sleep(0.01)


    class Holds(Good):
        """Hangs in compiled code with the interpreter's lock in its hands."""

        def rank(self, X, k):
            ctypes.PyDLL(None).sleep(1000)


    class Exits(Good):
        def fit(self, X, y):
            os._exit(0)


    class Killed(Good):
        def fit(self, X, y):
            os.kill(os.getpid(), signal.SIGKILL)


    class Faults(Good):
        def rank(self, X, k):
            ctypes.string_at(0)


    class Grows(Good):
        def fit(self, X, y):
            kept = []
            while True:
                kept.append(np.ones(10_000_000, np.uint8))


    class Shape(Good):
        def rank(self, X, k):
            return super().rank(X, k)[1:]


    class Dtype(Good):
        def rank(self, X, k):
            return super().rank(X, k).astype(np.float32)


    class Wrong(Good):
        def rank(self, X, k):
            return super().rank(X, k) + 10_000


    class Changes(Good):
        def fit(self, X, y):
            super().fit(X, y)
            X.data *= 2
            return self


    class Prints(Good):
        def fit(self, X, y):
            for _ in range(5000):
                print("words " * 300)
                print("more words " * 100, file=sys.stderr)
            return super().fit(X, y)


    class Leaves(Good):
        def fit(self, X, y):
            if os.fork() == 0:
                os.setsid()
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
                if os.fork() == 0:
                    time.sleep(1000)
                os._exit(0)
            subprocess.Popen(["sleep", "1000"], start_new_session=True)
            return super().fit(X, y)
    '''
)
DEADLY = """
import os

os._exit(5)


class Deadly:
    def __init__(self, *, random_state=None):
        pass
"""
DATA = "topics(rows=120,classes=5,features=200)"
PASSING = {"started", "machine", "versions", "commit", "peak_bytes", "base_bytes", "threads_in_force"}
"""Fields of a record that may differ between two runs of one trial, beside all times."""


def heed_ctrl_c():
    """A shell starts what it puts in the background deaf to Ctrl-C, and all below inherit that; these must hear it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Place:
    """Where the command runs: its plugins, its data home, a log that learners write."""

    def __init__(self, folder):
        self.folder = folder
        self.plugins, self.log = folder / "plugins", folder / "log"
        self.plugins.mkdir()
        (self.plugins / "company.py").write_text(PLUGIN)
        (self.plugins / "_hidden").mkdir()
        hidden = self.plugins / "_hidden"  # importable, yet no plugin
        (hidden / "deadly.py").write_text(DEADLY)
        paths = [str(hidden), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.environment = os.environ | {
            "HARNESS_DATA_HOME": str(folder / "home"),
            "RUN_TEST_LOG": str(self.log),
            "PYTHONPATH": os.pathsep.join(paths),
        }

    def command(self, learners, *more, data=DATA):
        command = [sys.executable, "-m", "harness", "run", "--plugins-dir", str(self.plugins)]
        return [*command, *(["--learners", learners, "--datasets", data] if learners else []), *map(str, more)]

    def run(self, learners, *more, code=0, before=(), **options):
        """Run the command to its end; `before` are words that go before it."""
        done = subprocess.run(
            [*before, *self.command(learners, *more, **options)],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == code, done.stderr
        return done

    def start(self, learners, *more, **options):
        """Start the command and leave it to the test."""
        return subprocess.Popen(
            self.command(learners, *more, **options),
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=heed_ctrl_c,  # noqa: PLW1509  # no thread is started here
        )

    def records(self, name):
        """All records of a results folder, every line of it."""
        lines = (self.folder / name / "records.jsonl").read_text().splitlines()
        return [from_line(line) for line in lines]

    def ranks(self, name):
        return {path.stem: np.load(path).tolist() for path in (self.folder / name / "ranks").glob("*.npy")}


@pytest.fixture(scope="module")
def place(tmp_path_factory, marked):
    return Place(tmp_path_factory.mktemp("place"))


@pytest.fixture(autouse=True)
def nothing_left(marked):
    """After each test, nothing is alive that was not before."""
    known = set(marked.alive())
    yield
    assert marked.left_behind(known) == {}


def lasting(record):
    """What must be the same whenever a trial runs: all but times, memory and circumstances."""
    kept = {name: value for name, value in vars(record).items() if name not in PASSING and "seconds" not in name}
    timed = {spec.name for spec in harness_metrics() if spec.timed}
    kept["scores"] = {name: value for name, value in record.scores.items() if name not in timed}
    return kept


# -- a good learner in bad company -----------------------------------------------------------------------------------

TIMEOUT = 4
BAD = {  # the status of each, and words of its message
    "raises": ("error", "during fit: ValueError: it cannot be done"),
    "hangs": ("timeout", f"killed during warm-up: over the limit of {TIMEOUT} s"),
    "holds": ("timeout", f"killed during warm-up: over the limit of {TIMEOUT} s"),
    "exits": ("crash", "exit code 0 during warm-up and gave no result"),
    "killed": ("crash", "ended by SIGKILL"),
    "faults": ("crash", "ended by SIGSEGV during warm-up"),
    "grows": ("memory", "MB resident, limit 400 MB"),
    "shape": ("error", "during rank: rank gave shape"),
    "dtype": ("error", "during rank: rank gave float32, expected signed integers"),
    "wrong": ("error", "during rank: rank gave class 1000"),
    "changes": ("error", "during fit: the learner changed the training X"),
    "deadly": ("crash", "exit code 5 during import"),
}
HARMLESS = ("prints", "leaves")


@pytest.fixture(scope="module")
def company(place, marked):
    """One run over all of them, the good one in the middle; and how long it took, and what it left running."""
    names = [*BAD, *HARMLESS, "sometimes"]
    names.insert(len(names) // 2, "good")
    limits = ("--timeout", f"{TIMEOUT}s", "--memory", "400MB", "--jobs", 2)
    known = set(marked.alive())
    start = time.monotonic()
    done = place.run(",".join(names), *limits, "--trials", 2, "--out", "company", code=1)
    return done, time.monotonic() - start, marked.left_behind(known), len(names)


def test_every_planned_trial_has_one_record_with_its_status_and_reason(place, company):
    records = place.records("company")
    assert Counter(record.label for record in records) == Counter(
        {**dict.fromkeys([*BAD, *HARMLESS], 2)}
        | {
            "good": 2,
            "sometimes": 2,
        }
    )
    assert len({record.key for record in records}) == len(records)
    for record in records:
        if record.label in BAD:
            status, words = BAD[record.label]
            assert (record.label, record.status) == (record.label, status), record.message
            assert words in record.message
            assert "during " in record.message
    assert [r.status for r in records if r.label in ("good", *HARMLESS)] == ["ok"] * 6
    assert sorted(r.status for r in records if r.label == "sometimes") == ["error", "ok"]


def test_the_good_one_has_the_same_results_as_alone(place, company):
    place.run("good", "--trials", 2, "--jobs", 2, "--out", "alone")
    alone = sorted(map(str, (lasting(record) for record in place.records("alone"))))
    among = sorted(map(str, (lasting(record) for record in place.records("company") if record.label == "good")))
    assert among == alone
    ranks = place.ranks("company")
    assert {key: ranks[key] for key in place.ranks("alone")} == place.ranks("alone")


def test_nothing_is_left_running_and_the_run_ends_within_its_limits(company):
    _, seconds, left, learners = company
    assert left == {}
    assert seconds < 2 * learners * TIMEOUT + 60


def test_the_table_shows_which_failed_how_and_how_many_of_how_many(company):
    done, _, _, learners = company
    table = done.stdout.partition("Mean ±")[0]
    lines = {line.split()[0]: line for line in table.splitlines() if line}
    for label, (status, _) in BAD.items():
        assert f"{status.upper()} 2/2" in lines[label]
        assert "0/2" in lines[label]
    assert "1/2, ERROR 1/2" in lines["sometimes"]
    assert "2" in lines["good"].split()
    failed = 2 * len(BAD) + 1
    assert f"{failed} of {2 * learners} trials failed; tracebacks are in company/records.jsonl" in done.stderr
    assert "words words" not in done.stdout + done.stderr  # what learners print is not the command's own
    assert "Traceback" not in done.stderr
    assert "module 'deadly' ended the process that imported it: not preloaded" in done.stderr


def test_what_a_failed_trial_printed_or_raised_is_in_its_record(place, company):
    records = {record.label: record for record in place.records("company")}
    assert 'raise ValueError("it cannot be done")' in records["raises"].traceback
    assert records["raises"].total_seconds > 0
    assert records["hangs"].total_seconds >= TIMEOUT
    assert records["prints"].output == ""


# -- going on --------------------------------------------------------------------------------------------------------


def test_the_same_command_again_runs_nothing(place, company):
    before = (place.folder / "company" / "records.jsonl").read_bytes()
    names = [record.label for record in place.records("company") if record.seed == 0]
    done = place.run(",".join(sorted(names)), "--trials", 2, "--out", "company", code=1)
    assert (place.folder / "company" / "records.jsonl").read_bytes() == before
    assert "nothing left to run" in done.stderr
    assert "32 of 32 trials are done already" in done.stderr
    assert "25 of them failed (--retry-failed runs those again)" in done.stderr
    assert "TIMEOUT 2/2" in done.stdout


def test_failed_trials_run_again_when_asked_and_more_trials_extend(place):
    place.log.unlink(missing_ok=True)
    command = ("good,recovers", "--out", "extended", "--trials")
    place.run(*command, 1, code=1)
    first = place.records("extended")
    assert [(r.label, r.status) for r in first] == [("good", "ok"), ("recovers", "error")]

    place.log.write_text("")
    place.run(*command, 1, code=1)  # still failed: nobody asked to try again
    assert place.records("extended") == first

    done = place.run(*command, 1, "--retry-failed")
    assert "1 of 2 trials are done already" in done.stderr
    assert [(r.label, r.status) for r in place.records("extended")[2:]] == [("recovers", "ok")]
    assert "2 trials failed" not in done.stderr

    done = place.run(*command, 3)
    assert "2 of 6 trials are done already" in done.stderr
    assert sorted((r.label, r.seed) for r in place.records("extended")[3:]) == [
        ("good", 1),
        ("good", 2),
        ("recovers", 1),
        ("recovers", 2),
    ]


def test_finished_trials_of_another_folder_are_taken_over(place):
    place.log.unlink(missing_ok=True)
    place.run("good,recovers", "--trials", 2, "--out", "old", code=1)
    place.log.write_text("")
    more = ("--trials", 3, "--out", "new", "--reuse", "old")
    done = place.run("fine=good,recovers", *more)
    assert "2 finished trials taken from old" in done.stderr
    assert "4 trials to run" in done.stderr
    old = {r.key: r for r in place.records("old") if r.status == "ok"}
    new = {r.key: r for r in place.records("new")}
    assert len(new) == len(place.records("new")) == 6
    assert {new[key].started for key in old} == {record.started for record in old.values()}
    assert {new[key].label for key in old} == {"fine"}
    assert place.ranks("new").keys() == new.keys()
    assert "itself" in place.run("good", *more[:-1], "new", code=2).stderr


def test_a_trial_done_under_another_label_is_not_repeated_and_shown_by_the_present_one(place):
    place.run("one=good", "--trials", 1, "--out", "labelled")
    done = place.run("two=good", "--trials", 1, "--out", "labelled")
    assert "nothing left to run" in done.stderr
    assert "\ntwo " in done.stdout
    assert "\none " not in done.stdout


# -- sudden ends -----------------------------------------------------------------------------------------------------


def test_killed_at_any_moment_the_same_command_goes_on_and_repeats_nothing(place, marked):
    """Many times over, from the very first start, also while the data set is being read."""
    rounds, trials = 12, 30
    chance = random.Random(7)
    command = ("slow", "--trials", trials, "--out", "killed", "--jobs", 2)
    data = "topics(rows=121,classes=5,features=200)"  # nobody has read it yet
    path = place.folder / "killed" / "records.jsonl"
    place.log.unlink(missing_ok=True)
    known = set(marked.alive())
    kept = []
    for number in range(rounds):
        with place.start(*command, data=data) as running:
            while number % 2 and (line := running.stderr.readline()) and "✓" not in line:
                pass  # every other time in the middle of trials, however long the start takes
            time.sleep(chance.uniform(0, 0.7) if number % 2 else chance.uniform(0.2, 2.0))
            running.kill()
            running.communicate()
        assert marked.left_behind(known) == {}
        now = place.records("killed") if path.exists() else []
        assert now[: len(kept)] == kept  # none lost, none changed
        assert len({record.key for record in now}) == len(now)
        kept = now
    assert kept
    place.log.unlink()
    place.run(*command, data=data)
    records = place.records("killed")
    assert records[: len(kept)] == kept
    assert sorted(record.seed for record in records) == list(range(trials))
    trained = set(map(int, place.log.read_text().split())) if place.log.exists() else set()
    assert trained == {record.seed for record in records} - {record.seed for record in kept}
    assert {record.status for record in records} == {"ok"}
    assert place.ranks("killed").keys() == {record.key for record in records}
    assert not (place.folder / "killed" / "damaged.jsonl").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "terminate"])
def test_an_interrupted_run_keeps_what_is_done_and_says_how_to_go_on(place, number):
    name = f"interrupted-{number}"
    command = ("slow,leaves", "--trials", 6, "--out", name)
    with place.start(*command) as running:
        lines = []
        while not lines or "2/12" not in lines[-1]:
            lines.append(running.stderr.readline())
            assert lines[-1], lines
        running.send_signal(number)
        _, errors = running.communicate(timeout=60)
    assert running.returncode == 130
    kept = len(place.records(name))
    assert 2 <= kept < 12
    assert f"interrupted: {kept} of 12 trials are kept in {name}; the same command goes on from there" in errors
    assert "Traceback" not in errors
    done = place.run(*command)
    assert f"{kept} of 12 trials are done already" in done.stderr
    assert len({record.key for record in place.records(name)}) == len(place.records(name)) == 12


def test_an_interrupt_before_the_first_trial_ends_cleanly_too(place):
    with place.start("slow", "--trials", 2, "--out", "early", data="topics(rows=300000)") as running:
        assert running.stderr.readline().startswith("reading data set topics")
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    assert (running.returncode, errors.strip()) == (130, "interrupted")
    assert not (place.folder / "early").exists()


def test_a_second_run_into_the_same_folder_is_refused_with_the_first_ones_pid(place):
    with place.start("slow", "--trials", 30, "--out", "shared") as running:
        while "1/30" not in running.stderr.readline():
            assert running.poll() is None
        done = place.run("good", "--trials", 1, "--out", "shared", code=2)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=60)
    assert f"shared is being written by process {running.pid}: " in done.stderr
    assert running.returncode == 130


def test_a_folder_that_cannot_be_made_is_a_clear_error(place):
    (place.folder / "file").write_text("")
    for folder in ("file", "/proc/nowhere"):
        done = place.run("good", "--out", folder, code=2)
        assert f"harness: cannot write to {folder}: " in done.stderr
        assert "Traceback" not in done.stderr


def test_a_disk_that_gets_full_is_a_clear_error_and_costs_no_finished_trial(place):
    """The limit on a file's size stands in for the disk's."""
    command = ("good", "--trials", 9, "--out", "full")
    place.run("good", "--trials", 1, "--out", "before")  # so that the data set is read already
    limited = ("bash", "-c", 'ulimit -f 8; exec "$@"', "bash")
    done = place.run(*command, before=limited, code=2)
    kept = len(place.records("full"))
    assert 0 < kept < 9
    assert (
        f"harness: cannot write to full: File too large; the {kept} trials before are safe: "
        "make room and give the same command again\n"
    ) in done.stderr
    assert f"{kept} of 9 trials are done already" in place.run(*command).stderr
    assert sorted(record.seed for record in place.records("full")) == list(range(9))


def test_a_damaged_record_is_named_and_its_trial_runs_again(place):
    command = ("good", "--trials", 3, "--out", "damaged")
    place.run(*command)
    path = place.folder / "damaged" / "records.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1].replace(b'"status":"ok"', b'"status":"ko"') + lines[2][:50])
    done = place.run(*command)
    assert "records.jsonl, line 2: changed since it was written" in done.stderr
    assert "records.jsonl, line 3: torn" in done.stderr
    assert "2 trials to run" in done.stderr
    assert sorted(record.seed for record in place.records("damaged")) == [0, 1, 2]
    assert len((place.folder / "damaged" / "damaged.jsonl").read_bytes().splitlines()) == 2


# -- what decides a result, and what does not ------------------------------------------------------------------------

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
    (folder,) = (place.folder / "results").glob("mine-*")
    found = [
        (r.dataset, r.label, r.params["scale"], r.representation, r.split, r.seed)
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
    assert "4 trials, 2 at once, 1 thread(s) each; time limit 90 s, memory limit 2 GB" in done.stdout


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
