"""Arrays as kernels take them; apart from what compiles, so that who only converts data needs no compiler."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[Any]
"""An array whose type a kernel's signature says."""


def frozen(array: Array, dtype: DTypeLike | None = None) -> Array:
    """A read-only view, or a copy where the type or the layout does not fit; so memory-mapped data need no copy."""
    view = np.require(array, dtype, ["C", "A"]).view(np.ndarray)
    view.flags.writeable = False
    return view
