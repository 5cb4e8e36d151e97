"""CPU time that sealed test labels add to a trial, compared with drawing the split inside the trial's process.

    python benchmarks/sealing.py [--rows 10000] [--repeat 30]

Prints each step and the difference, in milliseconds of CPU time, which a busy machine changes little. Writes
results/benchmarks/sealing.
"""

from __future__ import annotations

import argparse
import os
import statistics
import struct
import tempfile
from collections.abc import Callable
from pathlib import Path
from time import process_time

import numpy as np
from report import Section, facts, measure_sections
from scipy.sparse import random_array

from harness.data.arrays import keep, open_dataset, rows_folder
from harness.data.load import checked
from harness.data.split import draw_labelled, open_labelled, read_sealed, seal
from harness.host.contract import Dataset
from harness.syntax.split import parse_split
from harness.system import SYSTEM

SPLIT = parse_split("holdout:0.2")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--repeat", type=int, default=30)
    arguments = parser.parse_args()
    measure_sections("sealing", [lambda: compare(arguments.rows, arguments.repeat)])


def compare(rows: int, repeat: int) -> Section:
    """Measure each step, and the time that a trial needs more than before."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "data"
        keep(noise(rows), folder)
        steps = measure(str(folder), repeat)
    former, *sealed = steps.values()
    measured = [(name, 1000 * seconds, "ms") for name, seconds in steps.items()]
    return Section(f"{rows:,} rows", [facts(*measured, ("more than before", 1000 * (sum(sealed) - former), "ms"))])


def noise(rows: int) -> Dataset:
    """Return random rows of 100 classes."""
    generator = np.random.default_rng(0)
    X = random_array((rows, 1000), density=0.01, format="csr", dtype=np.float32, rng=generator)
    return checked("noise", Dataset(X, generator.integers(0, 100, rows), tuple(map(str, range(100)))))


def measure(folder: str, repeat: int) -> dict[str, float]:
    """Return the median CPU seconds of each step; the first step is the one that sealing replaces."""
    file = seal(None, folder, SPLIT, 0).file

    def draw_inside() -> None:
        draw_labelled(SPLIT, open_dataset(Path(folder)), 0)

    def seal_outside() -> None:
        open_labelled.cache_clear()  # the first learner of a trial: the others find the split in memory
        seal(None, folder, SPLIT, 0).file.close()

    return {
        "draw the split in the trial's process, as before": median_cpu(draw_inside, repeat),
        "draw the split and write the file, in the host": median_cpu(seal_outside, repeat),
        "read the file, in the trial's process": median_cpu(lambda: read_sealed(file.fileno()), repeat),
        "hide the data home, in the trial's process": statistics.median(hiding(folder) for _ in range(repeat)),
    }


def median_cpu(work: Callable[[], object], repeat: int) -> float:
    """Return the median CPU seconds of a function."""
    times = []
    for _ in range(repeat):
        start = process_time()
        work()
        times.append(process_time() - start)
    return statistics.median(times)


def hiding(folder: str) -> float:
    """Return the CPU seconds of hiding folders, in a separate process."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        start = process_time()
        SYSTEM.hide_folders([folder], [str(rows_folder(folder))])
        os.write(writer, struct.pack("d", process_time() - start))
        os._exit(0)
    os.waitpid(child, 0)
    (seconds,) = struct.unpack("d", os.read(reader, 8))
    os.close(reader)
    os.close(writer)
    return float(seconds)


if __name__ == "__main__":
    main()
