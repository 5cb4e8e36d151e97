"""The same code everywhere: a worker that differs is named and refused, or what differs is told; the rest is sent."""

import sys

import pytest

from clusters import RealCluster, client_of, wait_until
from harness.cluster.calling import Caller, WorkerGone
from harness.cluster.describing import CodeTarget
from harness.cluster.parcels import code_parcel
from harness.cluster.sending import NotDelivered, send_parcel
from harness.errors import HarnessError
from job_runs import job, run

OTHER_NUMPY = "Metadata-Version: 2.1\nName: numpy\nVersion: 0.0.1\n"


@pytest.fixture(scope="module")
def other_path(tmp_path_factory):
    """A folder that makes whoever has it on the path another machine: an older numpy, other code of a module."""
    folder = tmp_path_factory.mktemp("other")
    (folder / "numpy-0.0.1.dist-info").mkdir()
    (folder / "numpy-0.0.1.dist-info" / "METADATA").write_text(OTHER_NUMPY)
    (folder / "of_the_users.py").write_text("def score():\n    return 2\n")
    return folder


@pytest.fixture(scope="module")
def host_path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("users")
    (folder / "of_the_users.py").write_text("def score():\n    return 1\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(folder), *sys.path])
        yield folder


@pytest.fixture(scope="module")
def cluster(marked, tmp_path_factory, other_path):
    folder = tmp_path_factory.mktemp("cluster")
    cluster = RealCluster(folder, env={"HARNESS_DATA_HOME": str(folder / "home"), "HARNESS_OWN_COPIES": "1"})
    cluster.start("same")
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def client(cluster):
    client = client_of(cluster)
    client.wait_for_workers(1, timeout=60)
    yield client
    client.close()


TARGETS = {"users": CodeTarget("of_the_users:score", "of_the_users.py")}


def test_modules_are_sent_and_found_before_code_is_compared(client, make_executor, host_path):
    code = (code_parcel(host_path, [host_path / "of_the_users.py"]),)
    executor = make_executor(client, targets=TARGETS)
    object.__setattr__(executor._luggage, "code", (*executor._luggage.code, *code))
    assert run(executor, "answer", value=1).status == "ok"
    assert executor.deliveries.sent_bytes > 0


def test_a_module_that_is_not_there_is_a_difference(client, make_executor, host_path):
    executor = make_executor(client, targets=TARGETS)
    with pytest.raises(HarnessError, match=r"worker tcp://.*: same: has other code of users: give all workers"):
        run(executor, "answer", value=1)


def test_parcels_also_go_by_the_scheduler_where_a_worker_is_out_of_reach(client, tmp_path):
    (address,) = client.nthreads()
    for number, direct in enumerate([True, False]):
        folder = tmp_path / f"folder{number}"
        folder.mkdir()
        (folder / "file.py").write_bytes(b"x" * 20_000_000)
        parcel = code_parcel(folder, [folder / "file.py"])
        caller = Caller(client)
        caller._direct[address] = direct
        assert send_parcel(caller, address, parcel) == 20_000_000
        assert client.run(_size_of, parcel)[address] == 20_000_000


def _size_of(parcel):
    return (parcel.place / "file.py").stat().st_size


_size_of.__module__ = "__main__"  # sent by value: workers know nothing of tests


def test_a_worker_that_differs_is_refused_by_name_or_allowed_and_told(
    cluster, client, make_executor, other_path, monkeypatch
):
    early = make_executor(client)
    assert run(early, "answer", value=1).status == "ok"
    cluster.start("other", env={"PYTHONPATH": str(other_path)})
    client.wait_for_workers(2, timeout=60)
    # One that comes late gets nothing, and the run goes on.
    ended = [end for _, end in early.run([job("sleep", seconds=1) for _ in range(3)])]
    assert {end.site.worker.partition(" ")[0] for end in ended} == {"same"}
    wait_until(lambda: early.said or list(early.run([job("sleep", seconds=0.2)])) == [], "the warning")
    (warning,) = early.said
    assert warning.startswith("warning: gets no trials: worker tcp://")
    assert "other: has numpy 0.0.1 (here " in warning
    # One that is there from the beginning ends the run before any trial.
    with pytest.raises(HarnessError, match=r"worker tcp://.*: other: has numpy 0\.0\.1 \(here "):
        run(make_executor(client), "answer", value=1)
    lenient = make_executor(client, allow_differences=True)
    list(lenient.run([job("sleep", seconds=0) for _ in range(2)]))
    ended = [end for _, end in lenient.run([job("sleep", seconds=1) for _ in range(4)])]
    versions = {end.site.worker.partition(" ")[0]: end.site.versions["numpy"] for end in ended}
    assert versions["other"] == "0.0.1"
    assert versions["same"] != "0.0.1"


def test_a_worker_that_cannot_write_is_told_and_does_without(client, tmp_path, cluster):
    """A limit on the size of files stands in for a full disk."""
    cluster.start("full", env={"HARNESS_DATA_HOME": str(tmp_path / "full")}, file_blocks=2000)
    wait_until(lambda: "full" in client.run(_name).values(), "the worker")
    (address,) = [address for address, name in client.run(_name).items() if name == "full"]
    folder = tmp_path / "large"
    folder.mkdir()
    (folder / "file.py").write_bytes(b"x" * 5_000_000)
    with pytest.raises(NotDelivered, match=r"cannot write the data home .*File too large"):
        send_parcel(Caller(client), address, code_parcel(folder, [folder / "file.py"]))
    assert not list((tmp_path / "full" / "code").iterdir())
    cluster.kill("full")
    with pytest.raises(WorkerGone):
        send_parcel(Caller(client), address, code_parcel(folder, [folder / "file.py"]))


def _name(dask_worker):
    return dask_worker.name


_name.__module__ = "__main__"  # the same
