"""What a run does now can be read from its folder, while it goes on and after it was killed."""

import pytest

from clusters import wait_until
from harness.api.status import STATUS, StatusProgress, keeping_status, read_status
from harness.cli.status import tell_seconds, tell_status
from harness.errors import StoreError
from harness.progress import Silence
from harness.store import open_store


@pytest.fixture
def records(make_record):
    return [make_record("pa", seed, dataset="digits", r1=0.5) for seed in range(3)]


def test_a_run_is_told_with_its_workers_and_an_estimate(tmp_path, records, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("harness.api.status.time.time", lambda: now[0])
    with open_store(tmp_path) as store, keeping_status(Silence(), tmp_path) as progress:
        progress.begin(3)
        progress.on_phase(records[0], "start", "one (tcp://1)")
        store.append(records[0])
        now[0] = 1010.0
        progress.on_record(records[0])
        now[0] = 1020.0
        progress.on_phase(records[1], "start", "two (tcp://2)")
        now[0] = 1030.0
        progress.on_phase(records[1], "fit", "two (tcp://2)")
        found = read_status(tmp_path)
        assert (found.kept, found.is_at_work) == (1, True)
        assert (found.run.total, found.run.done, found.run.seconds_left) == (3, 1, 60.0)
        told = "\n".join(tell_status(found, 1032.0))
        assert "1 of 3 trials done, 1 running; 32 s so far, about 60 s left" in told
        assert "two (tcp://2)" in told
        assert "pa on digits as tf, trial 2" in told
        assert "12 s" in told
    assert not (tmp_path / STATUS).exists()
    assert tell_status(read_status(tmp_path), 0.0) == [f"{tmp_path}: 1 record kept; no run is at work"]


def phases_in(folder):
    return [trial.phase for trial in read_status(folder).run.running]


def test_what_happens_last_is_told_though_nothing_happens_after_it(tmp_path, records):
    with open_store(tmp_path) as store, keeping_status(Silence(), tmp_path) as progress:
        store.append(records[0])
        progress.begin(3)
        progress.on_phase(records[1], "start")
        progress.on_phase(records[1], "fit")
        wait_until(
            lambda: [trial.phase for trial in read_status(tmp_path).run.running] == ["fit"], "the last phase", 10
        )
        progress.on_phase(records[1], "rank")
    assert not (tmp_path / STATUS).exists()


def test_a_run_that_was_killed_is_told_apart(tmp_path, records):
    with open_store(tmp_path) as store:
        store.append(records[0])
        StatusProgress(Silence(), tmp_path).begin(3)
    (line,) = tell_status(read_status(tmp_path), 0.0)
    assert line.endswith("no run is at work; the last run was killed: the same command goes on from there")


def test_a_damaged_status_is_as_none(tmp_path, records):
    with open_store(tmp_path) as store:
        store.append(records[0])
        (tmp_path / STATUS).write_text('{"total": "many"')
        assert tell_status(read_status(tmp_path), 0.0)[0].endswith("and has not come to its trials")


def test_a_folder_without_results_is_an_error(tmp_path):
    with pytest.raises(StoreError, match="is not a results folder"):
        read_status(tmp_path)


@pytest.mark.parametrize(
    ("seconds", "told"), [(0, "0 s"), (119.4, "119 s"), (120, "2 min"), (7199, "2 h 0 min"), (9000, "2 h 30 min")]
)
def test_times_are_told_as_people_say_them(seconds, told):
    assert tell_seconds(seconds) == told
