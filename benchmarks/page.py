"""A large page: 200 learners on 20 data sets, 10 trials each, with every metric that a run measures.

`python benchmarks/page.py [--out docs/page-speed.md]` makes the page, opens it in Chromium, sorts and filters, and
prints what took how long, by the clock and by what the browser's processes worked, which a busy machine does not change
much. Seconds are of this machine; the size is not.
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from harness import MetricSpec
from harness.api.paging import make_page
from harness.api.results import Results
from harness.api.session import Session
from harness.record import Record
from harness.split import parse_split

ROOT = Path(__file__).resolve().parents[1]
LEARNERS, DATASETS, TRIALS = 200, 20, 10
TIMES_OPENED = 5


def made_up_records(metrics: Sequence[MetricSpec]) -> list[Record]:
    """Records of trials that nobody ran, with numbers as various as real ones."""
    split, chance = parse_split("holdout:0.1"), random.Random(0)
    records = []
    for dataset in range(DATASETS):
        for learner in range(LEARNERS):
            for seed in range(TRIALS):
                scores = {metric.name: made_up_value(metric, learner, chance) for metric in metrics}
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


def made_up_value(metric: MetricSpec, learner: int, chance: random.Random) -> float:
    if metric.unit == "share":
        return 0.5 + 0.4 * learner / LEARNERS + chance.gauss(0, 0.01)
    size = {"seconds": 1.0, "bytes": 1e8, "count": 1e5}[metric.unit]
    return size * (1 + learner) * abs(1 + chance.gauss(0, 0.1))


def make_the_page(folder: Path) -> tuple[Path, int, float]:
    """The file, and what making it took."""
    session = Session()
    metrics = [entry.spec for entry in session.catalog.metrics if entry.spec.always]
    records = tuple(made_up_records(metrics))
    kept_in = {record.key: folder for record in records}
    results = Results((folder,), records, {}, session=session, folder_of=kept_in)
    start = time.process_time()
    path = make_page([results]).save(folder / "large.html")
    return path, len(metrics), time.process_time() - start


def look_at(path: Path) -> dict[str, tuple[float, float]]:
    """Seconds to open, and to answer some presses, by the clock and of work, the best of several each."""
    sys.path.insert(0, str(ROOT / "tests" / "parts"))
    from browser import Opened, start_browser

    driver = start_browser()
    page = Opened(driver, path)

    def open_whole() -> None:
        page.open()
        page.wait(lambda: page.all("#chart svg"))

    done: dict[str, Callable[[], object]] = {
        "open, the figure drawn": open_whole,
        "sort": lambda: page.press("R1"),
        "filter by data set": lambda: page.choose("filters", "data set", "data-7"),
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
    """Seconds by the clock, and of work by the browser and all processes that it started."""
    start, worked = time.perf_counter(), work_of(browser)
    do()
    return time.perf_counter() - start, work_of(browser) - worked


def work_of(root: int) -> float:
    """Processor seconds of a process and all below it, as Linux counts them."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:  # it has ended meanwhile
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


def tell(path: Path, n_metrics: int, making: float, seen: dict[str, tuple[float, float]]) -> str:
    size = path.stat().st_size / 1e6
    told = (
        f"{LEARNERS} learners on {DATASETS} data sets, {TRIALS} trials each, {n_metrics} metrics: "
        f"{LEARNERS * DATASETS * TRIALS:,} trials in a file of {size:.1f} MB, made in {making:.0f} s of processor "
        f"time.\nIn a real Chromium without a window, the best of {TIMES_OPENED}, driver included, at a load of "
        f"{os.getloadavg()[0]:.0f} on {os.cpu_count()} cores:"
    )
    lines = ["# A large page", "", "Written by `python benchmarks/page.py --out docs/page-speed.md`.", "", told, ""]
    lines += ["| what | seconds by the clock | seconds of work, all its processes |", "|---|---:|---:|"]
    lines += [f"| {what} | {clock:.2f} | {work:.2f} |" for what, (clock, work) in seen.items()]
    lines += [
        "",
        "Where others are at work the clock counts them too; the work is about what a machine of one's own takes.",
    ]
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="Write the page of docs.")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path, n_metrics, making = make_the_page(Path(folder))
        text = tell(path, n_metrics, making, look_at(path))
    print(text)
    if given.out:
        given.out.write_text(text)


if __name__ == "__main__":
    main()
