"""R1 of `lomtree` after few passes by learning rate, on validation rows or on test rows.

    python benchmarks/one_pass.py "subsample(icd10cm,classes=500)" [--passes 1,5] [--rates 0.1,0.5,1] [--validation]

sources.py describes the source. The last row of each number of passes has the rate and the inner nodes of Vowpal
Wabbit: 0.5 and K - 1. With --validation, a fifth of the training rows is held out and the test rows are not used.
Prints only.
"""

from __future__ import annotations

import argparse

import numpy as np
from sources import Parts, read_source
from timing import take_one_thread

from harness_tree import LOMtree

VOWPAL_RATE = 0.5
"""The default learning rate of Vowpal Wabbit."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("--passes", default="1")
    parser.add_argument("--rates", default="0.1,0.3,0.5,1.0,2.0")
    parser.add_argument("--validation", action="store_true", help="hold out a fifth of the training rows")
    given = parser.parse_args()
    take_one_thread()
    parts = read_source(given.source)
    parts = hold_out(parts) if given.validation else parts
    nodes = int(parts.y.max())
    for passes in map(int, given.passes.split(",")):
        for rate in [None, *map(float, given.rates.split(","))]:
            print(f"passes={passes}, eta={rate}: R1 {first_hits(parts, passes, eta=rate):.3f}", flush=True)
        found = first_hits(parts, passes, eta=VOWPAL_RATE, T=nodes)
        print(f"passes={passes}, eta={VOWPAL_RATE}, T={nodes}: R1 {found:.3f}", flush=True)


def hold_out(parts: Parts) -> Parts:
    """Return the training rows in two parts, with a fifth in the place of the test rows."""
    order = np.random.default_rng(0).permutation(parts.y.size)
    held, kept = np.sort(order[: order.size // 5]), np.sort(order[order.size // 5 :])
    return Parts(parts.X[kept], parts.y[kept], parts.X[held], parts.y[held], parts.taxonomy)


def first_hits(parts: Parts, passes: int, *, eta: float | None, T: int | None = None) -> float:
    """Return R1 on the test rows after some passes; `eta=None` is the default rate."""
    tree = LOMtree(passes=passes, eta=eta, T=T, random_state=0).fit(parts.X, parts.y)
    return float((tree.predict(parts.X_test) == parts.y_test).mean())


if __name__ == "__main__":
    main()
