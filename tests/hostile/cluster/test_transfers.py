"""Interrupted transfers: the failing side is named, and other workers still get the artifact."""

import socket
import threading

import pytest

from harness.errors import DataError
from internals import TOKEN_LETTERS, NoStream, Transfers, WorkerGone, code_artifact, patch_internal, send_stream
from messages import naming


@pytest.fixture
def parcel(tmp_path):
    file = tmp_path / "module.py"
    file.write_bytes(b"#" * 5_000_000)
    return code_artifact(tmp_path, [file])


class WithoutTLS:
    """The part of a client that a stream needs."""

    class security:  # noqa: N801 (as dask calls it)
        @staticmethod
        def get_connection_args(_):
            return {}


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


@pytest.fixture
def listening():
    """Accept part of an artifact, then close the connection."""
    listener = socket.create_server(("127.0.0.1", 0))

    def take_some():
        channel, _ = listener.accept()
        with channel:
            channel.recv(TOKEN_LETTERS + 1000)

    thread = threading.Thread(target=take_some)
    thread.start()
    host, port = listener.getsockname()
    yield {"host": host, "port": port, "token": "x" * TOKEN_LETTERS}
    thread.join(10)
    listener.close()


def test_a_broken_connection_counts_as_a_lost_worker(listening, parcel):
    with pytest.raises(WorkerGone):
        send_stream(WithoutTLS, listening, parcel)


def test_an_unreadable_file_is_not_blamed_on_the_worker(listening, parcel, tmp_path):
    (tmp_path / "module.py").unlink()
    with pytest.raises(DataError, match=naming("module.py")):
        send_stream(WithoutTLS, listening, parcel)


@pytest.mark.parametrize("place", [{}, {"host": "127.0.0.1", "port": 1, "token": "x"}], ids=["no place", "no listener"])
def test_without_a_listener_an_artifact_goes_through_the_scheduler(place, parcel):
    with pytest.raises(NoStream):
        send_stream(WithoutTLS, place, parcel)
