"""`harness run --on`: the same numbers as here, and a run that is killed or interrupted goes on from what is done."""

import json
import signal
import subprocess
import sys

import pytest

from clusters import RealCluster, client_of, wait_until
from harness.store import read_machines
from own_packages import PACKAGE, VERSION, write_plugin, write_wheel
from place import Place, lasting

DATA = "topics(rows=120,classes=5,features=200)"


@pytest.fixture(scope="module")
def place(tmp_path_factory, marked):
    return Place(tmp_path_factory.mktemp("place"))


@pytest.fixture(scope="module")
def cluster(place, tmp_path_factory):
    """Workers with a data home of their own: nothing of the host's is there, but for what is sent or built."""
    folder = tmp_path_factory.mktemp("cluster")
    pip = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(write_wheel(folder / "wheels"))}
    place.environment |= pip
    env = {"HARNESS_DATA_HOME": str(folder / "home"), "HARNESS_OWN_COPIES": "1", "RUN_TEST_LOG": str(place.log)}
    cluster = RealCluster(folder, env=env | pip)
    cluster.start("one", "two")
    yield cluster
    cluster.close()


def by_key(records):
    """What must be the same wherever a trial runs; a traceback names the worker's own files."""
    return {record.key: {**lasting(record), "jobs": 0, "traceback": ""} for record in records}


def trial_processes(marked):
    """Those of trials: forks of a server that lead a session, and what they started."""
    return [pid for pid, what in marked.alive().items() if "harness.executors.server" in what]


def test_numbers_are_those_of_a_local_run_bit_by_bit(place, cluster):
    command = ("pa,good,sometimes", "--trials", 4)
    place.run(*command, "--out", "here", code=1)
    done = place.run(*command, "--out", "there", "--on", cluster.address, code=1)
    here, there = place.records("here"), place.records("there")
    assert len(there) == 12
    assert by_key(there) == by_key(here)
    assert place.ranks("there") == place.ranks("here")
    assert {record.jobs for record in there} == {2}
    assert "up to 2 timed trials shared the machine" in done.stdout
    home = cluster.folder / "home"
    assert len(list((home / "parsed").glob("topics-*"))) == 1
    assert list((home / "represented").glob("topics-*"))
    assert not list((home / "parsed").glob(".*"))
    again = place.run(*command, "--out", "there", "--on", cluster.address, code=1)
    assert "nothing left to run" in again.stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["killed", "ctrl-c"])
def test_a_run_that_ends_takes_its_trials_with_it_and_goes_on_later(place, cluster, marked, number):
    name = f"ended-{number}"
    command = ("slow", "--trials", 7, "--out", name, "--on", f"scheduler-file:{cluster.file}")
    with place.start(*command) as running:
        while "2/7" not in (line := running.stderr.readline()):
            assert line, running.communicate()
        running.send_signal(number)
        _, errors = running.communicate(timeout=60)
    assert running.returncode == (130 if number == signal.SIGINT else -number)
    wait_until(lambda: not trial_processes(marked), "trials to end", 40)
    kept = place.records(name)
    assert 2 <= len(kept) < 7
    if number == signal.SIGINT:
        assert f"interrupted: {len(kept)} of 7 trials are kept in {name}" in errors
    place.log.unlink(missing_ok=True)
    place.run(*command)
    records = place.records(name)
    assert records[: len(kept)] == kept
    assert sorted(record.seed for record in records) == list(range(7))
    trained = set(map(int, place.log.read_text().split()))
    assert trained == {record.seed for record in records} - {record.seed for record in kept}


def test_what_a_run_does_is_told_to_whoever_asks_meanwhile(place, cluster):
    def status(*more):
        command = [sys.executable, "-m", "harness", "status", "watched", *more]
        where = {"cwd": place.folder, "env": place.environment}
        return subprocess.run(command, **where, capture_output=True, text=True, check=False).stdout

    def at_work():
        told = status("--json")
        run = told and json.loads(told)["run"]
        return run and [trial["phase"] for trial in run["running"]] == ["warm-up", "warm-up"]

    command = ("hangs", "--trials", 5, "--timeout", 300, "--out", "watched", "--on", cluster.address)
    with place.start(*command) as running:
        try:
            wait_until(at_work, "both workers to be at it", 120)
            told = status()
        finally:
            running.send_signal(signal.SIGINT)
            running.communicate(timeout=60)
    assert "this run: 0 of 5 trials done, 2 running" in told
    rows = sorted(line.split() for line in told.splitlines() if "hangs on" in line)
    assert [row[0] for row in rows] == ["one", "two"]
    assert "no run is at work" in status()


def test_environments_are_built_on_the_workers_once_a_data_home(place, cluster):
    plugins = write_plugin(place.folder / "picky")
    place.run("picky", "--trials", 3, "--out", "picky-out", "--on", cluster.address, "--plugins-dir", plugins)
    for record in place.records("picky-out"):
        assert (record.status, record.versions[PACKAGE]) == ("ok", VERSION), record.message
    built = [path.name for path in (cluster.folder / "home" / "environments").iterdir() if path.is_dir()]
    assert len(built) == 1
    assert built[0] in [path.name for path in (place.folder / "home" / "environments").iterdir()]


def test_times_are_compared_within_one_kind_of_machine(place, cluster):
    """A worker that is told to know nothing of Linux does not find out the model of its processor."""
    cluster.start("other", env={"HARNESS_SYSTEM": "posix"})
    client = client_of(cluster)
    client.wait_for_workers(3, timeout=60)
    client.close()
    done = place.run("good,chance", "--trials", 6, "--out", "kinds", "--on", cluster.address)
    cluster.kill("other")
    machines = read_machines(place.folder / "kinds")
    kinds = {}
    for record in place.records("kinds"):
        kinds.setdefault(record.number, set()).add(machines[record.machine].processor)
    assert {len(of_number) for of_number in kinds.values()} == {1}
    n_trials = [sum(kind in of_number for of_number in kinds.values()) for kind in set.union(*kinds.values())]
    assert len(n_trials) == 2
    told = " ".join(done.stdout.split())
    assert f"Times on topics are those of {2 * max(n_trials)} of 12 trials, on " in told
    assert "; the others ran on " in told


def test_a_cluster_of_this_machine_is_started_and_ended(place, marked):
    known = set(marked.alive())
    (place.folder / "local.toml").write_text(f'learners = "good"\ndatasets = ["{DATA}"]\ntrials = 3\non = "local:2"\n')
    place.run(None, "local.toml", "--out", "own")
    assert marked.left_behind(known, seconds=5) == {}
    assert {record.status for record in place.records("own")} == {"ok"}
    assert 'on = "local:2"' in (place.folder / "own" / "experiment.toml").read_text()


@pytest.mark.parametrize(
    ("on", "words"),
    [
        ("nowhere", "on: expected local:NUMBER, tcp://HOST:PORT, tls://HOST:PORT or scheduler-file:PATH"),
        ("local:0", "on: expected local:NUMBER"),
        ("scheduler-file:absent.json", "absent.json is no file of a scheduler's"),
        ("tcp://127.0.0.1:9", "no scheduler answers at tcp://127.0.0.1:9"),
    ],
)
def test_a_cluster_that_is_not_there_is_an_error_before_anything_runs(place, on, words, monkeypatch):
    done = place.run("good", "--trials", 1, "--out", "nowhere", "--on", on, code=2)
    assert words in done.stderr
    assert "Traceback" not in done.stderr
