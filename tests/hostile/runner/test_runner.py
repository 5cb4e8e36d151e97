"""From plan to records: one record per trial, finished trials skipped or reused, data read once."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from harness.errors import DataError
from internals import (
    TRIALS,
    LocalExecutor,
    NullProgress,
    TrialNames,
    Workplace,
    as_planned,
    build,
    discover,
    field_names,
    open_store,
    pending,
    plan,
    prepare_dataset,
    read_ranks,
    read_records,
    resolve,
    reuse,
)
from runner_runs import run_all

PLUGIN = (Path(__file__).parents[2] / "parts" / "runner_plugin.py").read_text()


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
        with LocalExecutor(Workplace({"": TRIALS}, path=(str(folder),))) as executor:
            yield executor


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path / "home"))


@pytest.fixture
def catalog(folder):
    return discover([folder])


class Heard(NullProgress):
    """Records all progress events."""

    def __init__(self):
        self.data, self.phases, self.records = [], [], []

    def on_data(self, name):
        self.data.append(name)

    def on_phase(self, trial, phase, worker=""):
        self.phases.append((trial.label, phase))

    def on_record(self, record):
        self.phases.append((record.label, record.status))
        self.records.append(record)


def make_plan(catalog, executor, learners="first", datasets="tiny", progress=None, **more):
    resolved = resolve(build({"learners": learners, "datasets": datasets, **more}, "test", catalog), catalog)
    headers = {dataset.name: prepare_dataset(dataset, executor, progress) for dataset in resolved.datasets}
    return plan(resolved, headers).trials


# -- trials ----------------------------------------------------------------------------------------------------------


def test_each_trial_has_one_record_and_each_finished_one_its_ranks(tmp_path, catalog, executor):
    trials = make_plan(catalog, executor, "first,odd,killed", trials=2, seed=6)
    progress = Heard()
    with open_store(tmp_path / "out") as store:
        run_all(trials, catalog, executor, store, progress)
    records = read_records(tmp_path / "out")
    assert [record.key for record in records] == [trial.key for trial in trials]
    assert [record.status for record in records] == ["ok", "ok", "crash", "ok", "error", "crash"]
    for record in records:
        ranks = read_ranks(tmp_path / "out", record.key)
        assert (ranks is not None) == (record.status == "ok")
    assert progress.records == records
    assert progress.phases[0] == ("first", "start")
    assert [word for who, word in progress.phases if who == "killed"] == [
        "start",
        "load",
        "import",
        "warm-up",
        "crash",
    ] * 2


def test_a_record_has_all_facts_of_its_trial(tmp_path, catalog, executor):
    (trial,) = make_plan(catalog, executor, "mine=first", "tiny(rows=48)", trials=1, seed=5)
    with open_store(tmp_path / "out") as store:
        run_all([trial], catalog, executor, store)
        (record,) = store.records.values()
    assert read_records(tmp_path / "out") == [record]
    for name in field_names(TrialNames):
        assert getattr(record, name) == getattr(trial, name), name
    assert (record.label, record.learner, record.params) == ("mine", "first", {"random_state": 5})
    assert (record.dataset_params, record.seed, record.number) == ({"rows": 48}, 5, 0)
    assert (record.machine, record.threads, record.jobs) == ("m", 1, 1)
    assert record.versions["python"]
    assert record.started.endswith("+00:00")
    assert record.total_seconds > record.fit_seconds
    assert record.output == ""  # of no interest where all went well


def test_a_failure_record_has_status_phase_and_output(tmp_path, catalog, executor):
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


def test_parameters_reach_the_trial_unchanged(tmp_path, catalog, executor):
    (trial,) = make_plan(catalog, executor, "first(order=(2, 1), weights={'a': [1.5, None], 'b': 1e999})", trials=1)
    with open_store(tmp_path / "out") as store:
        run_all([trial], catalog, executor, store)
    (record,) = read_records(tmp_path / "out")
    assert (record.status, record.message) == ("ok", "")
    assert record.params["order"] == [2, 1]  # as JSON has it


@pytest.mark.parametrize("written", ["bag(first(order=(1, 2)))", "bag(base='first(order=(1, 2))')"])
def test_a_wrapper_runs_with_any_parameter_name(tmp_path, catalog, executor, written):
    trials = make_plan(catalog, executor, [written], trials=1)
    with open_store(tmp_path / "out") as store:
        run_all(trials, catalog, executor, store)
        (record,) = store.records.values()
    assert (record.status, record.message, record.label) == ("ok", "", "bag(first)")
    assert record.params == {"base": "first(order=(1, 2))"}


def test_an_estimator_parameter_runs_and_is_recorded_as_written(tmp_path, catalog, executor):
    written = "sklearn.multiclass:OneVsRestClassifier(estimator=sklearn.svm:LinearSVC(C=0.5))"
    trials = make_plan(catalog, executor, [written], trials=1)
    with open_store(tmp_path / "out") as store:
        run_all(trials, catalog, executor, store)
        (record,) = store.records.values()
    assert (record.status, record.message) == ("ok", "")
    assert record.params == {"estimator": "sklearn.svm:LinearSVC(C=0.5)"}
    assert read_records(tmp_path / "out") == [record]


# -- what is done already --------------------------------------------------------------------------------------------


def test_finished_trials_are_skipped_and_failed_ones_run_again_on_request(tmp_path, catalog, executor):
    trials = make_plan(catalog, executor, "first,odd", trials=2)
    with open_store(tmp_path / "out") as store:
        assert pending(trials, store, retry_failed=False) == list(trials)
        run_all(trials[:3], catalog, executor, store)
        assert pending(trials, store, retry_failed=False) == [trials[3]]
        run_all(trials[3:], catalog, executor, store)
        assert pending(trials, store, retry_failed=False) == []
        assert pending(trials, store, retry_failed=True) == [trials[3]]


def test_finished_trials_of_an_earlier_folder_are_reused_with_their_ranks(tmp_path, catalog, executor):
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
    for key in (trials[1].key, trials[2].key):
        assert records[key] == earlier[key]
        assert read_ranks(tmp_path / "new", key) == read_ranks(tmp_path / "old", key)


def test_a_reused_trial_gets_its_current_label_and_number(tmp_path, catalog, executor):
    old = make_plan(catalog, executor, "before=first", trials=2, seed=0)
    new = make_plan(catalog, executor, "after=first", trials=1, seed=1)
    assert old[1].key == new[0].key
    with open_store(tmp_path / "old") as store:
        run_all(old, catalog, executor, store)
        earlier = dict(store.records)
    with open_store(tmp_path / "new") as store:
        assert reuse(new, earlier, store, lambda key: read_ranks(tmp_path / "old", key)) == 1
        (record,) = store.records.values()
    assert (record.label, record.family, record.number) == ("after", "after", 0)
    assert replace(record, label="before", family="before", number=1) == earlier[old[1].key]
    assert as_planned(record, old[1]) == earlier[old[1].key]


# -- data ------------------------------------------------------------------------------------------------------------


def test_data_is_read_once_per_set_of_parameters(catalog, executor, log):
    log.write_text("")
    progress = Heard()
    first = make_plan(catalog, executor, progress=progress, trials=1)
    again = make_plan(catalog, executor, progress=progress, trials=1)
    other = make_plan(catalog, executor, datasets="tiny(rows=60)", progress=progress, trials=1)
    assert first == again
    assert first[0].fingerprint != other[0].fingerprint
    assert log.read_text() == "read 40\nread 60\n"
    assert progress.data == ["tiny", "tiny"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("failing", r"^dataset 'failing': the file is not there$"),
        ("leaving", r"^dataset 'leaving' could not be loaded: .*exit code 9 .*\nsome words before$"),
        ("wrong", r"^dataset 'wrong': its loader returned list, expected harness\.Dataset$"),
        ("without_numbers", r"^dataset 'without_numbers': row 0, feature 1 is nan"),
    ],
)
def test_unreadable_data_is_named_with_the_reason(catalog, executor, name, message):
    with pytest.raises(DataError, match=message):
        make_plan(catalog, executor, datasets=name)


def test_a_derived_dataset_is_made_once_from_the_stored_source(catalog, executor, log):
    log.write_text("")
    progress = Heard()
    whole, made = make_plan(catalog, executor, datasets="tiny,half(tiny)", progress=progress, trials=1)
    (again,) = make_plan(catalog, executor, datasets="half(whole=tiny)", progress=progress, trials=1)
    (other,) = make_plan(catalog, executor, datasets="half(tiny, first=false)", progress=progress, trials=1)
    assert log.read_text() == "read 40\n"
    assert progress.data == ["tiny", "half(tiny)", "half(tiny, first=False)"]
    assert made == again
    assert len({whole.fingerprint, made.fingerprint}) == 2
    assert other.dataset_params == {"whole": "tiny", "first": False}
    assert made.representation == "raw"


def test_a_loader_leaves_nothing_running(marked, catalog, executor):
    known = set(marked.alive())
    (trial,) = make_plan(catalog, executor, datasets="littering", trials=1)
    assert marked.left_behind(known) == {}
    assert trial.fingerprint


def test_the_ranks_of_a_record_belong_to_its_learner(tmp_path, catalog, executor):
    (trial,) = make_plan(catalog, executor, trials=1)
    with open_store(tmp_path / "out") as store:
        run_all([trial], catalog, executor, store)
    ranks = np.load(tmp_path / "out" / "ranks" / f"{trial.key}.npy")
    assert ranks.tolist() == [[0, 1, 2, 3, *[-1] * 6]] * 8
