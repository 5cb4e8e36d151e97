"""PA: multi-class passive-aggressive learning. One prototype per class; each update moves two of them."""

from __future__ import annotations

from math import inf
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from harness.sdk import OnlineClassifier, rules
from harness.sdk.kernels.density import Vectors
from harness.sdk.kernels.instances import Instances, Labels
from harness.sdk.kernels.vectors import Block
from harness.sdk.ranking import are_many
from harness_prototype.kernels.dense_updates import learn_pa
from harness_prototype.kernels.passive_aggressive import PAStep, update_pa

PA_VARIANTS = ("PA", "PA-I", "PA-II")
PA_STEPS = ("printed", "exact")


class PA(OnlineClassifier):
    """Passive-aggressive classifier on sparse prototypes.

    An instance x of class y is compared with the best other class c' seen so far. When its loss
    L = margin - s_y + s_c' is positive, W[:, y] += tau x and W[:, c'] -= tau x. With an indicator matrix for y,
    the lowest scoring true class is compared with the highest scoring false one.

    The defaults are chosen on validation parts (docs/defaults.md); the 2010 reports have PA-II with C=0.01, margin=0.05
    and 20 passes, KDD 2008 names none.

    When to use
    -----------
    The flat baseline that is hard to beat in accuracy, where an index that grows with the data is no trouble.

    References
    ----------
    Crammer, Dekel, Keshet, Shalev-Shwartz and Singer, Online passive-aggressive algorithms, JMLR 2006.

    Parameters
    ----------
    C : aggressiveness: bounds tau in PA-I, softens it in PA-II, means nothing to PA.
    passes : times that training goes through the data, in a fresh random order each time.
    variant : "PA" tau = L / n, "PA-I" tau = min(C, L / n), "PA-II" tau = L / (n + 1 / (2 C)).
    step : "printed" n = ||x||^2 as in the papers; "exact" n = 2 ||x||^2, the norm of what really moves.
    margin : the lead over every other class below which an instance costs a loss.
    random_state : seed of the orders; equal seeds give equal bits.

    Attributes
    ----------
    classes_ : the classes, in the order of their positions.
    rows_ : the index, a `harness.sdk.kernels.rows.Rows`: for each feature its edges to classes.
    index_size_, index_bytes_ : non-zero weights, and the bytes that the index takes.
    n_features_in_ : the number of features.
    """

    takes_several: ClassVar[bool] = True
    ranks_with_scores: ClassVar[bool] = True
    takes_dense: ClassVar[bool] = True
    when_too_large: ClassVar[str] = "scale X up, or use PA-I or PA-II"

    def __init__(
        self,
        *,
        C: float = 0.1,
        passes: int = 10,
        variant: Literal["PA", "PA-I", "PA-II"] = "PA-II",
        step: Literal["printed", "exact"] = "printed",
        margin: float = 1.0,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.C = C
        self.passes = passes
        self.variant = variant
        self.step = step
        self.margin = margin
        self.random_state = random_state

    def _step(self) -> PAStep:
        return PAStep(
            margin=float(self.margin),
            scale=1.0 if self.step == "printed" else 2.0,
            ridge=1 / (2 * float(self.C)) if self.variant == "PA-II" else 0.0,
            cap=float(self.C) if self.variant == "PA-I" else inf,
        )

    def _update(self, instances: Instances, labels: Labels, order: NDArray[np.int64], number: int) -> int:
        if self._learn_in_parts(instances, labels, order):
            done = order.size
        else:
            scores = np.empty_like(self.base_)
            done = update_pa(self.rows_, instances, labels, order, self.base_, scores, self._step())
        if not np.isfinite(self.rows_.weights[: self.rows_.heads[0]]).all():
            raise ValueError(f"weights outgrew float32 in pass {number}: {self.when_too_large}")
        return done

    def _learn_in_parts(self, instances: Instances, labels: Labels, order: NDArray[np.int64]) -> bool:
        """Learn by the kernel for many classes; whether that pays."""
        one_label_each = bool(np.all(np.diff(labels.indptr) == 1))
        if not are_many(self.classes_) or not one_label_each:
            return False
        from harness_prototype.kernels.pa_parted import update_pa_parted  # noqa: PLC0415 (compiles what few data need)
        from harness_prototype.parts import Parts, learn_in_parts, met_often  # noqa: PLC0415

        features, y, base = met_often(instances, self.n_features_in_, self.base_.size), labels.indices, self.base_
        if not features.size:
            return False

        def update(parts: Parts, order: NDArray[np.int64]) -> int:
            rows, frequent, search, found, heaviest = parts
            return update_pa_parted(
                rows, frequent, instances, y, order, base, search, found, heaviest, self._step()
            )  # fmt: skip

        self.rows_ = learn_in_parts(self.rows_, features, instances, order, base.size, update)
        return True

    def _learn_block(self, W: Vectors, block: Block, labels: Labels) -> None:
        learn_pa(W, block, labels, self.base_, np.empty_like(self.base_), self._step())

    def _rules(self) -> dict[str, rules.Rule]:
        return {
            "C": rules.positive(self.C),
            "variant": rules.one_of(self.variant, PA_VARIANTS),
            "step": rules.one_of(self.step, PA_STEPS),
            "margin": rules.positive(self.margin),
        }
