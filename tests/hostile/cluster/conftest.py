"""Fixtures for cluster tests: one cluster of real processes per file, and a folder of jobs that is sent to it."""

import pytest

from clusters import RealCluster, client_of
from internals import ClusterExecutor, Requirements, code_artifact, connect
from job_runs import JOBS


@pytest.fixture(scope="module")
def cluster(marked, tmp_path_factory):
    """Start a scheduler and two workers with a separate data home."""
    folder = tmp_path_factory.mktemp("cluster")
    cluster = RealCluster(folder, env={"HARNESS_DATA_HOME": str(folder / "home")})
    cluster.start("one", "two")
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def client(cluster):
    client = client_of(cluster)
    client.wait_for_workers(2, timeout=60)
    yield client
    client.close()


@pytest.fixture(scope="module")
def jobs_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("jobs")
    (folder / "jobs.py").write_text(JOBS)
    return folder


@pytest.fixture
def make_executor(jobs_folder):
    """Return an executor for a client's workers, which can import the module of jobs."""
    made = []

    def make(client, **luggage):
        code = (code_artifact(jobs_folder, [jobs_folder / "jobs.py"]),)
        said = []
        executor = ClusterExecutor(connect(client), Requirements(code=code, **luggage), said.append)
        executor.said = said
        made.append(executor)
        return executor

    yield make
    for executor in made:
        executor.close()
