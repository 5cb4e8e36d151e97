"""Size and speed of large results pages: 50 and 200 learners on 20 datasets, 10 trials each, every metric of a run.

    python benchmarks/page.py

Writes each page, opens it in Chromium, highlights a learner, sorts and filters, and saves the times in
results/benchmarks/page-speed: wall time, and CPU time of the browser's processes, which other load changes little. The
goals are for 50 learners: opened within `MOST_SECONDS`, with a file of at most `MOST_MEGABYTES`. A miss exits with 1.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from report import Column, Section, Table, facts, measure_sections

from harness import MetricSpec
from harness.host.discovery import Session
from harness.records.record import Record
from harness.results.pages import make_page
from harness.results.results import Results
from harness.syntax.split import parse_split

ROOT = Path(__file__).resolve().parents[1]
USUAL, LARGE = 50, 200
"""Numbers of learners."""
DATASETS, TRIALS = 20, 10
MOST_SECONDS, MOST_MEGABYTES = 2.0, 3.0
OPEN = "open, until the figure is drawn"
TIMES_OPENED = 5
COLUMNS = [Column("action"), Column("wall time", "s", 2), Column("CPU time of the browser", "s", 2)]


def made_up_records(metrics: Sequence[MetricSpec], learners: int) -> list[Record]:
    """Return synthetic records whose numbers vary as much as real ones."""
    split, chance = parse_split("holdout:0.1"), random.Random(0)
    records = []
    for dataset in range(DATASETS):
        for learner in range(learners):
            for seed in range(TRIALS):
                scores = {metric.name: made_up_value(metric, learner / learners, chance) for metric in metrics}
                records.append(
                    Record(
                        key=f"{dataset}-{learner}-{seed}",
                        label=f"learner-{learner}",
                        family=f"learner-{learner}",
                        learner=f"learner-{learner}",
                        dataset=f"data-{dataset}",
                        dataset_family=f"data-{dataset}",
                        fingerprint=f"{dataset}",
                        learner_kind="tree" if learner % 2 else "flat",
                        learner_distribution="made-up",
                        learner_version="1",
                        params={"C": learner},
                        dataset_params={},
                        representation="tf",
                        split=split,
                        number=seed,
                        seed=seed,
                        depth=10,
                        status="ok",
                        scores=scores,
                        n_train=900 * (dataset + 1),
                        n_test=100 * (dataset + 1),
                        n_classes=10 * (dataset + 1),
                        n_features=1000,
                        machine="m",
                        versions={"python": "3.11.7", "numpy": "2.4.6"},
                    )
                )
    return records


def made_up_value(metric: MetricSpec, place: float, chance: random.Random) -> float:
    """Return a value of a learner at a place between 0 and 1, the most accurate and most expensive last."""
    if metric.unit == "share":
        return 0.5 + 0.4 * place + chance.gauss(0, 0.01)
    size = {"seconds": 1.0, "bytes": 1e8, "count": 1e5}[metric.unit]
    return size * (1 + 200 * place) * abs(1 + chance.gauss(0, 0.1))


def write_large_page(folder: Path, learners: int) -> tuple[Path, int, float]:
    """Write the page; return its file, the number of metrics and the CPU seconds."""
    session = Session()
    metrics = [entry.spec for entry in session.catalog.metrics if entry.spec.always]
    records = tuple(made_up_records(metrics, learners))
    kept_in = {record.key: folder for record in records}
    results = Results((folder,), records, {}, session=session, folder_of=kept_in)
    start = time.process_time()
    path = make_page([results]).save(folder / "large.html")
    return path, len(metrics), time.process_time() - start


def time_actions(path: Path) -> dict[str, tuple[float, float]]:
    """Return wall and CPU seconds of opening, sorting and filtering, the best of several each."""
    sys.path.insert(0, str(ROOT / "tests" / "parts"))
    from browser import Opened, start_browser

    driver = start_browser()
    page = Opened(driver, path)

    def open_whole() -> None:
        page.open()
        page.wait(lambda: page.all("#chart svg"))

    done: dict[str, Callable[[], object]] = {
        OPEN: open_whole,
        "highlight a learner": lambda: page.run("document.querySelector('.card .name').click()"),
        "sort": lambda: page.press("R1"),
        "filter by dataset": lambda: page.choose("filters", "dataset", "data-7"),
    }
    taken: dict[str, list[tuple[float, float]]] = {what: [] for what in done}
    try:
        for _ in range(TIMES_OPENED):
            for what, do in done.items():
                taken[what].append(seconds_of(do, driver.service.process.pid))
    finally:
        driver.quit()
    return {what: (min(a for a, _ in seconds), min(b for _, b in seconds)) for what, seconds in taken.items()}


def seconds_of(do: Callable[[], object], browser: int) -> tuple[float, float]:
    """Return wall seconds of an action, and CPU seconds of the browser and its child processes."""
    start, worked = time.perf_counter(), cpu_seconds_of(browser)
    do()
    return time.perf_counter() - start, cpu_seconds_of(browser) - worked


def cpu_seconds_of(root: int) -> float:
    """Return the CPU seconds of a process and its descendants, from /proc."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:  # the process has ended
            continue
        process = int(entry.parent.name)
        parents[process], ticks[process] = int(fields[1]), int(fields[11]) + int(fields[12])
    total = 0
    for process, count in ticks.items():
        above = process
        while above not in (root, 0, 1):
            above = parents.get(above, 0)
        total += count if above == root else 0
    return total / os.sysconf("SC_CLK_TCK")


def measure(learners: int) -> Section:
    with tempfile.TemporaryDirectory() as folder:
        path, n_metrics, seconds = write_large_page(Path(folder), learners)
        megabytes = path.stat().st_size / 1e6
        times = time_actions(path)
    size = facts(
        ("trials", learners * DATASETS * TRIALS, ""),
        ("metrics", n_metrics, ""),
        ("file", megabytes, "MB"),
        ("CPU time to write it", seconds, "s"),
    )
    rows = [[action, wall, cpu] for action, (wall, cpu) in times.items()]
    section = Section(f"{learners} learners on {DATASETS} datasets", [size, Table(COLUMNS, rows)])
    if learners == USUAL and (times[OPEN][0] > MOST_SECONDS or megabytes > MOST_MEGABYTES):
        print("\n".join(section.render()))
        sys.exit(f"missed: the goals are {MOST_SECONDS:g} s and {MOST_MEGABYTES:g} MB")
    return section


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    measure_sections("page-speed", [partial(measure, USUAL), partial(measure, LARGE)])


if __name__ == "__main__":
    main()
