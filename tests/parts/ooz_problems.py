"""OOZ problems for kernel tests, solved by the kernel and by the papers' description."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from hypothesis import assume
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from harness.sdk import Labels, as_instances, frozen, helper
from harness_index.kernels.ooz import EXACT, LEVEL, SHARED, OOZStep, update_ooz
from internals import MOST_EDGES, Rows, append, empty_rows, empty_space, enlarge
from ooz_paper import PaperOOZ, Setting

update64 = helper()(update_ooz.py_func)
"""The same source, compiled for weights of float64."""
READINGS = {SHARED: "shared", LEVEL: "level", EXACT: "exact"}

SMALLEST = 5e-324
NEW = OOZStep(0.5, 0.1, True, False, SHARED, SMALLEST, MOST_EDGES, MOST_EDGES, 0.0, False, False)
OLD = NEW._replace(free_first=True)
STEPS = [
    NEW,
    OLD,
    NEW._replace(reading=LEVEL),
    NEW._replace(reading=EXACT, rate=0.3),
    OLD._replace(reading=LEVEL, degree=2),
    OLD._replace(reading=EXACT, lower_rate=False),
    NEW._replace(margin=2.0, rate=0.7, least=0.01),
    NEW._replace(lower_rate=False, degree=1),
    NEW._replace(lower_rate=False, rate=0.6),
]
VALUES = st.sampled_from([0.0, 0.0, 0.0, 1.0, 0.5, 0.25, 2.0, 1e-20, 0.1])


@dataclass(frozen=True)
class Problem:
    X: np.ndarray
    truths: list[list[int]]
    order: np.ndarray
    n_classes: int
    k: int = 15
    budget: float = 1.0

    @property
    def labels(self) -> Labels:
        classes = np.array([c for truth in self.truths for c in truth])
        return Labels(frozen(np.cumsum([0, *map(len, self.truths)]), np.int64), frozen(classes, np.int32))


@dataclass
class Model:
    """The trained weights and free sources."""

    W: np.ndarray
    free: np.ndarray
    rows: Rows | None = field(default=None, repr=False)


@st.composite
def tied_problems(draw, most_labels: int = 1):
    """Draw few distinct values: many ties and zero rows, unused classes, repeated and missing instances."""
    n, n_features, n_classes = draw(st.integers(1, 8)), draw(st.integers(1, 5)), draw(st.integers(1, 5))
    X = draw(hnp.arrays(np.float32, (n, n_features), elements=VALUES.map(lambda x: float(np.float32(x)))))
    truth = st.lists(st.integers(0, n_classes - 1), min_size=most_labels == 1, max_size=most_labels, unique=True)
    order = draw(hnp.arrays(np.int64, st.integers(0, 25), elements=st.integers(0, n - 1)))
    k = draw(st.sampled_from([0, 1, 2, 15]))
    return Problem(X, draw(st.lists(truth, min_size=n, max_size=n)), order, n_classes, k)


def free_problem(seed: int, n: int = 30, n_features: int = 12, n_classes: int = 6) -> Problem:
    """Return a problem with rows of length at most 1 and no ties except at the start."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, n_features)) * (rng.random((n, n_features)) < 0.6)
    X[:, 0] += rng.random(n)
    X /= np.linalg.norm(X, axis=1, keepdims=True) * (1 + 1e-6)
    return Problem(X.astype(np.float32), [[c] for c in rng.integers(0, n_classes, n).tolist()], rng.permutation(n), 6)


free_problems = st.builds(free_problem, st.integers(0, 2**32 - 1))


def train(
    problem: Problem, step: OOZStep, dtype: type = np.float64, start: Model | None = None, n_edges: int = 2
) -> Model:
    n_features = problem.X.shape[1]
    rows, free = empty_rows(n_features, n_edges, dtype), np.full(n_features, problem.budget)
    if start is not None:
        rows, free = loaded(start.W), start.free.copy()
    kernel = update_ooz if dtype == np.float32 else update64
    space, losses = empty_space(problem.n_classes), np.zeros(problem.n_classes)
    chosen, order = np.empty(problem.k, np.int32), problem.order
    rest = as_instances(problem.X), problem.labels
    while (done := kernel(rows, free, *rest, order, space, losses, chosen, step)) < order.size:
        rows, order = enlarge(rows), order[done:]
    assert not space.scores.any()
    assert not losses.any()
    return Model(spread_out(rows, problem.n_classes), free, rows)


def spread_out(rows: Rows, n_classes: int) -> np.ndarray:
    W = np.zeros((rows.start.size, n_classes), rows.weights.dtype)
    for f, (start, length) in enumerate(zip(rows.start.tolist(), rows.length.tolist(), strict=True)):
        W[f, rows.classes[start : start + length]] = rows.weights[start : start + length]
    return W


def loaded(W: np.ndarray) -> Rows:
    """Return an index with these weights, heaviest first."""
    rows = empty_rows(W.shape[0], 8 * W.size + 100, np.float64)
    for f in range(W.shape[0]):
        for c in np.argsort(-W[f], kind="stable"):
            if W[f, c]:
                append(rows, np.uint32(f), np.uint32(c), W[f, c])
    return rows


def train_by_the_papers(problem: Problem, step: OOZStep, rounding: float = 1e-9) -> Model:
    """Train as in the papers; reject examples decided by a difference below `rounding`."""
    setting = Setting(
        delta=step.margin,
        beta=step.rate,
        k=problem.k,
        d=step.degree,
        kept=step.least,
        first="free source" if step.free_first else "rivals",
        reading=READINGS[step.reading],
        lowers_rate=step.lower_rate,
    )
    learner = PaperOOZ(problem.X.shape[1], problem.n_classes, problem.budget, setting)
    for i in problem.order:
        learner.learn(problem.X[i], problem.truths[i])
    assume(learner.closest > rounding)
    return Model(learner.w, learner.w0)
