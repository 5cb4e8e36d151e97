"""Tables of results/scaling/README.md: CPU time per row by number of classes, with slopes, from the records.

    harness reproduce scaling --out results/scaling
    python benchmarks/scaling.py

Runs no trial. The text before the mark is written by hand; the tables after it are drawn from the records.
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
MARK = "<!-- measured -->"
ENDS = {"timeout": "out of time", "memory": "out of memory", "crash": "crashed", "error": "failed"}


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(redraw(text), encoding="utf-8")


def redraw(text: str) -> str:
    """Return the page with the tables that the records make."""
    by_learner: dict[str, dict[int, Record]] = {}
    for record in read_records(RESULTS):
        classes = int(record.dataset_params["classes"])
        by_learner.setdefault(record.label, {})[classes] = record
    lines = [describe_load(by_learner)]
    for title, cost in (
        ("Training, µs of CPU time per row", training),
        ("One label, µs of CPU time per row", one_label),
        ("Ten labels, µs of CPU time per row", ranking),
    ):
        lines += ["", f"## {title}", "", *table_of(by_learner, cost)]
    lines += ["", "## R1", "", *table_of(by_learner, accuracy, digits=3)]
    return text.partition(MARK)[0] + MARK + "\n\n" + "\n".join(lines) + "\n"


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
        told = "" if slope is None else f"K^{slope:.2f}"
        rows.append((slope is None, slope or 0.0, label, f"| `{label}` | {' | '.join(cells)} | {told} |"))
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
