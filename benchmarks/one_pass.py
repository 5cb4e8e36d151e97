"""R1 of `lomtree` after one pass by learning rate: why a tree with the rate of Vowpal Wabbit starts ahead.

    python benchmarks/one_pass.py "subsample(icd10cm,classes=500)" [--rates 0.1,0.5,1]

sources.py describes the source. The last row has the number of inner nodes of Vowpal Wabbit, K - 1. Prints only.
"""

from __future__ import annotations

import argparse

from sources import Parts, read_source
from timing import take_one_thread

from harness_tree import LOMtree

VOWPAL_RATE = 0.5
"""The default learning rate of Vowpal Wabbit."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("--rates", default="0.1,0.3,0.5,1.0,2.0")
    given = parser.parse_args()
    take_one_thread()
    parts = read_source(given.source)
    for rate in map(float, given.rates.split(",")):
        print(f"eta={rate}: R1 {first_hits(parts, eta=rate):.3f}", flush=True)
    nodes = int(parts.y.max())
    print(f"eta={VOWPAL_RATE}, T={nodes}: R1 {first_hits(parts, eta=VOWPAL_RATE, T=nodes):.3f}")


def first_hits(parts: Parts, *, eta: float, T: int | None = None) -> float:
    """Return R1 on the test rows after one pass."""
    tree = LOMtree(passes=1, eta=eta, T=T, random_state=0).fit(parts.X, parts.y)
    return float((tree.predict(parts.X_test) == parts.y_test).mean())


if __name__ == "__main__":
    main()
