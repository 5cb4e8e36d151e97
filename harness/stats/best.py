"""Who is best, and who cannot be told from the best."""

from __future__ import annotations

from collections.abc import Mapping

from harness.stats.choices import TESTS
from harness.stats.paired import USUAL_RATIO, TrialValues, pair_trials
from harness.stats.summary import mean_of


def indistinguishable_from_best(
    samples: Mapping[str, TrialValues], *, higher: bool, test: str = "sign", ratio: float = USUAL_RATIO
) -> tuple[set[str], bool]:
    """The best by mean and all that a paired test cannot tell from it; and whether there were pairs enough to test.

    `samples` maps a name to its value in each trial; trials are paired by their number, and of those that share the
    best mean the first is compared with the rest. `ratio` is that of test rows to training rows, for the corrected
    t-test.
    """
    means = {name: mean_of(values.values()) for name, values in samples.items() if values}
    if not means:
        return set(), False
    top = max(means.values()) if higher else min(means.values())
    ties = [name for name, mean in means.items() if mean == top]
    rivals = [name for name in means if name not in ties]
    chosen = TESTS[test]
    fewest = chosen.fewest(len(rivals))
    pairs = []
    for name in rivals:
        pair = pair_trials(samples[ties[0]], samples[name], higher=higher)
        if len(pair[0]) < fewest:
            return set(ties), False
        pairs.append(pair)
    best = set(ties)
    for name, beaten in zip(rivals, chosen.beats(pairs, ratio), strict=True):
        if not beaten:
            best.add(name)
    return best, True
