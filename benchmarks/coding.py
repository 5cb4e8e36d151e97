"""Speed and memory of `harness predict` on a long file, beside the learner's own speed.

    python benchmarks/coding.py titles.csv --text title --label code [--rows 1000000]

Fits `pa` with `words` on short texts and codes random ones of them. The learner's own speed is that of `Model.answer`
on the same texts in memory, by 8,192 at a time: texts to features, ranking, scores and confidence, which the command
computes too. It runs on one core, and the command may use two. All are measured in turn, three times, and the fastest
counts. CPU time is that of all threads; it suffers less from other load. The command's time includes its start, which
is also measured by itself, with a file of one row.
"""

from __future__ import annotations

import argparse
import gc
import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

from model import read_titles, write_titles

import harness
from harness.cli.model import COLLECTED_OBJECTS

BLOCK_ROWS = 8192
GOAL_SHARE, GOAL_BYTES = 0.7, 300e6


class Spent(NamedTuple):
    """The times and the memory of a measurement."""

    seconds: float
    cpu_seconds: float
    bytes: int = 0


LAUNCHER = """
import json, os, subprocess, sys, time
started = time.perf_counter()
environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
words = [sys.executable, "-m", "harness", *sys.argv[1:]]
process = subprocess.Popen(words, stderr=subprocess.DEVNULL, env=environment)
_, status, usage = os.wait4(process.pid, 0)
seconds = time.perf_counter() - started
print(json.dumps([seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024]) if not status else status)
"""
"""A small process, since a process that is forked from a large one counts the memory of that one. Python keeps compiled
modules, as after a usual installation."""


def run_command(words: list[str]) -> Spent:
    """Run `harness` and return its time and its peak of memory."""
    printed = subprocess.run([sys.executable, "-c", LAUNCHER, *words], capture_output=True, text=True, check=True)
    return Spent(*json.loads(printed.stdout))


def answer_all(model: harness.Model, texts: list[str]) -> Spent:
    """Answer texts in memory."""
    started, cpu_started = time.perf_counter(), time.process_time()
    for first in range(0, len(texts), BLOCK_ROWS):
        model.answer(texts[first : first + BLOCK_ROWS])
    return Spent(time.perf_counter() - started, time.process_time() - cpu_started)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("titles", type=Path)
    parser.add_argument("--text", default="title")
    parser.add_argument("--label", default="code")
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    known, labels = read_titles(given.titles, given.text, given.label)
    with tempfile.TemporaryDirectory() as folder:
        saved, one, new, coded = (Path(folder, name) for name in ("model", "one.csv", "new.csv", "coded.csv"))
        model = harness.fit("pa", (known, labels), representation="words", out=saved)
        write_titles(one, known, 1)
        write_titles(new, known, given.rows)
        chance = random.Random(0)
        texts = [chance.choice(known) for _ in range(given.rows)]
        model.answer(texts[:BLOCK_ROWS])
        gc.freeze()  # this and the next line as the command does
        gc.set_threshold(COLLECTED_OBJECTS)
        options = ["--text", "title", "--out", str(coded)]
        run_command(["predict", str(saved), str(one), *options])  # compiles modules
        starts, commands, own = [], [], []
        for _ in range(given.repeats):
            starts.append(run_command(["predict", str(saved), str(one), *options]))
            commands.append(run_command(["predict", str(saved), str(new), *options]))
            own.append(answer_all(model, texts))
    print_figures(given.rows, Figures(fastest(starts), fastest(commands), fastest(own)))


class Figures(NamedTuple):
    """The fastest runs of the command with one row, of the command with all rows, and of the learner alone."""

    start: Spent
    command: Spent
    alone: Spent


def fastest(repeats: list[Spent]) -> Spent:
    """Return the shortest times, and the highest peak of memory."""
    seconds, cpu_seconds, peaks = zip(*repeats, strict=True)
    return Spent(min(seconds), min(cpu_seconds), max(peaks))


def print_figures(rows: int, found: Figures) -> None:
    start, command, alone = found
    seconds, cpu_seconds = command.seconds - start.seconds, command.cpu_seconds - start.cpu_seconds
    print(f"harness predict: {rows / command.seconds:,.0f} rows/s, {command.cpu_seconds:.1f} s of CPU time")
    print(f"its start: {start.seconds:.1f} s, {start.cpu_seconds:.1f} s of CPU time")
    print(f"learner alone: {rows / alone.seconds:,.0f} rows/s, {alone.cpu_seconds:.1f} s of CPU time")
    print(f"share of the learner's own speed: {alone.seconds / command.seconds:.0%} (goal {GOAL_SHARE:.0%})")
    print(f"the same after the start: {alone.seconds / seconds:.0%}")
    by_cpu, by_cpu_after = alone.cpu_seconds / command.cpu_seconds, alone.cpu_seconds / cpu_seconds
    print(f"by CPU time: {by_cpu:.0%}, after the start {by_cpu_after:.0%}")
    print(f"peak memory: {command.bytes / 1e6:.0f} MB (goal {GOAL_BYTES / 1e6:.0f} MB)")


if __name__ == "__main__":
    main()
