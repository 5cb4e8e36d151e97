"""Deliveries that break off: whoever was at fault is named, and whoever was not gets what it needs all the same."""

import socket
import threading

import pytest

from harness.cluster import delivering
from harness.cluster.calling import WorkerGone
from harness.cluster.delivering import Deliveries
from harness.cluster.parcels import code_parcel
from harness.cluster.streaming import WORD_LETTERS, NoStream, send_stream
from harness.errors import DataError


@pytest.fixture
def parcel(tmp_path):
    file = tmp_path / "module.py"
    file.write_bytes(b"#" * 5_000_000)
    return code_parcel(tmp_path, [file])


class WithoutTLS:
    """As much of a client as a stream asks for."""

    class security:  # noqa: N801 (as dask calls it)
        @staticmethod
        def get_connection_args(_):
            return {}


def test_where_another_workers_delivery_fails_ones_own_worker_is_tried(parcel, monkeypatch):
    first_is_sending, first_may_fail = threading.Event(), threading.Event()
    tried = []

    def send(_, worker, __):
        tried.append(worker)
        if worker == "first":
            first_is_sending.set()
            first_may_fail.wait(10)
            raise WorkerGone("killed")
        return 7

    monkeypatch.setattr(delivering, "send_parcel", send)
    deliveries = Deliveries(caller=None)
    failures = []

    def deliver_by_the_first():
        with pytest.raises(WorkerGone):
            deliveries.deliver("home", "first", [parcel])
        failures.append("first")

    first = threading.Thread(target=deliver_by_the_first)
    first.start()
    assert first_is_sending.wait(10)
    second = threading.Thread(target=deliveries.deliver, args=("home", "second", [parcel]))
    second.start()
    first_may_fail.set()
    first.join(10)
    second.join(10)
    assert (tried, failures, deliveries.sent_bytes) == (["first", "second"], ["first"], 7)


def test_one_delivery_serves_all_that_share_a_home(parcel, monkeypatch):
    is_sending, may_end = threading.Event(), threading.Event()
    tried = []

    def send(_, worker, __):
        tried.append(worker)
        is_sending.set()
        may_end.wait(10)
        return 7

    monkeypatch.setattr(delivering, "send_parcel", send)
    deliveries = Deliveries(caller=None)
    threads = [threading.Thread(target=deliveries.deliver, args=("home", name, [parcel])) for name in "ab"]
    threads[0].start()
    assert is_sending.wait(10)
    threads[1].start()
    may_end.set()
    for thread in threads:
        thread.join(10)
    assert tried == ["a"]


@pytest.fixture
def listening():
    """A place that takes some of a parcel and then closes without a word."""
    listener = socket.create_server(("127.0.0.1", 0))

    def take_some():
        channel, _ = listener.accept()
        with channel:
            channel.recv(WORD_LETTERS + 1000)

    thread = threading.Thread(target=take_some)
    thread.start()
    host, port = listener.getsockname()
    yield {"host": host, "port": port, "word": "x" * WORD_LETTERS}
    thread.join(10)
    listener.close()


def test_a_connection_that_breaks_off_is_a_worker_that_has_gone(listening, parcel):
    with pytest.raises(WorkerGone):
        send_stream(WithoutTLS, listening, parcel)


def test_a_file_that_cannot_be_read_is_not_the_workers_fault(listening, parcel, tmp_path):
    (tmp_path / "module.py").unlink()
    with pytest.raises(DataError, match=r"module\.py cannot be read: No such file"):
        send_stream(WithoutTLS, listening, parcel)


@pytest.mark.parametrize("place", [{}, {"host": "127.0.0.1", "port": 1, "word": "x"}], ids=["no place", "no listener"])
def test_where_nobody_listens_a_parcel_goes_another_way(place, parcel):
    with pytest.raises(NoStream):
        send_stream(WithoutTLS, place, parcel)
