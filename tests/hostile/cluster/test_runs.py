"""`harness run --on`: the same results as locally, and a killed or interrupted run resumes."""

import json
import signal
import subprocess
import sys

import pytest

from clusters import RealCluster, client_of, wait_until
from internals import FORK_SERVER, read_machines
from messages import NO_RUN, NOTHING_TO_RUN, assert_names
from own_packages import PACKAGE, VERSION, write_plugin, write_wheel
from workspace import Workspace, lasting

DATA = "topics(rows=120,classes=5,features=200)"


@pytest.fixture(scope="module")
def workspace(tmp_path_factory, marked):
    return Workspace(tmp_path_factory.mktemp("workspace"))


@pytest.fixture(scope="module")
def cluster(workspace, tmp_path_factory):
    """Start workers with a separate data home, which has only sent or built artifacts."""
    folder = tmp_path_factory.mktemp("cluster")
    pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(write_wheel(folder / "wheels"))}
    workspace.environment |= pip
    env = {"HARNESS_DATA_HOME": str(folder / "home"), "HARNESS_OWN_COPIES": "1", "RUN_TEST_LOG": str(workspace.log)}
    cluster = RealCluster(folder, env=env | pip)
    cluster.start("one", "two")
    yield cluster
    cluster.close()


def by_key(records):
    """Return the fields that must be equal on every machine; tracebacks name worker files."""
    return {record.key: {**lasting(record), "jobs": 0, "traceback": ""} for record in records}


def trial_processes(marked):
    """Return trial processes: forks of a server that lead a session, and their children."""
    return [pid for pid, what in marked.alive().items() if FORK_SERVER in what]


def test_results_are_bit_identical_to_a_local_run(workspace, cluster):
    command = ("pa,good,sometimes", "--trials", 4)
    workspace.run(*command, "--out", "here", code=1)
    done = workspace.run(*command, "--out", "there", "--on", cluster.address, code=1)
    here, there = workspace.records("here"), workspace.records("there")
    assert len(there) == 12
    assert by_key(there) == by_key(here)
    assert workspace.ranks("there") == workspace.ranks("here")
    assert {record.jobs for record in there} == {2}
    assert_names(done.stdout, "2", "trials")
    home = cluster.folder / "home"
    assert len(list((home / "parsed").glob("topics-*"))) == 1
    assert list((home / "represented").glob("topics-*"))
    assert not list((home / "parsed").glob(".*"))
    again = workspace.run(*command, "--out", "there", "--on", cluster.address, code=1)
    assert NOTHING_TO_RUN in again.stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["killed", "ctrl-c"])
def test_a_run_that_ends_stops_its_trials_and_resumes_later(workspace, cluster, marked, number):
    name = f"ended-{number}"
    command = ("slow", "--trials", 7, "--out", name, "--on", f"scheduler-file:{cluster.file}")
    with workspace.start(*command) as running:
        while "2/7" not in (line := running.stderr.readline()):
            assert line, running.communicate()
        running.send_signal(number)
        _, errors = running.communicate(timeout=60)
    assert running.returncode == (130 if number == signal.SIGINT else -number)
    wait_until(lambda: not trial_processes(marked), "trials to end", 40)
    kept = workspace.records(name)
    assert 2 <= len(kept) < 7
    if number == signal.SIGINT:
        assert_names(errors, f"{len(kept)}", "7", f"{name}")
    workspace.log.unlink(missing_ok=True)
    workspace.run(*command)
    records = workspace.records(name)
    assert records[: len(kept)] == kept
    assert sorted(record.seed for record in records) == list(range(7))
    trained = set(map(int, workspace.log.read_text().split()))
    assert trained == {record.seed for record in records} - {record.seed for record in kept}


def test_harness_status_shows_a_running_cluster_run(workspace, cluster):
    def status(*more):
        command = [sys.executable, "-m", "harness", "status", "watched", *more]
        where = {"cwd": workspace.folder, "env": workspace.environment}
        return subprocess.run(command, **where, capture_output=True, text=True, check=False).stdout

    def at_work():
        printed = status("--json")
        run = printed and json.loads(printed)["run"]
        return run and [trial["phase"] for trial in run["running"]] == ["warm-up", "warm-up"]

    command = ("hangs", "--trials", 5, "--timeout", 300, "--out", "watched", "--on", cluster.address)
    with workspace.start(*command) as running:
        try:
            wait_until(at_work, "both workers to be at it", 120)
            printed = status()
        finally:
            running.send_signal(signal.SIGINT)
            running.communicate(timeout=60)
    assert_names(printed, "0", "5", "2", "trials")
    rows = sorted(line.split() for line in printed.splitlines() if "hangs on" in line)
    assert [row[0] for row in rows] == ["one", "two"]
    assert NO_RUN in status()


def test_environments_are_built_once_per_data_home_on_the_workers(workspace, cluster):
    plugins = write_plugin(workspace.folder / "picky")
    workspace.run("picky", "--trials", 3, "--out", "picky-out", "--on", cluster.address, "--plugins-dir", plugins)
    for record in workspace.records("picky-out"):
        assert (record.status, record.versions[PACKAGE]) == ("ok", VERSION), record.message
    built = [path.name for path in (cluster.folder / "home" / "environments").iterdir() if path.is_dir()]
    assert len(built) == 1
    assert built[0] in [path.name for path in (workspace.folder / "home" / "environments").iterdir()]


def test_times_are_compared_within_one_kind_of_machine(workspace, cluster):
    """Run one worker on the plain POSIX system, which does not know its processor model."""
    cluster.start("other", env={"HARNESS_SYSTEM": "posix"})
    client = client_of(cluster)
    client.wait_for_workers(3, timeout=60)
    client.close()
    done = workspace.run("good,chance", "--trials", 6, "--out", "kinds", "--on", cluster.address)
    cluster.kill("other")
    machines = read_machines(workspace.folder / "kinds")
    kinds = {}
    for record in workspace.records("kinds"):
        kinds.setdefault(record.number, set()).add(machines[record.machine].processor)
    assert {len(of_number) for of_number in kinds.values()} == {1}
    n_trials = [sum(kind in of_number for of_number in kinds.values()) for kind in set.union(*kinds.values())]
    assert len(n_trials) == 2
    printed = " ".join(done.stdout.split())
    assert_names(printed, f"{2 * max(n_trials)}", "12")
    assert_names(printed, "ran")


def test_a_local_cluster_is_started_and_stopped(workspace, marked):
    known = set(marked.alive())
    (workspace.folder / "local.toml").write_text(
        f'learners = "good"\ndatasets = ["{DATA}"]\ntrials = 3\non = "local:2"\n'
    )
    workspace.run(None, "local.toml", "--out", "own")
    assert marked.left_behind(known, seconds=5) == {}
    assert {record.status for record in workspace.records("own")} == {"ok"}
    assert 'on = "local:2"' in (workspace.folder / "own" / "experiment.toml").read_text()


@pytest.mark.parametrize(
    ("on", "words"),
    [
        ("nowhere", "on: expected local:NUMBER, tcp://HOST:PORT, tls://HOST:PORT or scheduler-file:PATH"),
        ("local:0", "on: expected local:NUMBER"),
        ("scheduler-file:absent.json", "absent.json is not a scheduler file"),
        ("tcp://127.0.0.1:9", "no scheduler answers at tcp://127.0.0.1:9"),
    ],
)
def test_an_unreachable_cluster_is_an_error_before_any_trial(workspace, on, words, monkeypatch):
    done = workspace.run("good", "--trials", 1, "--out", "nowhere", "--on", on, code=2)
    assert words in done.stderr
    assert "Traceback" not in done.stderr
