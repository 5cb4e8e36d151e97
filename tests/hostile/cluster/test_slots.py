"""Trials per worker: as many as it offers run at once, and one more waits."""

import pytest

from clusters import RealCluster, client_of
from job_runs import job


@pytest.fixture(scope="module")
def cluster(marked, tmp_path_factory):
    """Start two workers of several threads; one offers two trials at once."""
    folder = tmp_path_factory.mktemp("cluster")
    cluster = RealCluster(folder, env={"HARNESS_DATA_HOME": str(folder / "home")})
    cluster.start("double", options=["--nthreads", "2", "--resources", "trial=2"])
    cluster.start("single", options=["--nthreads", "4"])
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def client(cluster):
    client = client_of(cluster)
    client.wait_for_workers(2, timeout=60)
    yield client
    client.close()


def name_of(text):
    return text.partition(" ")[0]


def most_at_once(spans):
    """Return the largest number of overlapping intervals."""
    return max(sum(begun <= moment < ended for begun, ended in spans) for moment, _ in spans)


@pytest.fixture(scope="module")
def seen(client, jobs_folder):
    """Run many jobs; return place and time of each, and the trials of every worker after each start."""
    from internals import ClusterExecutor, Requirements, code_artifact, connect

    code = (code_artifact(jobs_folder, [jobs_folder / "jobs.py"]),)
    executor = ClusterExecutor(connect(client), Requirements(code=code), print)
    lines = []
    started = []

    def on_phase(one, phase, worker):
        if phase == "start":
            started.append(one.payload["number"])
            lines.append(
                {name_of(one.name): len(executor.queue.attempts_on(one)) for one in executor.workers.usable.values()}
            )

    jobs = [job("sleep", seconds=0.4, number=number) for number in range(16)]
    ended = list(executor.run(jobs, on_phase=on_phase))
    executor.close()
    return ended, lines, started


def test_a_worker_runs_as_many_trials_at_once_as_it_offers_and_one_by_default(seen):
    ended, _, _ = seen
    spans = {}
    for _, end in ended:
        spans.setdefault(name_of(end.site.worker), []).append(end.answer)
    assert most_at_once(spans["double"]) == 2
    assert most_at_once(spans["single"]) == 1


def test_records_state_how_many_trials_share_the_machine(seen):
    ended, _, _ = seen
    assert {end.site.at_once for _, end in ended} == {3}


def test_a_worker_has_at_most_one_waiting_trial(seen):
    _, lines, _ = seen
    assert max(line["double"] for line in lines) == 3
    assert max(line["single"] for line in lines) == 2
    assert lines[0] == {"double": 2, "single": 1}


def test_a_trial_is_reported_as_started_once_and_when_it_starts(seen):
    ended, _, started = seen
    assert sorted(started) == sorted(one.payload["number"] for one, _ in ended) == list(range(16))
