"""How many trials a worker has: as many as it takes at once run, one more is there already, and no other is begun."""

import pytest

from clusters import RealCluster, client_of
from job_runs import job


@pytest.fixture(scope="module")
def cluster(marked, tmp_path_factory):
    """Two workers of several threads each, of which one offers to take two trials at once."""
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
    """Of stretches of time, the most that overlap."""
    return max(sum(begun <= moment < ended for begun, ended in spans) for moment, _ in spans)


@pytest.fixture(scope="module")
def seen(client, jobs_folder):
    """A run of many jobs: where each ran and when, and after each start the trials that every worker had."""
    from harness.cluster.connecting import connect
    from harness.cluster.executor import ClusterExecutor
    from harness.cluster.parcels import code_parcel
    from harness.cluster.roster import Luggage

    code = (code_parcel(jobs_folder, [jobs_folder / "jobs.py"]),)
    executor = ClusterExecutor(connect(client), Luggage(code=code), print)
    lines = []
    started = []

    def on_phase(one, phase, worker):
        if phase == "start":
            started.append(one.payload["number"])
            lines.append({name_of(member.name): len(member.line) for member in executor.roster.members.values()})

    jobs = [job("sleep", seconds=0.4, number=number) for number in range(16)]
    ended = list(executor.run(jobs, on_phase=on_phase))
    executor.close()
    return ended, lines, started


def test_a_worker_takes_as_many_trials_at_once_as_it_offers_and_one_where_it_offers_nothing(seen):
    ended, _, _ = seen
    spans = {}
    for _, end in ended:
        spans.setdefault(name_of(end.site.worker), []).append(end.answer)
    assert most_at_once(spans["double"]) == 2
    assert most_at_once(spans["single"]) == 1


def test_records_will_say_how_many_trials_share_the_machine(seen):
    ended, _, _ = seen
    assert {end.site.at_once for _, end in ended} == {3}


def test_a_worker_that_has_ended_a_trial_has_one_ahead_and_never_more(seen):
    _, lines, _ = seen
    assert max(line["double"] for line in lines) == 3
    assert max(line["single"] for line in lines) == 2
    assert lines[0] == {"double": 2, "single": 1}


def test_a_trial_is_told_to_start_once_when_its_turn_has_come(seen):
    ended, _, started = seen
    assert sorted(started) == sorted(one.payload["number"] for one, _ in ended) == list(range(16))
