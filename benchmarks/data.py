"""How long data takes to be made, read and opened, and in how much memory: prints it and writes docs/datasets-speed.md.

    python benchmarks/data.py [--raw FOLDER] [--parts news,counting,zipf,directory,cached,csv] [--megabytes 500]

FOLDER holds 20newsgroups/. The machine may be shared: processor seconds stand beside the wall's. Every data set is
loaded, checked and kept by the function that the host runs, in a process of its own, as the host does. A part that is
not asked for keeps its lines of the page as they are.
"""

from __future__ import annotations

import argparse
import json
import pickle
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from harness.data.arrays import open_dataset
from harness.data.parsing import ParseJob
from harness.experiment.dataset_ref import parse_dataset
from harness.experiment.resolve import resolve_dataset
from harness.host import discover
from harness.machine import describe_machine

PAGE = Path(__file__).resolve().parent.parent / "docs" / "datasets-speed.md"
PARTS = ("news", "counting", "zipf", "directory", "cached", "csv")
AIMS = {"news": 5.0, "counting": 5.0, "zipf": 20.0, "directory": 20.0, "cached": 0.1}
MADE = {
    "zipf": {"rows": 120_000, "classes": 12_000},
    "directory": {"rows": 120_000, "classes": 12_000, "features": 300_000},
}
CHILD = """
import json, pickle, sys, time
import sklearn.base, harness.trials.running  # as the host's fork server has them
from harness.data.parsing import run_parse_job
job = pickle.loads(sys.stdin.buffer.read())
level = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
begun, cpu = time.perf_counter(), time.process_time()
times = {}
_, error = run_parse_job(job, lambda phase: times.setdefault(phase, time.perf_counter() - begun))
if error is not None:
    raise SystemExit(str(pickle.loads(error)))
seconds, cpu_seconds = time.perf_counter() - begun, time.process_time() - cpu
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
kilobytes = [int(line.split()[1]) for line in (level, peak)]
print(json.dumps({"seconds": seconds, "load_seconds": times.get("checking"), "cpu_seconds": cpu_seconds,
                  "level_bytes": kilobytes[0] * 1024, "peak_bytes": kilobytes[1] * 1024}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--raw", type=Path, help="the folder that holds 20newsgroups/")
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--megabytes", type=int, default=500, help="size of the CSV (default: %(default)s)")
    options = parser.parse_args()
    chosen = options.parts.split(",")
    lines = read_lines()
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        parts: dict[str, Callable[[], str]] = {
            "news": partial(measure_news, options.raw, home / "news"),
            "counting": partial(measure_counting, options.raw),
            "zipf": partial(measure_made, "zipf", home / "zipf"),
            "directory": partial(measure_made, "directory", home / "directory"),
            "cached": partial(measure_cached, home),
            "csv": partial(measure_csv, home, options.megabytes),
        }
        for part in PARTS:
            if part in chosen:
                lines[part] = parts[part]()
                print(lines[part], flush=True)
    write_page(lines)


def parse(name: str, params: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Load, check and keep a data set in a process of its own; gives times and memory."""
    dataset = resolve_dataset(parse_dataset(name), discover())
    job = ParseJob(dataset.name, dataset.entry.spec.load, {**dataset.ref.params, **params}, folder)
    ended = subprocess.run([sys.executable, "-c", CHILD], input=pickle.dumps(job), stdout=subprocess.PIPE, check=True)
    measured: dict[str, Any] = json.loads(ended.stdout)
    return measured


def row(what: str, measured: Mapping[str, Any], aim: str, more: str) -> str:
    """A line of the page's table."""
    seconds, peak = measured["load_seconds"], measured["peak_bytes"]
    times = f"{seconds:.1f} s | {measured['cpu_seconds']:.1f} s"
    return f"| {what} | {times} | {aim} | {peak / 2**20:,.0f} MiB | {more} |"


def measure_news(raw: Path | None, folder: Path) -> str:
    """From the packed archive to counted words."""
    if raw is None:
        raise SystemExit("news: give --raw with the folder that holds 20newsgroups/")
    measured = parse("newsgroups", {"source": str(raw / "20newsgroups")}, folder)
    return row("20 newsgroups, archive to word counts", measured, f"{AIMS['news']:g} s", shape(folder))


def measure_counting(raw: Path | None) -> str:
    """Messages in memory to counted words, beside scikit-learn's vectorizer with the same tokens."""
    from sklearn.feature_extraction.text import CountVectorizer

    from harness_representations.words import Words
    from harness_text.newsgroups import TOKENS, read_messages

    if raw is None:
        raise SystemExit("counting: give --raw with the folder that holds 20newsgroups/")
    texts = [message.text for message in read_messages(str(raw / "20newsgroups"))]
    words = Words(weighting="raw", tokens=TOKENS["scikit-learn"], min_df=2)
    ours = min(_seconds(words.fit_transform, texts, times=3))
    theirs = min(_seconds(CountVectorizer(min_df=2).fit_transform, texts, times=3))
    more = f"scikit-learn's CountVectorizer {theirs:.1f} s, **{theirs / ours:.1f}** times as long"
    return f"| 20 newsgroups, texts to word counts | {ours:.1f} s | | {AIMS['counting']:g} s | | {more} |"


def measure_made(name: str, folder: Path) -> str:
    """A large data set from a seed."""
    measured = parse(name, MADE[name], folder)
    return row(f"{name}, 12,000 classes and 120,000 rows", measured, f"{AIMS[name]:g} s", shape(folder))


def measure_cached(home: Path) -> str:
    """Opening what is kept; mapped, so its size does not matter."""
    folders = [folder for folder in (home / "news", home / "zipf") if folder.exists()]
    if not folders:
        raise SystemExit("cached: needs the parts news or zipf")
    slowest, told = 0.0, []
    for folder in folders:
        seconds = statistics.median(_seconds(open_dataset, folder, times=11))
        slowest = max(slowest, seconds)
        told.append(f"{folder.name} {seconds * 1000:.1f} ms")
    more = ", ".join(told)
    return f"| opening a kept data set | {slowest:.3f} s | | {AIMS['cached']:g} s | | {more} |"


def _seconds(function: Callable[[Any], Any], argument: Any, *, times: int) -> list[float]:
    """How long each of some calls takes."""
    seconds = []
    for _ in range(times):
        begun = time.perf_counter()
        function(argument)
        seconds.append(time.perf_counter() - begun)
    return seconds


def measure_csv(home: Path, megabytes: int) -> str:
    """A table of texts that is larger than what is made of it."""
    path, folder = home / "titles.csv", home / "csv"
    write_csv(path, megabytes * 10**6)
    measured = parse(str(path), {}, folder)
    arrays = sum(file.stat().st_size for file in folder.iterdir())
    level = measured["level_bytes"]
    more = f"{shape(folder)}; kept arrays {arrays / 2**20:,.0f} MiB, interpreter {level / 2**20:,.0f} MiB"
    return row(f"a CSV of {path.stat().st_size / 1e6:,.0f} MB", measured, "", more)


def write_csv(path: Path, n_bytes: int) -> None:
    """Rows of an id, a label of 5,000 and about 60 words of 50,000, both by Zipf's law, the same for every call."""
    draw = random.Random(0)
    words = [f"w{number:05d}" for number in range(50_000)]
    weights = [1 / (rank + 1) for rank in range(len(words))]
    pool = [" ".join(draw.choices(words, weights, k=20)) for _ in range(20_000)]
    labels = [f"class {number}" for number in range(5_000)]
    label_weights = [1 / (rank + 1) for rank in range(len(labels))]
    written = number = 0
    with open(path, "w") as file:
        file.write("id,label,text\n")
        while written < n_bytes:
            chosen = draw.choices(labels, label_weights, k=1000)
            texts = draw.choices(pool, k=3000)
            for i in range(1000):
                text = f"{texts[i]} {texts[1000 + i]} {texts[2000 + i]}"
                written += file.write(f"{number + i},{chosen[i]},{text}\n")
            number += 1000


def shape(folder: Path) -> str:
    """What was made, in a few words."""
    header = json.loads((folder / "header.json").read_text())
    return (
        f"{header['rows']:,} x {header['features']:,}, {header['classes']:,} classes, {header['nonzeros']:,} non-zeros"
    )


def read_lines() -> dict[str, str]:
    """The lines of the page as it is, by part."""
    if not PAGE.exists():
        return {}
    rows = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")][1:]
    starts = {
        "news": "| 20 newsgroups, archive",
        "counting": "| 20 newsgroups, texts",
        "zipf": "| zipf",
        "directory": "| directory",
        "cached": "| opening",
        "csv": "| a CSV",
    }
    found = {}
    for part, start in starts.items():
        for line in rows:
            if line.startswith(start):
                found[part] = line
    return found


def write_page(lines: Mapping[str, str]) -> None:
    machine = describe_machine()
    page = "\n".join(
        [
            "# How fast data sets are read and opened",
            "",
            "Written by `python benchmarks/data.py`; do not edit by hand. Seconds from nothing to the loader's answer;",
            "processor seconds with checking and writing the arrays, which happens once for each data set. Peak memory",
            "is that of the process that does all this (VmHWM), the interpreter and its libraries included.",
            "",
            f"Measured on {machine.processor}, {machine.cores} cores, which other work may have shared.",
            "",
            "| what | seconds | processor | aim | peak memory | made |",
            "|---|---:|---:|---:|---:|---|",
            *(lines[part] for part in PARTS if part in lines),
            "",
        ]
    )
    PAGE.write_text(page)
    print(page)


if __name__ == "__main__":
    main()
