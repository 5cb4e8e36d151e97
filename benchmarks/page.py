"""A large page: 200 learners on 20 data sets, 10 trials each, with every metric that a run measures.

`python benchmarks/page.py [--out docs/page-speed.md]` makes the page, opens it in Chromium, sorts and filters, and
prints what took how long. Seconds are of this machine; the size is not.
"""

import argparse
import random
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LEARNERS, DATASETS, TRIALS = 200, 20, 10
TIMES_OPENED = 5


def made_up_records(metrics):
    """Records of trials that nobody ran, with numbers as various as real ones."""
    from harness.record import Record
    from harness.split import parse_split

    split, chance = parse_split("holdout:0.1"), random.Random(0)
    records = []
    for dataset in range(DATASETS):
        for learner in range(LEARNERS):
            for seed in range(TRIALS):
                scores = {metric.name: made_up_value(metric, learner, chance) for metric in metrics}
                names = {"label": f"learner-{learner}", "family": f"learner-{learner}", "learner": f"learner-{learner}"}
                data = {"dataset": f"data-{dataset}", "dataset_family": f"data-{dataset}", "fingerprint": f"{dataset}"}
                records.append(
                    Record(
                        key=f"{dataset}-{learner}-{seed}",
                        **names,
                        **data,
                        learner_kind=("flat", "tree")[learner % 2],
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


def made_up_value(metric, learner, chance):
    if metric.unit == "share":
        return 0.5 + 0.4 * learner / LEARNERS + chance.gauss(0, 0.01)
    size = {"seconds": 1.0, "bytes": 1e8, "count": 1e5}[metric.unit]
    return size * (1 + learner) * abs(1 + chance.gauss(0, 0.1))


def make_the_page(folder):
    """The file, and what making it took."""
    from harness.api.paging import make_page
    from harness.api.results import Results
    from harness.api.session import Session

    session = Session()
    metrics = [entry.spec for entry in session.catalog.metrics if entry.spec.always]
    results = Results((folder,), tuple(made_up_records(metrics)), {}, session=session)
    start = time.process_time()
    path = make_page([results]).save(folder / "large.html")
    return path, len(metrics), time.process_time() - start


def look_at(path):
    """Seconds to open, and to answer some presses, the best of several."""
    sys.path.insert(0, str(ROOT / "tests" / "parts"))
    from browser import Opened, start_browser

    driver = start_browser()
    page = Opened(driver, path)

    def open_whole():
        page.open()
        page.wait(lambda: page.all("#chart svg"))

    opened, sorted_by, filtered = [], [], []
    try:
        for _ in range(TIMES_OPENED):
            opened.append(seconds_of(open_whole))
            sorted_by.append(seconds_of(lambda: page.press("R1")))
            filtered.append(seconds_of(lambda: page.choose("filters", "data set", "data-7")))
    finally:
        driver.quit()
    return {"open, the figure drawn": min(opened), "sort": min(sorted_by), "filter by data set": min(filtered)}


def seconds_of(do):
    start = time.perf_counter()
    do()
    return time.perf_counter() - start


def tell(path, n_metrics, making, seen):
    size = path.stat().st_size / 1e6
    told = (
        f"{LEARNERS} learners on {DATASETS} data sets, {TRIALS} trials each, {n_metrics} metrics: "
        f"{LEARNERS * DATASETS * TRIALS:,} trials in a file of {size:.1f} MB, made in {making:.0f} s of processor "
        f"time.\nIn a real Chromium without a window, the best of {TIMES_OPENED}, by the clock, driver included:"
    )
    lines = ["# A large page", "", "Written by `python benchmarks/page.py --out docs/page-speed.md`.", "", told, ""]
    lines += ["| what | seconds |", "|---|---|"]
    lines += [f"| {what} | {seconds:.2f} |" for what, seconds in seen.items()]
    return "\n".join(lines) + "\n"


def main():
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
