"""How far the suggestions of `harness suggest` are from the best learner, on data that they do not know.

    python benchmarks/suggest.py

Runs no trial. Each dataset of results/field is left out in turn, together with the datasets that are made from the same
source. The suggestions for it then come from the other datasets. The loss is the highest R1 on the dataset, less the
highest R1 of the three proposals there. Only learners that were run on the dataset can be proposed. The constants of
`harness.runner.suggest` were chosen on these datasets, from the middle of a range of values with the same count.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence

from field import MEASURED
from tabulate import tabulate

from harness.runner.suggest import Measurement, propose, read_measurements

CLOSE = 0.01
"""Loss of R1 up to which a suggestion counts as good: one point."""


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    rows = loss_rows(read_measurements(MEASURED))
    print(tabulate(rows, "keys", tablefmt="simple", disable_numparse=True))
    print(f"\nThe best of the proposals is within {100 * CLOSE:g} point of R1 on {share_of_good(rows)} datasets.")


def loss_rows(measured: Sequence[Measurement]) -> list[dict[str, str]]:
    """Return a row for each dataset, left out in turn."""
    return [loss_row(name, measured) for name in dict.fromkeys(one.dataset for one in measured)]


def share_of_good(rows: Sequence[dict[str, str]]) -> str:
    """Return on how many datasets the loss is small, such as "12 of 14"."""
    good = sum(float(row["loss"]) <= 100 * CLOSE for row in rows)
    return f"{good} of {len(rows)}"


def loss_row(dataset: str, measured: Sequence[Measurement]) -> dict[str, str]:
    """Return the best learner of a dataset, the proposals without knowledge of it, and their loss in points."""
    r1 = {one.learner: one.cost.r1 if one.cost else 0.0 for one in measured if one.dataset == dataset}
    facts = next(one.facts for one in measured if one.dataset == dataset)
    others = [one for one in measured if source_of(one.dataset) != source_of(dataset) and one.learner in r1]
    proposed = [proposal.learner for proposal in propose(facts, others)]
    best = max(r1, key=lambda learner: r1[learner])
    loss = r1[best] - max(r1[learner] for learner in proposed)
    return {
        "dataset": dataset,
        "best": best,
        "R1": f"{r1[best]:.3f}",
        "proposed": ", ".join(proposed),
        "loss": f"{100 * loss:.1f}",
    }


def source_of(dataset: str) -> str:
    """Return the source of a dataset: samples of icd10cm and subsets of Reuters are relatives."""
    inside = re.search(r"\((\w+)", dataset)
    return re.sub(r"\d+$", "", inside[1] if inside else dataset)


if __name__ == "__main__":
    main()
