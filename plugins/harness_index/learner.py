"""Base of the index learners: checks of the input, and the limit on the edges of a feature."""

from __future__ import annotations

from typing import ClassVar, Literal

from harness.sdk import OnlineClassifier, rules
from harness.sdk.kernels.rows import MOST_EDGES

Keep = Literal["all", "scored"]
KEPT = ("all", "scored")
"""Allowed values of `keep`."""


class IndexLearner(OnlineClassifier):
    """An online classifier with weights above 0. It ranks only classes that a feature of the row has an edge to.

    Learners have the parameters `passes`, `d`, `keep` and `random_state`, and their own.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Classes by position: sorted, followed by new classes of later batches.
    rows_ : Rows
        The index: for each feature its edges to classes.
    index_size_, index_bytes_ : int
        Number of weights above 0, and bytes of the index.
    """

    ignores_not_positive: ClassVar[bool] = True
    ranks_untouched: ClassVar[bool] = False
    takes_several: ClassVar[bool] = True

    d: int | None
    keep: Keep

    def _shared_rules(self) -> dict[str, rules.Rule]:
        return {
            "d": rules.optional(self.d, rules.count(self.d)),
            "keep": rules.one_of(self.keep, KEPT),
            **super()._shared_rules(),
        }

    def _degree(self) -> int:
        return self.d or 0

    def _scored_edges(self) -> int:
        """Return the number of edges of a row that are scored."""
        return self.d or MOST_EDGES

    def _stored_edges(self) -> int:
        """Return the maximum number of edges of a row after an update."""
        return MOST_EDGES if self.keep == "all" else self._scored_edges()
