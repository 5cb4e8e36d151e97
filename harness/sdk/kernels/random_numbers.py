"""Random numbers inside kernels: fast, and the same on every machine."""

from __future__ import annotations

from typing import Any

import numpy as np

from harness.sdk.kernels.compile import helper
from harness.sdk.kernels.instances import Array


@helper()
def draw_number(random: Array, below: Any) -> Any:
    """Return a random number from 0 to below - 1 and advance the state `random[0]`: xorshift, the high bits scaled."""
    state = random[0]
    state ^= state << np.uint64(13)
    state ^= state >> np.uint64(7)
    state ^= state << np.uint64(17)
    random[0] = state
    return ((state >> np.uint64(32)) * below) >> np.uint64(32)
