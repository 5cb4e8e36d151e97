"""From plan to records: one for each trial, done ones skipped or taken over, and data read once, apart."""

import textwrap
from dataclasses import fields, replace

import numpy as np
import pytest
from harness.experiment.spec import build

from harness.errors import DataError
from harness.executors.base import Workplace
from harness.executors.local import LocalExecutor
from harness.experiment.plan import plan
from harness.experiment.resolve import resolve
from harness.host import discover
from harness.record import Record
from harness.runner import Conditions, Listener, pending, prepare_data, reuse, run_trials
from harness.store import open_store, read_ranks, read_records

PLUGIN = textwrap.dedent(
    '''
    """A plugin for the tests: learners and data sets, good and bad."""

    import os
    import signal
    import time

    import numpy as np
    from scipy.sparse import csr_array

    from harness import Dataset, DatasetSpec, LearnerSpec, hookimpl


    @hookimpl
    def harness_learners():
        return [
            LearnerSpec(name="first", load="runner_plugin:First"),
            LearnerSpec(name="odd", load="runner_plugin:FailsInOddTrials"),
            LearnerSpec(name="killed", load="runner_plugin:KillsItself"),
        ]


    @hookimpl
    def harness_datasets():
        names = ("tiny", "failing", "leaving", "wrong", "without_numbers", "littering")
        return [DatasetSpec(name=name, load=f"runner_plugin:{name}", representation="raw") for name in names]


    class First:
        """Ranks the classes in the order of their numbers."""

        def __init__(self, *, order=(), weights=None, random_state=None):
            self.order, self.weights, self.random_state = order, weights, random_state

        def fit(self, X, y):
            self.classes_ = np.unique(y)
            if not isinstance(self.order, tuple):
                raise TypeError(f"order is a tuple, got {self.order!r}")
            if self.weights not in (None, {"a": [1.5, None], "b": float("inf")}):
                raise ValueError(f"weights are {self.weights!r}")
            return self

        def rank(self, X, k):
            order = np.arange(len(self.classes_), dtype=np.int32)[:k]
            return np.tile(np.pad(order, (0, k - len(order)), constant_values=-1), (X.shape[0], 1))

        def predict(self, X):
            return np.full(X.shape[0], self.classes_[0])


    class FailsInOddTrials(First):
        def __init__(self, *, random_state=None):
            super().__init__(random_state=random_state)

        def fit(self, X, y):
            if self.random_state % 2:
                print("odd indeed")
                raise ValueError("an odd seed")
            return super().fit(X, y)


    class KillsItself(First):
        def fit(self, X, y):
            os.kill(os.getpid(), signal.SIGKILL)


    def tiny(*, rows=40):
        with open(os.environ["RUNNER_TEST_LOG"], "a") as log:
            log.write(f"read {rows}\\n")
        X = csr_array(np.eye(4, dtype=np.float32)[np.arange(rows) % 4])
        return Dataset(X, np.arange(rows) % 4, ("a", "b", "c", "d"))


    def failing():
        raise ValueError("the file is not there")


    def leaving():
        print("some words before")
        os._exit(9)


    def wrong():
        return [1, 2, 3]


    def without_numbers():
        X = csr_array(np.array([[1.0, np.nan], [2.0, 1.0], [1.0, 1.0], [3.0, 1.0]]))
        return Dataset(X, np.array([0, 1, 0, 1]), ("a", "b"))


    def littering():
        if os.fork() == 0:
            os.setsid()
            time.sleep(1000)
        return tiny(rows=44)
    '''
)
CONDITIONS = Conditions(threads=1, jobs=1, timeout_seconds=60.0, memory_bytes=None, machine_id="m")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugins")
    (folder / "runner_plugin.py").write_text(PLUGIN)
    return folder


@pytest.fixture(scope="module")
def log(tmp_path_factory):
    return tmp_path_factory.mktemp("log") / "log"


@pytest.fixture(scope="module")
def executor(marked, folder, log):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RUNNER_TEST_LOG", str(log))
        with LocalExecutor(Workplace(("harness.trials.running",), path=(str(folder),))) as executor:
            yield executor


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path / "home"))


@pytest.fixture
def catalog(folder):
    return discover([folder])


def make_plan(catalog, executor, learners="first", datasets="tiny", listener=None, **more):
    resolved = resolve(build({"learners": learners, "datasets": datasets, **more}, "test"), catalog)
    return plan(resolved, prepare_data(resolved, executor, listener or Listener()))


def run_all(trials, catalog, executor, store, listener=None):
    run_trials(trials, catalog.metrics, CONDITIONS, executor, store, listener or Listener())


# -- trials ----------------------------------------------------------------------------------------------------------


def test_each_trial_has_one_record_and_each_good_one_its_ranks(tmp_path, catalog, executor):
    trials = make_plan(catalog, executor, "first,odd,killed", trials=2, seed=6)
    heard = []
    listener = Listener(
        on_phase=lambda trial, phase: heard.append((trial.label, phase)),
        on_record=lambda record: heard.append((record.label, record.status)),
    )
    with open_store(tmp_path / "out") as store:
        run_all(trials, catalog, executor, store, listener)
    records = read_records(tmp_path / "out")
    assert [record.key for record in records] == [trial.key for trial in trials]
    assert [record.status for record in records] == ["ok", "ok", "crash", "ok", "error", "crash"]
    for record in records:
        ranks = read_ranks(tmp_path / "out", record.key)
        assert (ranks is not None) == (record.status == "ok")
    assert heard[0] == ("first", "start")
    assert [word for who, word in heard if who == "killed"] == ["start", "load", "import", "warm-up", "crash"] * 2


def test_a_record_says_all_that_is_known_of_its_trial(tmp_path, catalog, executor):
    (trial,) = make_plan(catalog, executor, "mine=first", "tiny(rows=48)", trials=1, seed=5)
    with open_store(tmp_path / "out") as store:
        run_all([trial], catalog, executor, store)
        (record,) = store.records.values()
    assert read_records(tmp_path / "out") == [record]
    for field in fields(Record):
        if hasattr(trial, field.name):
            assert getattr(record, field.name) == getattr(trial, field.name), field.name
    assert (record.label, record.learner, record.params) == ("mine", "first", {"random_state": 5})
    assert (record.dataset_params, record.seed, record.number) == ({"rows": 48}, 5, 0)
    assert (record.machine, record.threads, record.jobs) == ("m", 1, 1)
    assert record.versions["python"]
    assert record.started.endswith("+00:00")
    assert record.total_seconds > record.fit_seconds
    assert record.output == ""  # of no interest where all went well


def test_a_record_of_a_failure_says_how_where_and_what_was_printed(tmp_path, catalog, executor):
    trials = make_plan(catalog, executor, "odd,killed", trials=1, seed=1)
    with open_store(tmp_path / "out") as store:
        run_all(trials, catalog, executor, store)
        odd, killed = store.records.values()
    assert (odd.status, odd.message) == ("error", "during fit: ValueError: an odd seed")
    assert "an odd seed" in odd.traceback
    assert "odd indeed" in odd.output
    assert killed.status == "crash"
    assert "SIGKILL" in killed.message
    assert killed.message.endswith("during warm-up")
    assert killed.scores == {}
    assert killed.total_seconds > 0


def test_parameters_arrive_in_the_trial_as_they_were_given(tmp_path, catalog, executor):
    (trial,) = make_plan(catalog, executor, "first(order=(2, 1), weights={'a': [1.5, None], 'b': 1e999})", trials=1)
    with open_store(tmp_path / "out") as store:
        run_all([trial], catalog, executor, store)
    (record,) = read_records(tmp_path / "out")
    assert (record.status, record.message) == ("ok", "")
    assert record.params["order"] == [2, 1]  # as JSON has it


# -- what is done already --------------------------------------------------------------------------------------------


def test_done_trials_are_skipped_and_failed_ones_run_again_only_when_asked(tmp_path, catalog, executor):
    trials = make_plan(catalog, executor, "first,odd", trials=2)
    with open_store(tmp_path / "out") as store:
        assert pending(trials, store, retry_failed=False) == list(trials)
        run_all(trials[:3], catalog, executor, store)
        assert pending(trials, store, retry_failed=False) == [trials[3]]
        run_all(trials[3:], catalog, executor, store)
        assert pending(trials, store, retry_failed=False) == []
        assert pending(trials, store, retry_failed=True) == [trials[3]]


def test_finished_trials_of_an_earlier_folder_are_taken_over_with_their_ranks(tmp_path, catalog, executor):
    trials = make_plan(catalog, executor, "first,odd", trials=2)
    with open_store(tmp_path / "old") as store:
        run_all(trials, catalog, executor, store)
    earlier = {record.key: record for record in read_records(tmp_path / "old")}
    with open_store(tmp_path / "new") as store:
        store.append(replace(earlier[trials[0].key], started="kept"), b"ranks")
        assert reuse(trials, earlier, store, lambda key: read_ranks(tmp_path / "old", key)) == 2
        assert pending(trials, store, retry_failed=False) == [trials[3]]
    records = {record.key: record for record in read_records(tmp_path / "new")}
    assert records[trials[0].key].started == "kept"
    for trial in trials[1:3]:
        assert records[trial.key] == earlier[trial.key]
        assert read_ranks(tmp_path / "new", trial.key) == read_ranks(tmp_path / "old", trial.key)


def test_a_trial_taken_over_goes_by_its_present_label_and_number(tmp_path, catalog, executor):
    old = make_plan(catalog, executor, "before=first", trials=2, seed=0)
    new = make_plan(catalog, executor, "after=first", trials=1, seed=1)
    assert old[1].key == new[0].key
    with open_store(tmp_path / "old") as store:
        run_all(old, catalog, executor, store)
        earlier = dict(store.records)
    with open_store(tmp_path / "new") as store:
        assert reuse(new, earlier, store, lambda key: read_ranks(tmp_path / "old", key)) == 1
        (record,) = store.records.values()
    assert (record.label, record.number) == ("after", 0)


# -- data ------------------------------------------------------------------------------------------------------------


def test_data_is_read_once_for_each_set_of_parameters(catalog, executor, log):
    log.write_text("")
    told = []
    listener = Listener(on_data=told.append)
    first = make_plan(catalog, executor, listener=listener, trials=1)
    again = make_plan(catalog, executor, listener=listener, trials=1)
    other = make_plan(catalog, executor, datasets="tiny(rows=60)", listener=listener, trials=1)
    assert first == again
    assert first[0].fingerprint != other[0].fingerprint
    assert log.read_text() == "read 40\nread 60\n"
    assert told == ["tiny", "tiny"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("failing", r"^data set 'failing': the file is not there$"),
        ("leaving", r"^data set 'leaving' could not be loaded: .*exit code 9 .*\nsome words before$"),
        ("wrong", r"^data set 'wrong': its loader gave list, expected harness\.Dataset$"),
        ("without_numbers", r"^data set 'without_numbers': row 0, feature 1 is nan"),
    ],
)
def test_data_that_cannot_be_read_is_named_with_the_reason(catalog, executor, name, message):
    with pytest.raises(DataError, match=message):
        make_plan(catalog, executor, datasets=name)


def test_a_loader_leaves_nothing_running(marked, catalog, executor):
    known = set(marked.alive())
    (trial,) = make_plan(catalog, executor, datasets="littering", trials=1)
    assert marked.left_behind(known) == {}
    assert trial.fingerprint


def test_the_ranks_of_a_record_are_those_of_its_learner(tmp_path, catalog, executor):
    (trial,) = make_plan(catalog, executor, trials=1)
    with open_store(tmp_path / "out") as store:
        run_all([trial], catalog, executor, store)
    ranks = np.load(tmp_path / "out" / "ranks" / f"{trial.key}.npy")
    assert ranks.tolist() == [[0, 1, 2, 3, *[-1] * 6]] * 4
