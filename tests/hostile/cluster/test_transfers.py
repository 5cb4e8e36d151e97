"""Interrupted transfers: the failing side is named, and other workers still get the artifact."""

import os
import signal
import threading

import pytest

from harness.errors import DataError
from internals import Caller, Transfers, WorkerGone, code_artifact, patch_internal, send_artifact
from messages import naming


@pytest.fixture
def parcel(tmp_path):
    file = tmp_path / "module.py"
    file.write_bytes(b"#" * 5_000_000)
    return code_artifact(tmp_path, [file])


def test_if_a_transfer_to_another_worker_fails_the_own_worker_is_tried(parcel, monkeypatch):
    first_is_sending, first_may_fail = threading.Event(), threading.Event()
    tried = []

    def send(_, worker, __):
        tried.append(worker)
        if worker == "first":
            first_is_sending.set()
            first_may_fail.wait(10)
            raise WorkerGone("killed")
        return 7

    patch_internal(monkeypatch, "send.send_artifact", send)
    transfers = Transfers(caller=None)
    failures = []

    def deliver_by_the_first():
        with pytest.raises(WorkerGone):
            transfers.send("home", "first", [parcel])
        failures.append("first")

    first = threading.Thread(target=deliver_by_the_first)
    first.start()
    assert first_is_sending.wait(10)
    second = threading.Thread(target=transfers.send, args=("home", "second", [parcel]))
    second.start()
    first_may_fail.set()
    first.join(10)
    second.join(10)
    assert (tried, failures, transfers.sent_bytes) == (["first", "second"], ["first"], 7)


def test_one_transfer_serves_all_workers_of_a_data_home(parcel, monkeypatch):
    is_sending, may_end = threading.Event(), threading.Event()
    tried = []

    def send(_, worker, __):
        tried.append(worker)
        is_sending.set()
        may_end.wait(10)
        return 7

    patch_internal(monkeypatch, "send.send_artifact", send)
    transfers = Transfers(caller=None)
    threads = [threading.Thread(target=transfers.send, args=("home", name, [parcel])) for name in "ab"]
    threads[0].start()
    assert is_sending.wait(10)
    threads[1].start()
    may_end.set()
    for thread in threads:
        thread.join(10)
    assert tried == ["a"]


def test_a_worker_killed_during_a_transfer_counts_as_lost(cluster, client, parcel, tmp_path):
    (tmp_path / "module.py").write_bytes(b"#" * 200_000_000)
    cluster.start("doomed")
    client.wait_for_workers(3, timeout=60)
    workers = client.scheduler_info(n_workers=-1)["workers"]
    (doomed,) = [address for address, facts in workers.items() if facts["name"] == "doomed"]
    caller = Caller(client)
    assert caller.call(doomed, os.getcwd)
    cluster.workers["doomed"].signal(signal.SIGSTOP)  # else the transfer might end before the kill
    killer = threading.Timer(1.0, cluster.kill, ["doomed"])
    killer.start()
    with pytest.raises(WorkerGone):
        send_artifact(caller, doomed, parcel)
    killer.join()


def test_an_unreadable_file_is_not_blamed_on_the_worker(client, parcel, tmp_path):
    (tmp_path / "module.py").unlink()
    with pytest.raises(DataError, match=naming("module.py")):
        send_artifact(Caller(client), next(iter(client.nthreads())), parcel)
