"""What bounds spare `pa` and `perceptron` where classes are many, with and without them in one run.

    python benchmarks/flat_scale.py [--parts directory,zipf] [--learners pa,perceptron] [--rows 120000]

Adds to docs/flat-speed.md: 12,000 classes of the data set `directory`, and 100,000 classes of `zipf`, where only the
way with bounds trains, since the other takes too long. One thread, CPU seconds. Both ways must give the same index and
the same ranks: the script stops where they do not.
"""

from __future__ import annotations

import argparse
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from flat_speed import HEAD, PAGE, Parts, prepare, shape
from sections import Part, measure_parts
from timing import take_one_thread

from harness.signature import import_target

LEARNERS = {
    "pa": ("harness_prototype.pa:PA", {"passes": 1, "random_state": 0}),
    "perceptron": ("harness_prototype.perceptron:Perceptron", {"passes": 1, "random_state": 0}),
}
RANKED_ROWS = 400
"""Of how many rows each way is timed while it ranks."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--parts", default="directory,zipf")
    parser.add_argument("--learners", default="pa,perceptron", help="those measured at 12,000 classes")
    parser.add_argument("--rows", type=int, default=120_000, help="of `directory`, a sixth of them for testing")
    chosen = parser.parse_args()
    take_one_thread()
    parts: dict[str, Part] = {
        "directory": lambda: measure_directory(chosen.learners.split(","), chosen.rows),
        "zipf": measure_zipf,
    }
    measure_parts(PAGE, HEAD, [parts[name] for name in chosen.parts.split(",")])


def measure_directory(learners: list[str], rows: int) -> list[str]:
    """12,000 classes: one pass and ranking, with bounds and without."""
    data = import_target("harness_synthetic.directory:make_directory")(
        rows=rows, classes=12_000, features=300_000, words=240
    )
    parts = prepare(data, "tfidf", test_share=1 / 6)
    lines = ["## Many classes: 12,000 (`directory`)", "", shape(parts), ""]
    lines += ["| learner | bounds | one pass | one label a row | five | R1 | weights |"]
    lines += ["|---|---|---:|---:|---:|---:|---:|"]
    for label in learners:
        found = []
        for bounded in (False, True):
            with bounds(bounded):
                learner, seconds = trained(label, parts)
                ranks = ranked(learner, parts)
            found.append((learner, ranks))
            lines.append(
                f"| {label} | {'yes' if bounded else 'no'} | {seconds:.0f} s | {told(learner, ranks, parts)} |"
            )
        check_same(*found)
    return [*lines, "", *NOTES]


def measure_zipf() -> list[str]:
    """100,000 classes: one pass with bounds; ranking with and without."""
    data = import_target("harness_synthetic.zipf:make_zipf")(rows=500_000, classes=100_000, features=300_000)
    parts = prepare(data, "tfidf", test_share=0.1)
    del data
    lines = ["## Many classes: 100,000 (`zipf`)", "", shape(parts), ""]
    lines += ["| learner | bounds | one pass | one label a row | five | R1 | weights |"]
    lines += ["|---|---|---:|---:|---:|---:|---:|"]
    learner, seconds = trained("pa", parts)
    found = []
    for bounded in (False, True):
        with bounds(bounded):
            ranks = ranked(learner, parts)
        found.append((learner, ranks))
        spent = f"{seconds:.0f} s" if bounded else "-"
        lines.append(f"| pa | {'yes' if bounded else 'no'} | {spent} | {told(learner, ranks, parts)} |")
    check_same(*found)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return [*lines, "", f"Peak memory {peak / 1e9:.1f} GB. Aim: a pass in under 300 s."]


NOTES = """
Same index, same ranks, to the last bit: what is spared is the reading of edges that cannot matter. A few hundred
features know most classes; they are in a matrix, and by the lengths of a class's weights it is known what they can add
to its score at most. The more rows, the fuller the index, and the more is spared.

What a pass and an answer take at the full size, 100,000 rows of 173 features in 12,000 classes and 400,000 rows in
90,000, stands in [many classes](many-classes.md), with the aims, which are not all reached.

What is left is the reading of the other rows, which lie all over memory. Tried without gain: two to four tiers of such
features (as fast, twice the code), and more features in the matrix: fewer edges are read, but bounds leave too many
classes in doubt. `mmp`, which moves every class that is ordered wrongly, and `ooz` train as they did.
""".strip().splitlines()


@contextmanager
def bounds(allowed: bool) -> Iterator[None]:
    """Let learners train and rank by bounds, or not."""
    from harness.sdk import ranking
    from harness_prototype import parts

    held = {(parts, "MET_SHARE"), (ranking, "KNOWN_SHARE"), (ranking, "KNOWN_SHARE_OF_MANY")}
    before = [(module, name, getattr(module, name)) for module, name in held]
    if not allowed:
        for module, name, _ in before:
            setattr(module, name, np.inf)
    yield
    for module, name, value in before:
        setattr(module, name, value)


def trained(label: str, parts: Parts) -> tuple[Any, float]:
    target, params = LEARNERS[label]
    learner = import_target(target)(**params)
    rows = np.argsort(parts.y)[-100:]
    learner.fit(parts.X[rows], parts.y[rows])  # compiles; the classes with the highest numbers tell that they are many
    start = time.process_time()
    learner.fit(parts.X, parts.y)
    seconds = time.process_time() - start
    print(label, seconds, flush=True)
    return learner, seconds


def ranked(learner: Any, parts: Parts) -> dict[int, tuple[np.ndarray, float]]:
    """Ranks of some test rows and the microseconds for each, by how many classes are asked for."""
    found = {}
    for k in (1, 5):
        start = time.process_time()
        ranks = learner.rank(parts.X_test[:RANKED_ROWS], k)
        found[k] = ranks, (time.process_time() - start) / RANKED_ROWS * 1e6
        print(k, found[k][1], flush=True)
    return found


def told(learner: Any, ranks: dict[int, tuple[np.ndarray, float]], parts: Parts) -> str:
    first = learner.classes_[ranks[1][0][:, 0]]
    r1 = float((first == parts.y_test[:RANKED_ROWS]).mean())
    return f"{ranks[1][1]:.0f} µs | {ranks[5][1]:.0f} µs | {r1:.3f} | {learner.index_size_ / 1e6:.1f}M"


def check_same(plain: tuple[Any, Any], bounded: tuple[Any, Any]) -> None:
    for before, after in zip(plain[0].rows_, bounded[0].rows_, strict=True):
        np.testing.assert_array_equal(after, before)
    for k in plain[1]:
        np.testing.assert_array_equal(bounded[1][k][0], plain[1][k][0])


if __name__ == "__main__":
    main()
