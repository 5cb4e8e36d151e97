"""What learners and representations can do: the least that each must have, and what earns a learner more columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable


class Transformer(Protocol):
    """What a representation must have: scikit-learn's fit and transform."""

    def fit(self, X: Any, y: Any) -> Any: ...

    def transform(self, X: Any) -> Any: ...


class Learner(Protocol):
    """The least a learner must have: scikit-learn's fit and predict, and `classes_` once fitted."""

    def fit(self, X: Any, y: Any) -> Any: ...

    def predict(self, X: Any) -> Any: ...


@runtime_checkable
class Ranks(Protocol):
    """`rank(X, k)`: for each row the positions in `classes_` of the k best classes, best first, -1 pads."""

    def rank(self, X: Any, k: int) -> Any: ...


@runtime_checkable
class Scores(Protocol):
    """`scores(X, ranks)`: what the classes at these positions score, such as `rank` gives them; 0 beside pads.

    The higher the better: along a row of ranks they never rise.
    """

    def scores(self, X: Any, ranks: Any) -> Any: ...


@runtime_checkable
class HasIndexSize(Protocol):
    """`index_size_`: the number of stored non-zero weights."""

    index_size_: int


@runtime_checkable
class HasIndexBytes(Protocol):
    """`index_bytes_`: the bytes that the fitted index takes in memory."""

    index_bytes_: int


@runtime_checkable
class TouchesEdges(Protocol):
    """`edges_touched(X, k)`: edges read per active feature while finding the k best classes of the rows of X."""

    def edges_touched(self, X: Any, k: int = 1) -> float: ...


@runtime_checkable
class Stages(Protocol):
    """`stage(X, y)`: the training rows in the form that a tool learns from, such as a file of its own format.

    A trial calls it outside the clock of `fit`, which is then called with `staged=` what it gave.
    """

    def stage(self, X: Any, y: Any) -> Any: ...


AfterPass = Callable[[int], None]
"""What `fit(..., after_pass=f)` calls with the pass number after each pass over the data."""
