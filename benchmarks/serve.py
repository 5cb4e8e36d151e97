"""Request rate and latency of `harness serve` beside an empty FastAPI endpoint, in one run.

    python benchmarks/serve.py [--requests 20000] [--clients 16]

Fits `pa` on digits of text, serves it with one worker, and sends one text per request from several clients over
connections that stay open. The servers take turns, since other load on the machine may change. Prints the ratio of the
request rates, the latencies, the CPU time of the servers, errors, and the memory of the server. About a minute on two
cores with 20,000 requests.
"""

from __future__ import annotations

import argparse
import http.client
import json
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

TURNS = 10
WORDS = [f"word{n}" for n in range(2000)]
EMPTY = """
import uvicorn
from fastapi import FastAPI
app = FastAPI()
@app.post("/predict")
async def predict() -> dict[str, str]:
    return {}
uvicorn.run(app, port=%d, access_log=False, log_level="warning")
"""


def make_texts(n: int, seed: int) -> tuple[list[str], list[str]]:
    """Return texts of eight words with their class, one of 200, that decides half of the words."""
    chance = random.Random(seed)
    texts, labels = [], []
    for _ in range(n):
        label = chance.randrange(200)
        own = [WORDS[(label * 10 + chance.randrange(10)) % len(WORDS)] for _ in range(4)]
        texts.append(" ".join([*own, *chance.choices(WORDS, k=4)]))
        labels.append(f"class {label}")
    return texts, labels


@contextmanager
def server(command: list[str], port: int) -> Iterator[int]:
    """Run a server and yield its process id once it responds."""
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    try:
        while True:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                connection.request("GET", "/health")
                connection.getresponse().read()
                break
            except OSError:
                time.sleep(0.1)
        yield process.pid
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def send(port: int, texts: list[str], threads: int, results: multiprocessing.Queue[tuple[list[float], int]]) -> None:
    """Send one request for each text from some threads; put latencies and the number of errors into a queue."""
    latencies: list[float] = []
    errors = 0
    lock = threading.Lock()
    waiting = iter(texts)

    def client() -> None:
        nonlocal errors
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        while True:
            with lock:
                text = next(waiting, None)
            if text is None:
                return
            body = json.dumps({"texts": [text], "top": 3})
            started = time.perf_counter()
            connection.request("POST", "/predict", body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            response.read()
            elapsed = time.perf_counter() - started
            with lock:
                latencies.append(elapsed)
                errors += response.status != 200

    running = [threading.Thread(target=client) for _ in range(threads)]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    results.put((latencies, errors))


def load(port: int, texts: list[str], clients: int) -> tuple[float, list[float], int]:
    """Return seconds, sorted latencies and errors of all requests, sent from four processes."""
    results: multiprocessing.Queue[tuple[list[float], int]] = multiprocessing.Queue()
    processes = min(4, clients)
    parts = [texts[place::processes] for place in range(processes)]
    started = time.perf_counter()
    running = []
    for part in parts:
        running.append(multiprocessing.Process(target=send, args=(port, part, clients // processes, results)))
        running[-1].start()
    ended = [results.get() for _ in running]
    seconds = time.perf_counter() - started
    for process in running:
        process.join()
    latencies = sorted(latency for found, _ in ended for latency in found)
    return seconds, latencies, sum(errors for _, errors in ended)


def resident_megabytes(pid: int) -> float:
    """Return the memory of a process and its children."""
    total = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(")")[2].split()
            if pid in (int(path.parent.name), int(fields[1])):
                total += int(fields[21]) * os.sysconf("SC_PAGE_SIZE")
        except OSError:
            continue
    return total / 1e6


def cpu_seconds(pid: int) -> float:
    """Return the CPU time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@dataclass
class Measured:
    """Figures of one server, summed over its turns."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    errors: int = 0

    def add(self, seconds: float, latencies: list[float], errors: int) -> None:
        self.seconds += seconds
        self.latencies += latencies
        self.errors += errors

    @property
    def rate(self) -> float:
        """Requests per second."""
        return len(self.latencies) / self.seconds

    def report(self, name: str) -> None:
        """Print one line."""
        latencies = sorted(self.latencies)
        median, slow = latencies[len(latencies) // 2], latencies[int(0.99 * len(latencies))]
        print(
            f"{name}: {self.rate:,.0f} requests/s, median {1000 * median:.1f} ms, p99 {1000 * slow:.1f} ms "
            f"({slow / median:.1f} times the median), {self.errors} errors in {len(latencies):,}"
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--port", type=int, default=8765)
    given = parser.parse_args()
    import harness

    texts, _ = make_texts(given.requests, seed=1)
    empty, served = Measured(), Measured()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "model"
        harness.fit("pa", make_texts(5000, seed=0), representation="words", out=model)
        command = [sys.executable, "-m", "harness", "serve", str(model), "--port", str(given.port + 1)]
        with (
            server([sys.executable, "-c", EMPTY % given.port], given.port) as other,
            server(command, given.port + 1) as pid,
        ):
            load(given.port, texts[:2000], given.clients)
            load(given.port + 1, texts[:2000], given.clients)
            before, cpu_before = resident_megabytes(pid), [cpu_seconds(other), cpu_seconds(pid)]
            for turn in range(TURNS):
                empty.add(*load(given.port, texts[turn::TURNS], given.clients))
                served.add(*load(given.port + 1, texts[turn::TURNS], given.clients))
            after, cpu_after = resident_megabytes(pid), [cpu_seconds(other), cpu_seconds(pid)]
    empty.report("empty endpoint")
    served.report("harness serve")
    empty_ms, served_ms = (
        1000 * (end - start) / given.requests for start, end in zip(cpu_before, cpu_after, strict=True)
    )
    print(f"CPU time of the servers: {empty_ms:.2f} ms and {served_ms:.2f} ms per request, {empty_ms / served_ms:.2f}")
    print(f"ratio of rates: {served.rate / empty.rate:.2f}; memory {before:.0f} MB before, {after:.0f} MB after")


if __name__ == "__main__":
    main()
