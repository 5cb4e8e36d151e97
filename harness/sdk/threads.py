"""How many threads a learner may use: what a trial allows, for tools that take a number of their own."""

from __future__ import annotations

import os

VARIABLE = "OMP_NUM_THREADS"
"""A trial sets this one for its learner, as it does those of other libraries."""


def allowed_threads() -> int:
    """The number of threads that are allowed here; one where nobody has said."""
    allowed = os.environ.get(VARIABLE, "")
    return int(allowed) if allowed.isdigit() and int(allowed) > 0 else 1
