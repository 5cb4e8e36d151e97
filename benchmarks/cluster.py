"""What a cluster costs, and what it survives: prints it and writes docs/cluster-figures.md.

    python benchmarks/cluster.py [overhead] [many] [kills] [data] [simulated]

Without names, all of them. Every process is real and on this machine, but for the workers of `many` and `simulated`,
which run no trial: they answer with what one real trial gave. Figures are ratios within one run, since the machine may
be shared; sizes can be set: --trials, --kills, --gigabytes, --workers.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "cluster-figures.md"
KEPT = Path(__file__).with_name("cluster_figures.json")
PLUGIN = '''"""A learner that takes its time without working."""

import time

import numpy as np

import harness


@harness.hookimpl
def harness_learners():
    return [harness.LearnerSpec(name="sleeper", load="sleeping:Sleeper", kind="flat")]


class Sleeper:
    """Ranks classes by their number, after a while."""

    def __init__(self, *, seconds: float = 0.3, random_state: int = 0) -> None:
        self.seconds, self.random_state = seconds, random_state

    def fit(self, X, y):
        time.sleep(self.seconds if X.shape[0] > 40 else 0)
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(X.shape[0], self.classes_[0])
'''


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", default=list(PARTS))
    parser.add_argument("--trials", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--workers", type=int, default=1_000)
    parser.add_argument("--simulated-trials", type=int, default=100_000)
    asked = parser.parse_args()
    for part in asked.parts:
        with tempfile.TemporaryDirectory() as folder:
            found = PARTS[part](Path(folder), asked)
        print(f"{part}: {found}", flush=True)
        kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
        kept[part] = found
        KEPT.write_text(json.dumps(kept, indent=1) + "\n")
        PAGE.write_text(page_of(kept))


# -- a cluster -------------------------------------------------------------------------------------------------------


@contextmanager
def cluster(folder: Path, *workers: list[str], **env: str) -> Iterator[str]:
    """A scheduler and workers by these options each; gives the scheduler's address."""
    file = folder / "scheduler.json"
    environment = os.environ | {"HARNESS_DATA_HOME": str(folder / "workers")} | env
    words = [[sys.executable, "-m", "dask", "scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard"]]
    words[0] += ["--scheduler-file", str(file)]
    for options in workers:
        words.append(
            [sys.executable, "-m", "dask", "worker", "--scheduler-file", str(file), "--no-dashboard", *options]
        )
    log = open(folder / "cluster.log", "ab")  # noqa: SIM115 (open as long as the cluster is there)
    running = []
    try:
        for command in words:
            running.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log, start_new_session=True))
            while not (file.exists() and file.read_text().strip().endswith("}")):
                time.sleep(0.02)
        yield json.loads(file.read_text())["address"]
    finally:
        for process in reversed(running):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        log.close()


def client_of(address: str, workers: int) -> Any:
    from distributed import Client

    client = Client(address, set_as_default=False, timeout=60)
    client.wait_for_workers(workers, timeout=300)
    return client


ONE = ["--nworkers", "1", "--nthreads", "1", "--no-nanny", "--memory-limit", "0"]


def resident_mb(pid: int) -> float:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


# -- the parts -------------------------------------------------------------------------------------------------------


def overhead(folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """Warm trials, two at once: what each takes beyond fit and rank, here and on two workers."""
    import harness

    os.environ["HARNESS_DATA_HOME"] = str(folder / "home")
    rounds, trials = 3, 20
    beyond: dict[str, list[float]] = {"--jobs 2": [], "two workers": []}
    with cluster(folder, ONE, ONE, HARNESS_DATA_HOME=str(folder / "home")) as address:
        client = client_of(address, 2)
        for number in range(rounds + 1):
            for name, where in (("--jobs 2", {"jobs": 2}), ("two workers", {"on": client})):
                out = folder / f"{name}-{number}"
                results = harness.run(
                    "pa", "digits", trials=trials, seed=100 * number, out=out, progress=False, **where
                )
                if number:  # the first is not warm
                    beyond[name].append(per_trial(results.records))
        client.close()
    here, there = (statistics.median(values) for values in beyond.values())
    return {"here": here, "there": there, "rounds": rounds, "trials": trials}


def per_trial(records: Any) -> float:
    """Seconds that a trial takes of the time between two records, less fit and rank; the first few are left out."""
    settled = sorted(_ended[record.key] for record in records)[4:]
    apart = (settled[-1] - settled[0]) / (len(settled) - 1) * 2
    return apart - statistics.mean(record.fit_seconds + record.rank_seconds for record in records)


_ended: dict[str, float] = {}
"""By key, when a record was kept."""


def note_ends() -> None:
    """Have the moment noted at which each record is kept."""
    from harness.store import Store

    append = Store.append

    def noting(self: Store, record: Any, ranks: bytes | None = None) -> None:
        append(self, record, ranks)
        _ended[record.key] = time.perf_counter()

    Store.append = noting  # type: ignore[method-assign]  # nowhere else but here


def simulate(folder: Path, workers: int, trials: int, sleep: float) -> dict[str, Any]:
    """Trials that workers answer without running them: what the host and the scheduler need for that."""
    import harness
    from harness.cluster import attempts, roster
    from harness.cluster.messages import pack_end
    from harness.executors.base import JobEnd

    sys.path.insert(0, str(Path(__file__).parent))
    import cluster_workers

    os.environ["HARNESS_DATA_HOME"] = str(folder / "home")
    answer = folder / "answer"
    make = harness.run("dummy", "digits", trials=1, out=folder / "one", progress=False)
    (record,) = make.records
    measured = one_answer(record)
    answer.write_bytes(pack_end(JobEnd("ok", measured, seconds=measured["clock_seconds"])))
    env = {cluster_workers.ANSWER_VARIABLE: str(answer), cluster_workers.SLEEP_VARIABLE: str(sleep)}
    env["PYTHONPATH"] = str(Path(__file__).parent)
    real = attempts.run_order, roster.describe_worker
    attempts.run_order, roster.describe_worker = cluster_workers.answer_at_once, cluster_workers.describe_simulated  # type: ignore[assignment]  # nowhere else but here
    try:
        with cluster(folder, **env) as address, many_workers(address, workers, env) as started:
            client = client_of(address, started)
            (scheduler,) = [int(pid) for pid in [client.run_on_scheduler(os.getpid)]]
            watched = Watched(scheduler, trials)
            begun, cpu = time.perf_counter(), time.process_time()
            harness.run(
                "dummy", "digits", trials=trials, out=folder / "many", progress=False, on=watched.client(client)
            )
            took = time.perf_counter() - begun
            cpu = time.process_time() - cpu
            client.close()
    finally:
        attempts.run_order, roster.describe_worker = real
    kept = sum('"status":"ok"' in line for line in (folder / "many" / "records.jsonl").read_text().splitlines())
    return {
        "workers": started,
        "trials": trials,
        "kept": kept,
        "seconds": took,
        "client_cpu_seconds": cpu,
        "scheduler_cpu_seconds": watched.scheduler_cpu(),
        "memory_mb": watched.samples,
    }


def one_answer(record: Any) -> dict[str, Any]:
    from dataclasses import asdict

    from harness.record import Measured, field_names

    plain = asdict(record)
    return {name: plain[name] for name in field_names(Measured)}


@contextmanager
def many_workers(address: str, number: int, env: dict[str, str]) -> Iterator[int]:
    """So many simulated workers, up to 250 in a process."""
    script = str(Path(__file__).with_name("cluster_workers.py"))
    running = []
    try:
        left = number
        while left:
            some = min(left, 250)
            command = [sys.executable, script, address, str(some)]
            running.append(
                subprocess.Popen(command, env=os.environ | env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            )
            left -= some
        for process in running:
            assert process.stdout is not None
            process.stdout.readline()
        yield number
    finally:
        for process in running:
            process.kill()
            process.wait()


class Watched:
    """Resident memory of this process and of the scheduler, at five moments of a run."""

    def __init__(self, scheduler: int, trials: int) -> None:
        self.scheduler, self.trials = scheduler, trials
        self.samples: list[tuple[int, float, float]] = []
        self.done = 0

    def client(self, client: Any) -> Any:
        from harness.store import Store

        append, watched = Store.append, self

        def counting(self: Store, record: Any, ranks: bytes | None = None) -> None:
            append(self, record, ranks)
            watched.done += 1
            if watched.done % max(1, watched.trials // 5) == 0:
                watched.samples.append((watched.done, resident_mb(os.getpid()), resident_mb(watched.scheduler)))

        Store.append = counting  # type: ignore[method-assign]  # nowhere else but here
        return client

    def scheduler_cpu(self) -> float | None:
        try:
            fields = Path(f"/proc/{self.scheduler}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return None
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def many(folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    return simulate(folder, 2, asked.trials, 0.0)


def simulated(folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    return simulate(folder, asked.workers, asked.simulated_trials, 1.0)


def kills(folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """Workers and hosts killed at random moments, until so many are; then the same command to its end."""
    from harness.store import read_records

    plugins = folder / "plugins"
    plugins.mkdir()
    (plugins / "sleeping.py").write_text(PLUGIN)
    chance = random.Random(17)
    trials, out = 3 * asked.kills, folder / "out"
    command = [sys.executable, "-m", "harness", "run", "--plugins-dir", str(plugins), "--learners", "sleeper"]
    command += ["--datasets", "digits", "--trials", str(trials), "--out", str(out)]
    environment = os.environ | {"HARNESS_DATA_HOME": str(folder / "home")}
    done = {"worker": 0, "host": 0}
    nannies = ["--nworkers", "4", "--nthreads", "1", "--nanny", "--memory-limit", "0"]
    with cluster(folder, nannies, HARNESS_DATA_HOME=str(folder / "home")) as address:
        client = client_of(address, 4)
        begun = time.perf_counter()
        while True:
            host = subprocess.Popen([*command, "--on", address], env=environment, stdout=-3, stderr=-3)
            while sum(done.values()) < asked.kills and host.poll() is None:
                time.sleep(chance.uniform(0.5, 4.0))
                if not is_at_trials(out):  # what is killed before the first trial proves nothing
                    continue
                if chance.random() < 0.05 and host.poll() is None:
                    host.kill()
                    done["host"] += 1
                else:
                    done["worker"] += kill_a_worker(client, chance)
            if host.wait() in (0, 1) and sum(done.values()) >= asked.kills:
                break
            if host.returncode in (0, 1):
                out = folder / f"out-{sum(done.values())}"
                command[-1] = str(out)
        took = time.perf_counter() - begun
        client.close()
    folders = sorted(folder.glob("out*"))
    lines = [line for one in folders for line in (one / "records.jsonl").read_text().splitlines()]
    records = [record for one in folders for record in read_records(one)]
    return {
        "killed_workers": done["worker"],
        "killed_hosts": done["host"],
        "trials": trials * len(folders),
        "kept": len({(str(one), record.seed) for one in folders for record in read_records(one)}),
        "lines": len(lines),
        "unique": len({(str(one), record.key) for one in folders for record in read_records(one)}),
        "crashes": sum(record.status != "ok" for record in records),
        "seconds": took,
    }


def is_at_trials(out: Path) -> bool:
    """Whether a run has trials on workers now."""
    from harness.api import read_status

    try:
        found = read_status(out)
    except Exception:  # no folder yet
        return False
    return found.is_at_work and bool(found.run and found.run.running)


def kill_a_worker(client: Any, chance: random.Random) -> int:
    try:
        pids = sorted(client.run(os.getpid, on_error="ignore").values())
        if not pids:
            return 0
        os.kill(chance.choice(pids), signal.SIGKILL)
        return 1
    except (OSError, TimeoutError):
        return 0


def data(folder: Path, asked: argparse.Namespace) -> dict[str, Any]:
    """A folder of this size to a worker, and by a plain socket, in turn."""
    from harness.cluster.calling import Caller
    from harness.cluster.parcels import Parcel
    from harness.cluster.sending import send_parcel

    source = folder / "host" / "big-0123456789abcdef"
    source.mkdir(parents=True)
    block = os.urandom(1 << 24)
    files = 8
    for number in range(files):
        with open(source / f"part{number}.npy", "wb") as file:
            for _ in range(round(asked.gigabytes * 1e9 / files / len(block))):
                file.write(block)
    (source / "header.json").write_text('{"checksum": 1}')
    n_bytes = sum(file.stat().st_size for file in source.iterdir())
    rounds: dict[str, list[float]] = {"socket": [], "parcel": [], "ratio": []}
    with cluster(folder, ONE, HARNESS_OWN_COPIES="1", HARNESS_REPRESENTED_BYTES="1") as address:
        client = client_of(address, 1)
        ((worker, pid),) = client.run(os.getpid).items()
        caller, peak = Caller(client), 0.0
        before = resident_mb(pid), resident_mb(os.getpid())
        for number in range(3):
            plain = seconds_of(lambda: copy_by_socket(source, folder / "copy"))
            shutil.rmtree(folder / "copy")
            parcel = Parcel("representation", f"big-{number}", "1", str(source))
            sent = seconds_of(lambda parcel=parcel: send_parcel(caller, worker, parcel))
            shutil.rmtree(folder / "workers" / "represented", ignore_errors=True)
            rounds["socket"].append(n_bytes / plain / 1e6)
            rounds["parcel"].append(n_bytes / sent / 1e6)
            rounds["ratio"].append(plain / sent)
            peak = max(peak, resident_mb(pid) - before[0], resident_mb(os.getpid()) - before[1])
        client.close()
    medians = {name: statistics.median(values) for name, values in rounds.items()}
    return {"gigabytes": n_bytes / 1e9, **medians, "ratios": rounds["ratio"], "grown_mb": peak}


def seconds_of(call: Callable[[], object]) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun


def copy_by_socket(source: Path, target: Path) -> None:
    """Files over a plain socket from another process, with nothing checked: the least that such a copy takes."""
    target.mkdir()
    listener = socket.create_server(("127.0.0.1", 0))
    sender = subprocess.Popen([sys.executable, "-S", "-c", SENDER, str(listener.getsockname()[1]), str(source)])
    connection, _ = listener.accept()
    buffer = memoryview(bytearray(1 << 20))
    with listener, connection, open(target / "all", "wb", buffering=0) as file:
        while got := connection.recv_into(buffer):
            file.write(buffer[:got])
    sender.wait()


SENDER = """
import os, socket, sys
to = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
buffer = memoryview(bytearray(1 << 20))
for name in sorted(os.listdir(sys.argv[2])):
    with open(os.path.join(sys.argv[2], name), "rb", buffering=0) as file:
        while got := file.readinto(buffer):
            to.sendall(buffer[:got])
"""


# -- the page --------------------------------------------------------------------------------------------------------


def page_of(kept: dict[str, Any]) -> str:
    from harness.machine import describe_machine

    machine = describe_machine()
    lines = [
        "# What a cluster costs, and what it survives",
        "",
        "Written by `python benchmarks/cluster.py`; do not edit by hand. All processes were on one machine",
        f"({machine.processor}, {machine.cores} cores), which others used at the same time: compare what stands in one",
        "row, not seconds between rows. [clusters.md](clusters.md) tells how a cluster is used.",
        "",
    ]
    for part, tell in TELLING.items():
        if part in kept:
            lines += [*tell(kept[part]), ""]
    return "\n".join(lines).rstrip() + "\n"


def tell_overhead(found: dict[str, Any]) -> list[str]:
    more = found["there"] - found["here"]
    return [
        "## A warm trial",
        "",
        f"`pa` on `digits`, two trials at once, beyond fit and rank: medians of {found['rounds']} rounds of "
        f"{found['trials']} trials, in turn.",
        "",
        "| | seconds a trial |",
        "|---|---:|",
        f"| here, `--jobs 2` | {found['here']:.3f} |",
        f"| on two workers | {found['there']:.3f} |",
        f"| more on the cluster (aim: 0.1 at most) | {more:.3f} |",
        *(["", found["note"]] if "note" in found else []),
    ]


def tell_simulated(title: str) -> Callable[[dict[str, Any]], list[str]]:
    def tell(found: dict[str, Any]) -> list[str]:
        rows = [f"| {done:,} | {host:.0f} | {scheduler:.0f} |" for done, host, scheduler in found["memory_mb"]]
        per_second = found["trials"] / found["seconds"]
        host = 1000 * found["client_cpu_seconds"] / found["trials"]
        return [
            f"## {title}",
            "",
            f"{found['trials']:,} trials planned, given to {found['workers']:,} workers and stored in "
            f"{found['seconds']:.0f} s, {per_second:.0f} a second; {found['kept']:,} records kept. The workers answer "
            f"with what one real trial gave. The host took {host:.1f} ms of processor time a trial, planning, "
            "checking and storing included.",
            "",
            "| trials stored | host, MB | scheduler, MB |",
            "|---:|---:|---:|",
            *rows,
        ]

    return tell


def tell_kills(found: dict[str, Any]) -> list[str]:
    lost = found["trials"] - found["kept"]
    repeated = found["lines"] - found.get("unique", found["kept"])
    note = found.get("note", "")
    return [
        "## Kills",
        "",
        "Four workers behind nannies and the host itself, killed with SIGKILL at random moments while "
        f"{found['trials']:,} trials ran; a killed host was started again with the same command. "
        f"It took {found['seconds']:.0f} s.",
        "",
        "| workers killed | hosts killed | trials | records | lost | repeated | crashes: lost with three workers |",
        "|---:|---:|---:|---:|---:|---:|---:|",
        f"| {found['killed_workers']} | {found['killed_hosts']} | {found['trials']:,} | {found['lines']:,} | {lost} "
        f"| {repeated} | {found['crashes']} |",
        *(["", note] if note else []),
    ]


def tell_data(found: dict[str, Any]) -> list[str]:
    ratios = ", ".join(f"{ratio:.2f}" for ratio in found["ratios"])
    return [
        "## Data",
        "",
        f"{found['gigabytes']:.2g} GB in eight files to a worker's data home, and by a plain socket into a file, "
        "in turn, three times; medians.",
        "",
        "| | MB a second |",
        "|---|---:|",
        f"| plain socket, nothing checked | {found['socket']:.0f} |",
        f"| to a worker, with checksums | {found['parcel']:.0f} |",
        "",
        f"The ratio was {found['ratio']:.2f} ({ratios}; aim: 0.5 at least). Host and worker grew by "
        f"{found['grown_mb']:.0f} MB at most.",
    ]


PARTS: dict[str, Callable[[Path, argparse.Namespace], dict[str, Any]]] = {
    "overhead": overhead,
    "many": many,
    "kills": kills,
    "data": data,
    "simulated": simulated,
}
TELLING: dict[str, Callable[[dict[str, Any]], list[str]]] = {
    "overhead": tell_overhead,
    "many": tell_simulated("Many trials"),
    "kills": tell_kills,
    "data": tell_data,
    "simulated": tell_simulated("Many workers, simulated"),
}


if __name__ == "__main__":
    note_ends()
    main()
