"""A pass with many classes: CPU time of the kernels for many classes and of the plain ones, in one run.

    python benchmarks/many_passes.py syn12k.npz [--learners ooz,pa] [--rows 100000]

sources.py describes the source. Both must give the same index to the last bit, else the script stops. Prints only.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from flat_speed import bounds
from sources import Parts, read_source
from timing import cpu_seconds, take_one_thread

from harness.host.introspection import import_target

TARGETS = {"ooz": "harness_index.ooz:OOZ", "pa": "harness_prototype.pa:PA"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("--learners", default="ooz,pa")
    parser.add_argument("--rows", type=int, default=2**62, help="training rows at most (default: all)")
    parser.add_argument("--only", action="store_true", help="skip the plain kernels")
    given = parser.parse_args()
    take_one_thread()
    parts = read_source(given.source)
    for name in given.learners.split(","):
        many, seconds = train(name, parts, given.rows, True)
        print(f"{name}: {seconds:.1f} s with the kernels for many classes", flush=True)
        if not given.only:
            plain, plain_seconds = train(name, parts, given.rows, False)
            expect_same(plain, many)
            print(f"{name}: {plain_seconds:.1f} s with plain kernels, {plain_seconds / seconds:.1f} times as long")


def train(name: str, parts: Parts, most_rows: int, many: bool) -> tuple[Any, float]:
    """Return the learner after one pass, and the CPU seconds."""
    learner = import_target(TARGETS[name])(passes=1, random_state=0)
    X, y = parts.X[:most_rows], parts.y[:most_rows]
    some = np.argsort(y)[-100:]  # the highest class numbers select the code for many classes
    with bounds(many):
        learner.fit(X[some], y[some])  # compiles
        return learner, cpu_seconds(lambda: learner.fit(X, y))


def expect_same(plain: Any, many: Any) -> None:
    for name in [name for name in vars(plain) if name.endswith("_")]:
        before, after = getattr(plain, name), getattr(many, name)
        pairs = zip(before, after, strict=True) if isinstance(before, tuple) else [(before, after)]
        if not all(np.array_equal(*pair) for pair in pairs):
            raise SystemExit(f"error: {name} differs")


if __name__ == "__main__":
    main()
