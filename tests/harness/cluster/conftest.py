"""What tests of clusters share: one cluster of real processes a file, and a folder with jobs that is sent to it."""

import pytest

from clusters import RealCluster, client_of
from harness.cluster.connecting import connect
from harness.cluster.executor import ClusterExecutor
from harness.cluster.parcels import code_parcel
from harness.cluster.roster import Luggage
from job_runs import JOBS


@pytest.fixture(scope="module")
def cluster(marked, tmp_path_factory):
    """A scheduler and two workers, which have a data home of their own."""
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
    """An executor for the workers of a client, on which the module of jobs can be imported."""
    made = []

    def make(client, **luggage):
        code = (code_parcel(jobs_folder, [jobs_folder / "jobs.py"]),)
        said = []
        executor = ClusterExecutor(connect(client), Luggage(code=code, **luggage), said.append)
        executor.said = said
        made.append(executor)
        return executor

    yield make
    for executor in made:
        executor.close()
