"""Tables of results/scaling/measurements.md: CPU time per row by number of classes, with slopes, from the records.

    harness reproduce scaling --out results/scaling
    python benchmarks/scaling.py

Runs no trial. README.md beside it is written by hand, except its table after the mark.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np

from harness.records.record import Record
from harness.records.store import read_records

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "scaling"
PAGE = RESULTS / "README.md"
DETAILS_PAGE = RESULTS / "measurements.md"
MARK, END = "<!-- measured -->", "<!-- end -->"
TITLE = "# Learners from 100 to 100,000 classes: measurements"
ENDS = {"timeout": "out of time", "memory": "out of memory", "crash": "crashed", "error": "failed"}


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    text = PAGE.read_text(encoding="utf-8")
    by_learner = read_by_learner()
    PAGE.write_text(redraw(text, by_learner), encoding="utf-8")
    DETAILS_PAGE.write_text(draw_details(by_learner), encoding="utf-8")


def read_by_learner() -> dict[str, dict[int, Record]]:
    """Return the records by learner and number of classes."""
    by_learner: dict[str, dict[int, Record]] = {}
    for record in read_records(RESULTS):
        classes = int(record.dataset_params["classes"])
        by_learner.setdefault(record.label, {})[classes] = record
    return by_learner


def redraw(text: str, by_learner: dict[str, dict[int, Record]]) -> str:
    """Return the page with the table of the learners that finished the largest size."""
    largest = max(classes for found in by_learner.values() for classes in found)
    finished = {}
    for label, found in by_learner.items():
        if largest in found and found[largest].status == "ok":
            finished[label] = found
    before, _, rest = text.partition(MARK)
    lines = ["| learner | R1 | train, CPU | one label, CPU |", "|---|---:|---:|---:|"]
    for label, found in sorted(finished.items(), key=lambda pair: -(accuracy(pair[1][largest]) or 0.0)):
        record = found[largest]
        r1, trained = _cell(record, accuracy, 3), f"{record.fit_cpu_seconds:,.1f} s"
        lines.append(f"| `{label}` | {r1} | {trained} | {_cell(record, one_label, 1)} µs |")
    return "\n".join([before + MARK, "", *lines, "", END]) + rest.partition(END)[2]


def draw_details(by_learner: dict[str, dict[int, Record]]) -> str:
    """Return the page with the tables of all learners and sizes."""
    lines = [TITLE, "", describe_load(by_learner)]
    for title, cost in (
        ("Training, µs of CPU time per row", training),
        ("One label, µs of CPU time per row", one_label),
        ("Ten labels, µs of CPU time per row", ranking),
    ):
        lines += ["", f"## {title}", "", *table_of(by_learner, cost)]
    lines += ["", "## R1", "", *table_of(by_learner, accuracy, digits=3)]
    return "\n".join(lines) + "\n"


def describe_load(by_learner: dict[str, dict[int, Record]]) -> str:
    loads = [record.load for sizes in by_learner.values() for record in sizes.values() if record.load is not None]
    return (
        f"Load average at the start of the trials: {min(loads):.0f} to {max(loads):.0f}, median "
        f"{np.median(loads):.0f}. `python benchmarks/scaling.py` draws the tables below from the records."
    )


def training(record: Record) -> float | None:
    return _a_row(record.fit_cpu_seconds, record.n_train)


def one_label(record: Record) -> float | None:
    return _a_row(record.predict_cpu_seconds, record.n_test)


def ranking(record: Record) -> float | None:
    return _a_row(record.rank_cpu_seconds, record.n_test)


def accuracy(record: Record) -> float | None:
    return record.scores.get("r1")


def _a_row(seconds: float | None, rows: int | None) -> float | None:
    return None if seconds is None or not rows else 1e6 * seconds / rows


def table_of(
    by_learner: dict[str, dict[int, Record]], cost: Callable[[Record], float | None], digits: int = 1
) -> list[str]:
    """Return a table of all learners by slope, with failures; `-` marks sizes that were skipped after a failure."""
    sizes = sorted({classes for found in by_learner.values() for classes in found})
    head = " | ".join(f"{classes:,}" for classes in sizes)
    lines = [f"| learner | {head} | slope |", "|---|" + "---:|" * (len(sizes) + 1)]
    rows = []
    for label, found in by_learner.items():
        cells = [_cell(found.get(classes), cost, digits) for classes in sizes]
        slope = _slope({classes: cost(record) for classes, record in found.items()}) if digits == 1 else None
        growth = "" if slope is None else f"K^{slope:.2f}"
        rows.append((slope is None, slope or 0.0, label, f"| `{label}` | {' | '.join(cells)} | {growth} |"))
    return lines + [row[-1] for row in sorted(rows)]


def _cell(record: Record | None, cost: Callable[[Record], float | None], digits: int) -> str:
    if record is None:
        return ""
    if record.status != "ok":
        return "-" if record.message.startswith("not run") else ENDS[record.status]
    value = cost(record)
    return "" if value is None else f"{value:,.{digits}f}"


def _slope(costs: dict[int, float | None]) -> float | None:
    """Return the slope of a line through the logarithms; None for fewer than three sizes."""
    known = {classes: value for classes, value in costs.items() if value}
    if len(known) < 3:
        return None
    return float(np.polyfit(np.log(list(known)), np.log(list(known.values())), 1)[0])


if __name__ == "__main__":
    main()
