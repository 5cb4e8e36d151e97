"""Who is best, and who cannot be told from the best."""

from __future__ import annotations

from collections.abc import Mapping

from harness.stats.paired import TESTS, USUAL_RATIO
from harness.stats.summary import mean_of


def indistinguishable_from_best(
    samples: Mapping[str, Mapping[int, float]], *, higher: bool, test: str = "sign", ratio: float = USUAL_RATIO
) -> tuple[set[str], bool]:
    """The best by mean and all that a paired test cannot tell from it; and whether there were pairs enough to test.

    `samples` maps a name to its value in each trial; trials are paired by their number. `ratio` is that of test rows
    to training rows, for the corrected t-test.
    """
    means = {name: mean_of(values.values()) for name, values in samples.items() if values}
    if not means:
        return set(), False
    top = max(means.values()) if higher else min(means.values())
    ties = {name for name, mean in means.items() if mean == top}
    best = sorted(ties)[0]
    others = [name for name in means if name not in ties]
    shared = [sorted(samples[best].keys() & samples[name].keys()) for name in others]
    chosen = TESTS[test]
    fewest = chosen.fewest(len(others))
    if min(map(len, shared), default=fewest) < fewest:
        return ties, False
    sign = 1 if higher else -1
    pairs = [
        ([sign * samples[best][t] for t in trials], [sign * samples[name][t] for t in trials])
        for name, trials in zip(others, shared, strict=True)
    ]
    beaten = chosen.beats(pairs, ratio)
    return ties | {name for name, lost in zip(others, beaten, strict=True) if not lost}, True
