"""Time and memory of parsing, generating and opening datasets.

    python benchmarks/data.py [--raw FOLDER] [--parts news,counting,zipf,directory,cached,csv] [--megabytes 500]

FOLDER holds 20newsgroups/. Each dataset is loaded, checked and cached by the harness's own function in a child process,
as in a run. Writes results/benchmarks/datasets-speed; a part that is not chosen keeps its row.
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
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from report import Column, Section, Table, Value, read_sections, save_section

from harness.data.arrays import open_dataset
from harness.data.load import ParseJob
from harness.experiment.references import parse_dataset
from harness.experiment.resolve import resolve_dataset
from harness.host.discovery import discover

NAME, TITLE = "datasets-speed", "Parse, generate, open"
PARTS = ("news", "counting", "zipf", "directory", "cached", "csv")
LABELS = {
    "news": "parse 20 newsgroups, archive to word counts",
    "counting": "count words of 20 newsgroups",
    "zipf": "generate `zipf`, 12,000 classes",
    "directory": "generate `directory`, 12,000 classes",
    "cached": "open a cached dataset",
    "csv": "parse a large CSV",
}
GOALS = {"news": 5.0, "counting": 5.0, "zipf": 20.0, "directory": 20.0, "cached": 0.1}
COLUMNS = [
    Column("operation"),
    Column("wall time", "s", None),
    Column("CPU time", "s", 1),
    Column("goal", "s", None),
    Column("peak memory", "MiB"),
    Column("data"),
]
GENERATED = {
    "zipf": {"rows": 120_000, "classes": 12_000},
    "directory": {"rows": 120_000, "classes": 12_000, "features": 300_000},
}
CHILD = """
import json, pickle, sys, time
import sklearn.base, harness.trials.run  # as in the fork server
from harness.data.load import run_parse_job
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
    measured = {part: row for part in PARTS for row in saved_rows() if row[0] == LABELS[part]}
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder)
        parts: dict[str, Callable[[], list[Value]]] = {
            "news": partial(measure_news, options.raw, home / "news"),
            "counting": partial(measure_counting, options.raw),
            "zipf": partial(measure_generated, "zipf", home / "zipf"),
            "directory": partial(measure_generated, "directory", home / "directory"),
            "cached": partial(measure_cached, home),
            "csv": partial(measure_csv, home, options.megabytes),
        }
        for part in PARTS:
            if part in options.parts.split(","):
                measured[part] = parts[part]()
                rows = [measured[known] for known in PARTS if known in measured]
                save_section(NAME, Section(TITLE, [Table(COLUMNS, rows)]))


def saved_rows() -> list[Sequence[Value]]:
    """Return the rows of earlier runs."""
    return [row for section in read_sections(NAME) for table in section.tables for row in table.rows]


def parse(name: str, params: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Load, check and cache a dataset in a child process; return times and memory."""
    dataset = resolve_dataset(parse_dataset(name), discover())
    job = ParseJob(dataset.name, dataset.entry.spec.load, {**dataset.ref.params, **params}, folder)
    ended = subprocess.run([sys.executable, "-c", CHILD], input=pickle.dumps(job), stdout=subprocess.PIPE, check=True)
    measured: dict[str, Any] = json.loads(ended.stdout)
    return measured


def row(part: str, measured: Mapping[str, Any], data: str) -> list[Value]:
    seconds, peak = measured["load_seconds"], measured["peak_bytes"]
    return [LABELS[part], seconds, measured["cpu_seconds"], GOALS.get(part), peak / 2**20, data]


def measure_news(raw: Path | None, folder: Path) -> list[Value]:
    """Parse the compressed archive into word counts."""
    measured = parse("newsgroups", {"source": str(newsgroups_folder(raw))}, folder)
    return row("news", measured, shape(folder))


def newsgroups_folder(raw: Path | None) -> Path:
    if raw is None:
        raise SystemExit("error: the parts news and counting need --raw FOLDER with 20newsgroups/ in it")
    return raw / "20newsgroups"


def measure_counting(raw: Path | None) -> list[Value]:
    """Count the words of messages in memory, beside scikit-learn's vectoriser with the same tokens."""
    from sklearn.feature_extraction.text import CountVectorizer

    from harness_representations.words import Words
    from harness_text.newsgroups import TOKENS, read_messages

    texts = [message.text for message in read_messages(str(newsgroups_folder(raw)))]
    words = Words(weighting="raw", tokens=TOKENS["scikit-learn"], min_df=2)
    ours = min(_seconds(words.fit_transform, texts, times=3))
    theirs = min(_seconds(CountVectorizer(min_df=2).fit_transform, texts, times=3))
    beside = f"scikit-learn's CountVectorizer: {theirs:.1f} s, {theirs / ours:.1f} times as long"
    return [LABELS["counting"], ours, None, GOALS["counting"], None, beside]


def measure_generated(name: str, folder: Path) -> list[Value]:
    """Generate a large dataset."""
    return row(name, parse(name, GENERATED[name], folder), shape(folder))


def measure_cached(home: Path) -> list[Value]:
    """Open cached datasets. Their arrays are mapped, so the size does not matter."""
    folders = [folder for folder in (home / "news", home / "zipf") if folder.exists()]
    if not folders:
        raise SystemExit("error: the part cached needs the part news or zipf in the same run")
    slowest, each = 0.0, []
    for folder in folders:
        seconds = statistics.median(_seconds(open_dataset, folder, times=11))
        slowest = max(slowest, seconds)
        each.append(f"{folder.name} {seconds * 1000:.1f} ms")
    return [LABELS["cached"], slowest, None, GOALS["cached"], None, ", ".join(each)]


def _seconds(function: Callable[[Any], Any], argument: Any, *, times: int) -> list[float]:
    """Return the wall seconds of each of some calls."""
    seconds = []
    for _ in range(times):
        begun = time.perf_counter()
        function(argument)
        seconds.append(time.perf_counter() - begun)
    return seconds


def measure_csv(home: Path, megabytes: int) -> list[Value]:
    """Parse a CSV that is larger than the arrays made from it."""
    path, folder = home / "titles.csv", home / "csv"
    write_csv(path, megabytes * 10**6)
    measured = parse(str(path), {}, folder)
    arrays = sum(file.stat().st_size for file in folder.iterdir())
    level = measured["level_bytes"]
    sizes = f"cached arrays {arrays / 2**20:,.0f} MiB, interpreter {level / 2**20:,.0f} MiB"
    return row("csv", measured, f"{path.stat().st_size / 1e6:,.0f} MB: {shape(folder)}; {sizes}")


def write_csv(path: Path, n_bytes: int) -> None:
    """Write rows of an id, one of 5,000 labels and about 60 of 50,000 words, both by Zipf's law, from a fixed seed."""
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
    """Describe a cached dataset."""
    header = json.loads((folder / "header.json").read_text())
    return (
        f"{header['rows']:,} x {header['features']:,}, {header['classes']:,} classes, {header['nonzeros']:,} non-zeros"
    )


if __name__ == "__main__":
    main()
