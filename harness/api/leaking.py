"""Texts that stand in both parts of a split: what a learner remembers is then taken for what it has learnt."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from harness.contract import Dataset
from harness.data.arrays import open_dataset
from harness.sdk.texts import Texts
from harness.split import Split
from harness.trials.splitting import part_data
from harness.trials.trial import Trial


@dataclass(frozen=True)
class Leak:
    """How many test rows have a text that training rows have as well."""

    rows: int
    test_rows: int

    @property
    def share(self) -> float:
        """Of the test rows."""
        return self.rows / self.test_rows


def leak_of(split: Split, data: Dataset, seed: int) -> Leak | None:
    """What crosses a split; None where there are no texts to compare."""
    if data.texts is None:
        return None
    train, test = part_data(split, data, seed)
    codes = Texts.of(data.texts).codes()
    known = np.isin(codes[test], codes[train])
    return Leak(int(known.sum()), len(test))


def tell_leaks(trials: Sequence[Trial]) -> Iterator[str]:
    """A line for each data set of which texts cross the split of its first trial."""
    first: dict[str, Trial] = {}
    for trial in trials:
        first.setdefault(trial.dataset, trial)
    for trial in first.values():
        if trial.split.by_text:
            continue
        leak = leak_of(trial.split, open_dataset(Path(trial.data_folder)), trial.seed)
        if leak is not None and leak.rows:
            yield (
                f"{trial.dataset}: {leak.rows:,} of {leak.test_rows:,} test rows ({leak.share:.1%}) have a text that "
                f"is also in training (seed {trial.seed}); --split grouped:text keeps equal texts together"
            )
