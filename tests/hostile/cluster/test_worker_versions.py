"""The same code on every worker: a worker that differs is rejected by name or noted; missing modules are sent."""

import sys

import pytest

from clusters import RealCluster, client_of, wait_until
from harness.errors import HarnessError
from internals import Caller, CodeTarget, TransferRefused, WorkerGone, code_artifact, send_artifact
from job_runs import job, run
from messages import assert_names, naming

OTHER_NUMPY = "Metadata-Version: 2.1\nName: numpy\nVersion: 0.0.1\n"


@pytest.fixture(scope="module")
def other_path(tmp_path_factory):
    """Return a folder that emulates another machine: an older numpy and other code of a module."""
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


def test_modules_are_sent_and_imported_before_code_is_compared(client, make_executor, host_path):
    code = (code_artifact(host_path, [host_path / "of_the_users.py"]),)
    executor = make_executor(client, targets=TARGETS)
    object.__setattr__(executor._requirements, "code", (*executor._requirements.code, *code))
    assert run(executor, "answer", value=1).status == "ok"
    assert executor.transfers.sent_bytes > 0


def test_a_missing_module_is_a_difference(client, make_executor, host_path):
    executor = make_executor(client, targets=TARGETS)
    with pytest.raises(HarnessError, match=naming("tcp://")):
        run(executor, "answer", value=1)


def test_artifacts_go_through_the_scheduler_if_a_worker_is_unreachable(client, tmp_path):
    (address,) = client.nthreads()
    for number, direct in enumerate([True, False]):
        folder = tmp_path / f"folder{number}"
        folder.mkdir()
        (folder / "file.py").write_bytes(b"x" * 20_000_000)
        parcel = code_artifact(folder, [folder / "file.py"])
        caller = Caller(client)
        caller._direct[address] = direct
        assert send_artifact(caller, address, parcel) == 20_000_000
        assert client.run(_size_of, parcel)[address] == 20_000_000


def _size_of(parcel):
    return (parcel.place / "file.py").stat().st_size


_size_of.__module__ = "__main__"  # sent by value: workers know nothing of tests


def test_a_differing_worker_is_rejected_by_name_or_allowed_and_noted(
    cluster, client, make_executor, other_path, monkeypatch
):
    early = make_executor(client)
    assert run(early, "answer", value=1).status == "ok"
    cluster.start("other", env={"PYTHONPATH": str(other_path)})
    client.wait_for_workers(2, timeout=60)
    # A worker that joins late gets nothing, and the run continues.
    ended = [end for _, end in early.run([job("sleep", seconds=1) for _ in range(3)])]
    assert {end.site.worker.partition(" ")[0] for end in ended} == {"same"}
    wait_until(lambda: early.said or list(early.run([job("sleep", seconds=0.2)])) == [], "the warning")
    (warning,) = early.said
    assert_names(warning, "tcp://")
    assert_names(warning, "0.0.1")
    # A worker present from the start ends the run before any trial.
    with pytest.raises(HarnessError, match=naming("tcp://", "0.0.1")):
        run(make_executor(client), "answer", value=1)
    lenient = make_executor(client, allow_differences=True)
    list(lenient.run([job("sleep", seconds=0) for _ in range(2)]))
    ended = [end for _, end in lenient.run([job("sleep", seconds=1) for _ in range(4)])]
    versions = {end.site.worker.partition(" ")[0]: end.site.versions["numpy"] for end in ended}
    assert versions["other"] == "0.0.1"
    assert versions["same"] != "0.0.1"


def test_a_worker_that_cannot_write_is_reported_and_works_without_cache(client, tmp_path, cluster):
    """Use a file size limit in place of a full disk."""
    cluster.start("full", env={"HARNESS_DATA_HOME": str(tmp_path / "full")}, file_blocks=2000)
    wait_until(lambda: "full" in client.run(_name).values(), "the worker")
    (address,) = [address for address, name in client.run(_name).items() if name == "full"]
    folder = tmp_path / "large"
    folder.mkdir()
    (folder / "file.py").write_bytes(b"x" * 5_000_000)
    with pytest.raises(TransferRefused, match=naming("data home", "File too large")):
        send_artifact(Caller(client), address, code_artifact(folder, [folder / "file.py"]))
    assert not list((tmp_path / "full" / "code").iterdir())
    cluster.kill("full")
    with pytest.raises(WorkerGone):
        send_artifact(Caller(client), address, code_artifact(folder, [folder / "file.py"]))


def test_a_worker_with_an_unwritable_home_is_named_and_the_others_run_all_jobs(client, cluster, make_executor):
    cluster.start("read-only", env={"HARNESS_DATA_HOME": "/proc/harness-home"})
    wait_until(lambda: "read-only" in client.run(_name).values(), "the worker")
    for name in [name for name in cluster.workers if name not in ("same", "read-only")]:
        cluster.kill(name)
    wait_until(lambda: len(client.nthreads()) == 2, "other workers to leave")
    executor = make_executor(client)
    ended = [end for _, end in executor.run([job("sleep", seconds=0.2) for _ in range(3)])]
    assert [end.status for end in ended] == ["ok"] * 3
    assert {end.site.worker.partition(" ")[0] for end in ended} == {"same"}
    (warning,) = [line for line in executor.said if "gets no trials" in line]
    assert "cannot write the data home /proc/harness-home" in warning
    assert "DataError" not in warning
    cluster.kill("read-only")


def test_a_run_without_a_writable_worker_ends_with_an_error(marked, tmp_path, make_executor):
    alone = RealCluster(tmp_path / "cluster", env={"HARNESS_DATA_HOME": "/proc/harness-home"})
    alone.start("read-only")
    try:
        with client_of(alone) as client:
            client.wait_for_workers(1, timeout=60)
            with pytest.raises(HarnessError, match="cannot write the data home /proc/harness-home") as told:
                run(make_executor(client), "answer", value=1)
            assert "--allow-differences" not in str(told.value)
    finally:
        alone.close()


def _name(dask_worker):
    return dask_worker.name


_name.__module__ = "__main__"  # the same
