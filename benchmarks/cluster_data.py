"""Data on its way to a worker, beside a copy by a plain socket: a part of docs/cluster-figures.md.

    python benchmarks/cluster_data.py [--gigabytes 2] [--rounds 3]

Both copies are taken in turn, over this machine's own network.
"""

from __future__ import annotations

import argparse
import os
import shutil
import socket
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from cluster_page import Found, measure_part
from cluster_shared import ONE, client_of, cluster, resident_mb

from harness.cluster.calling import Caller
from harness.cluster.parcels import Parcel
from harness.cluster.sending import send_parcel

FILES = 8
BLOCK_BYTES = 1 << 24
SENDER = """
import os, socket, sys
to = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
buffer = memoryview(bytearray(1 << 20))
for name in sorted(os.listdir(sys.argv[2])):
    with open(os.path.join(sys.argv[2], name), "rb", buffering=0) as file:
        while got := file.readinto(buffer):
            to.sendall(buffer[:got])
"""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    measure_part("data", partial(measure, asked.gigabytes, asked.rounds))


def measure(gigabytes: float, rounds: int, folder: Path) -> Found:
    """A folder of this size to a worker, and by a plain socket, in turn."""
    source = make_source(folder / "host" / "big-0123456789abcdef", gigabytes)
    n_bytes = sum(file.stat().st_size for file in source.iterdir())
    speeds: dict[str, list[float]] = {"socket": [], "parcel": []}
    grown_mb = 0.0
    with cluster(folder, ONE, HARNESS_OWN_COPIES="1", HARNESS_REPRESENTED_BYTES="1") as address:
        client = client_of(address, 1)
        ((worker, pid),) = client.run(os.getpid).items()
        caller = Caller(client)
        before = resident_mb(pid), resident_mb(os.getpid())
        for number in range(rounds):
            plain = seconds_of(partial(copy_by_socket, source, folder / "copy"))
            shutil.rmtree(folder / "copy")
            parcel = Parcel("representation", f"big-{number}", "1", str(source))
            sent = seconds_of(partial(send_parcel, caller, worker, parcel))
            shutil.rmtree(folder / "workers" / "represented")
            speeds["socket"].append(n_bytes / plain / 1e6)
            speeds["parcel"].append(n_bytes / sent / 1e6)
            grown_mb = max(grown_mb, resident_mb(pid) - before[0], resident_mb(os.getpid()) - before[1])
        client.close()
    ratios = [parcel / plain for plain, parcel in zip(speeds["socket"], speeds["parcel"], strict=True)]
    medians = {name: statistics.median(values) for name, values in speeds.items()}
    ratio = statistics.median(ratios)
    return {"gigabytes": n_bytes / 1e9, **medians, "ratio": ratio, "ratios": ratios, "grown_mb": grown_mb}


def make_source(folder: Path, gigabytes: float) -> Path:
    """A folder with so much in it that nothing can make smaller."""
    folder.mkdir(parents=True)
    block = os.urandom(BLOCK_BYTES)
    for number in range(FILES):
        with open(folder / f"part{number}.npy", "wb") as file:
            for _ in range(round(gigabytes * 1e9 / FILES / BLOCK_BYTES)):
                file.write(block)
    (folder / "header.json").write_text('{"checksum": 1}')
    return folder


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


if __name__ == "__main__":
    main()
