"""OOZ as described in the papers, with dense float64 matrices: the kernel's reference.

Madani and Huang, KDD 2008, section 3.2, and the reports of 2010, section 2. A feature is connected to the classes with
weights of at least 0. Its remaining weight is connected to a dummy class, its free source. If the true class of an
instance leads by less than the margin, each active feature moves weight to that class, in proportion to its value. The
weight comes from the classes that score too high and from the dummy.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np


@dataclass(frozen=True)
class Setting:
    """Parameters under the papers' symbols."""

    delta: float
    """The margin."""
    beta: float
    """The learning rate: the maximum gain of the true class's score in an update."""
    k: int
    """Maximum number of classes that lose weight in an update."""
    d: int
    """Number of scored connections per feature."""
    kept: float
    """The minimum weight of a connection; a connection below it is dropped, and its weight is lost."""
    first: Literal["rivals", "free source"]
    """First source of weight: the competitors (2010) or the free source (2008)."""
    reading: Literal["shared", "level", "exact"]
    """Rule that distributes the loss over the competitors."""
    lowers_rate: bool
    """If True, lower the rate if the margin is almost reached."""


class PaperOOZ:
    """A features x classes matrix of weights, and the weights of the dummy class."""

    def __init__(self, n_features: int, n_classes: int, budget: float, setting: Setting) -> None:
        self.w = np.zeros((n_features, n_classes))
        self.w0 = np.full(n_features, budget)
        self.age = np.zeros((n_features, n_classes), np.int64)
        """The order of connections of equal weight: the one of lower age comes first."""
        self.setting = setting
        self.closest = np.inf
        """The smallest relative difference on which a decision depended, except for ties.

        If rounding changes a decision, training continues from other weights. Only decisions that change a step are
        recorded: a choice of edges, classes or rivals, or the end of an edge. Decisions with a small effect are not
        recorded, such as a rate lowered to almost 0, or two rivals of almost equal scores that lose almost equally.
        """

    def scores(self, x: np.ndarray) -> np.ndarray:
        """Return the scores from each feature's d heaviest connections."""
        by_weight = np.lexsort((self.age, -self.w), axis=1)
        d = self.setting.d
        if d < self.w.shape[1]:
            self.compare(*np.take_along_axis(self.w, by_weight[:, d - 1 : d + 1], axis=1)[x > 0].T)
        heaviest = np.zeros_like(self.w, bool)
        np.put_along_axis(heaviest, by_weight[:, :d], True, axis=1)
        return (x[:, None] * np.where(heaviest, self.w, 0)).sum(axis=0)

    def learn(self, x: np.ndarray, truth: list[int]) -> None:
        """Learn one instance with its true classes; an instance without features or classes changes nothing."""
        x = np.maximum(x.astype(np.float64), 0)  # features are active only if they are positive
        if not truth or not x.any():
            return
        s = self.scores(x)
        positive = max(truth, key=lambda c: (s[c], -c))
        self.compare(s[truth], s[positive])
        false = np.setdiff1d(np.arange(s.size), truth)
        lead = s[positive] - max(0.0, s[false].max(initial=0.0))
        slack = self.setting.delta - lead
        if not self.setting.lowers_rate:
            self.compare(lead, self.setting.delta)
        if slack <= 0:
            return
        rate = self.rate(slack, x)
        gainers = [positive] if s[positive] > 0 else truth
        before = self.w.copy()
        self.shift(x, rate, s, s[positive], slack, false, gainers)
        self.settle(before, gainers)

    def rate(self, slack: float, x: np.ndarray) -> float:
        """Return beta, or less if the margin is almost met: moving both sides by the rate then closes the slack."""
        if not self.setting.lowers_rate:
            return self.setting.beta
        return min(self.setting.beta, slack / (2 * max(1.0, float(x @ x))))

    def shift(
        self, x: np.ndarray, rate: float, s: np.ndarray, own: float, slack: float, false: np.ndarray, gainers: list[int]
    ) -> None:
        """Move at most x_f * rate from competitors and the dummy to the gainers, for every active feature."""
        wanted = x * rate
        if self.setting.first == "free source":
            free = np.minimum(self.w0, wanted)
            gained = float(x @ free)  # the score of the true class is already included
            lost = self.deductions(s, false, own + gained, min(rate, slack) - gained)
        else:
            free, lost = np.zeros_like(x), self.deductions(s, false, own, rate)
        taken = np.minimum(self.w, np.outer(x, lost))
        total = taken.sum(axis=1)
        over = total > (wanted - free) * (1 + 1e-12)  # more than needed: each competitor loses in proportion
        taken[over] *= ((wanted - free)[over] / total[over])[:, None]
        if self.setting.first == "rivals":
            free = np.minimum(self.w0, np.maximum(0, wanted - taken.sum(axis=1)))
        self.w0 -= free
        self.w -= taken
        self.w[:, gainers] += ((free + taken.sum(axis=1)) / len(gainers))[:, None]

    def deductions(self, s: np.ndarray, false: np.ndarray, own: float, amount: float) -> np.ndarray:
        """Return the reduction of each class's score: at most k classes within the margin."""
        lost = np.zeros(s.size)
        offending = [c for c in false if s[c] > max(0.0, own - self.setting.delta)]
        in_order = sorted(offending, key=lambda c: (-s[c], c))
        rivals, spared = in_order[: self.setting.k], in_order[self.setting.k :]
        if rivals and amount > 0:
            lost[rivals] = spread(s[rivals], amount, self.setting.reading)
            if lost[rivals[-1]] > 0:
                self.compare(s[rivals[-1]], s[spared])
            reached = [c for c in false if s[c] > s[rivals[0]] - amount]
            self.compare(s[reached] + self.setting.delta, own)
        return lost

    def compare(self, ours: np.ndarray | float, theirs: np.ndarray | float) -> None:
        """Record the distance between compared numbers; equal numbers are a tie with its own rule."""
        gap, larger = np.abs(ours - theirs), np.maximum(np.abs(ours), np.abs(theirs))
        shares = gap[gap > 0] / larger[gap > 0]
        self.closest = min(self.closest, shares.min(initial=np.inf))

    def settle(self, before: np.ndarray, gainers: list[int]) -> None:
        """Drop light connections, and update the order of connections."""
        changed = np.any(self.w != before, axis=1)
        self.compare(self.w[changed], self.setting.kept)
        self.w[changed[:, None] & (self.w < self.setting.kept)] = 0
        new = (before == 0) & (self.w > 0)
        for place, c in enumerate(gainers):
            self.age[new[:, c], c] = self.w.shape[1] + place  # a new connection comes last
        order = np.lexsort((self.age, -self.w), axis=1)
        np.put_along_axis(self.age, order, np.arange(self.w.shape[1])[None, :], axis=1)


def spread(s: np.ndarray, amount: float, reading: str) -> np.ndarray:
    """Return the loss of each of these scores, best first.

    "First the score of c1 needs to be lowered to tie c2, then both are lowered", and so on. The best score falls by the
    amount, slice by slice. With "level", each score that reaches a slice loses its height. With "shared", these scores
    divide its height, so all together lose the amount. With "exact", all scores above a water level fall to it, and
    together they lose the amount.
    """
    if reading == "exact":
        counts = np.arange(1, s.size + 1)
        level = np.max((np.cumsum(s) - amount) / counts)
        return np.maximum(0, s - level)
    bottom = s[0] - amount
    edges = np.unique([bottom, *s[s > bottom]])
    lost = np.zeros(s.size)
    for low, high in pairwise(edges):
        reach = s >= high
        lost[reach] += (high - low) / (reach.sum() if reading == "shared" else 1)
    return lost
