"""The status of a run, read from its folder while it runs and after it was killed."""

import pytest

from clusters import wait_until
from harness.errors import StoreError
from internals import (
    STATUS,
    NullProgress,
    StatusProgress,
    describe_status,
    format_seconds,
    open_store,
    read_status,
    write_status,
)
from messages import assert_names, naming


@pytest.fixture
def records(make_record):
    return [make_record("pa", seed, dataset="digits", r1=0.5) for seed in range(3)]


def test_the_status_has_workers_and_an_estimate(tmp_path, records, monkeypatch):
    now = [1000.0]
    monkeypatch.setattr("time.time", lambda: now[0])
    with open_store(tmp_path) as store, write_status(NullProgress(), tmp_path) as progress:
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
        message = "\n".join(describe_status(found, 1032.0))
        assert_names(message, "1", "3", "32", "60")
        assert "two (tcp://2)" in message
        assert_names(message, "2", "trial")
        assert "12 s" in message
    assert not (tmp_path / STATUS).exists()
    assert describe_status(read_status(tmp_path), 0.0) == [f"{tmp_path}: 1 record; no run is active"]


def phases_in(folder):
    return [trial.phase for trial in read_status(folder).run.running]


def test_the_last_event_is_written_without_a_later_one(tmp_path, records):
    with open_store(tmp_path) as store, write_status(NullProgress(), tmp_path) as progress:
        store.append(records[0])
        progress.begin(3)
        progress.on_phase(records[1], "start")
        progress.on_phase(records[1], "fit")
        wait_until(
            lambda: [trial.phase for trial in read_status(tmp_path).run.running] == ["fit"], "the last phase", 10
        )
        progress.on_phase(records[1], "rank")
    assert not (tmp_path / STATUS).exists()


def test_a_killed_run_is_recognised(tmp_path, records):
    with open_store(tmp_path) as store:
        store.append(records[0])
        StatusProgress(NullProgress(), tmp_path).begin(3)
    (line,) = describe_status(read_status(tmp_path), 0.0)
    assert_names(line, "killed")


def test_a_damaged_status_file_counts_as_missing(tmp_path, records):
    with open_store(tmp_path) as store:
        store.append(records[0])
        (tmp_path / STATUS).write_text('{"total": "many"')
        assert_names(describe_status(read_status(tmp_path), 0.0)[0], "trials")


def test_a_folder_without_results_is_an_error(tmp_path):
    with pytest.raises(StoreError, match=naming("results", "folder")):
        read_status(tmp_path)


@pytest.mark.parametrize(
    ("seconds", "message"), [(0, "0 s"), (119.4, "119 s"), (120, "2 min"), (7199, "2 h 0 min"), (9000, "2 h 30 min")]
)
def test_durations_are_formatted_in_plain_units(seconds, message):
    assert format_seconds(seconds) == message
