"""Verdicts of the committed results that differ between the sign test and the default test.

    python benchmarks/changed_verdicts.py

Writes results/benchmarks/verdicts/changed.md from the records. A verdict is that a learner is significantly behind the
best one on a dataset, by a metric that tables show.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

from report import BENCHMARKS, ROOT

from harness.host.discovery import Session
from harness.report.lines import lines_by_dataset
from harness.report.tables.render import heading_of
from harness.report.verdicts import MetricVerdict, judge_metric
from harness.results.results import find_folders, read_results

PAGE = BENCHMARKS / "verdicts" / "changed.md"
HEAD = """\
# Verdicts that the default test changed

`python benchmarks/changed_verdicts.py` writes this page from the committed records; do not edit it by hand.

A verdict is that a learner is significantly behind the best one on a dataset, by a metric that tables show. The sign
test was the default before. The default is now the corrected resampled t-test, and McNemar's test on fixed splits.
McNemar's test needs saved ranks, which are not committed: fixed splits have no verdict here. With 3 to 5 trials only
the default can test.
""".splitlines()


@dataclass(frozen=True)
class Changes:
    """The learners behind the best on one dataset by one metric, according to one test only."""

    folder: str
    dataset: str
    metric: str
    sign: tuple[str, ...]
    default: tuple[str, ...]
    shared: int
    """The number of learners that are behind by both tests."""


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    found = list(find_changes())
    PAGE.write_text("\n".join(page(found)) + "\n", encoding="utf-8")
    print("\n".join(summary(found)))


def find_changes() -> Iterator[Changes]:
    """Judge every committed table by both tests."""
    session = Session()
    for folder in find_folders([ROOT / "results"]):
        if not (folder / "README.md").exists():
            continue  # of another run: committed results have a README
        results = read_results([folder], session)
        columns = results.columns(None)
        for prepared, competitors in lines_by_dataset(results.lines()).items():
            for metric in columns:
                sign, default = (behind(judge_metric(competitors, metric, test)) for test in ("sign", "auto"))
                yield Changes(
                    folder=str(folder.relative_to(ROOT / "results")),
                    dataset=f"{prepared.dataset} ({prepared.split})",
                    metric=heading_of(metric),
                    sign=tuple(sorted(sign - default)),
                    default=tuple(sorted(default - sign)),
                    shared=len(sign & default),
                )


def behind(judged: MetricVerdict) -> frozenset[str]:
    """Return the titles that differ from the best by a test; none if nothing was tested."""
    return frozenset(judged.samples) - judged.verdict.best if judged.verdict.tested else frozenset()


def page(found: list[Changes]) -> list[str]:
    """Return the lines of the page."""
    lines = [*HEAD, "", *summary(found), "", "| folder | dataset | metric | sign test only | default only |"]
    lines.append("|---|---|---|---|---|")
    for one in found:
        if one.sign or one.default:
            cells = (one.folder, one.dataset, one.metric, "; ".join(one.sign), "; ".join(one.default))
            lines.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return lines


def summary(found: list[Changes]) -> list[str]:
    """Return the numbers of verdicts by both tests and by one of them only."""
    sign, default = (sum(len(getattr(one, name)) for one in found) for name in ("sign", "default"))
    shared = sum(one.shared for one in found)
    return [
        f"{sign + default:,} verdicts differ: {sign:,} by the sign test only, {default:,} by the default only. "
        f"{shared:,} are the same by both."
    ]


if __name__ == "__main__":
    main()
