"""Normal random numbers that are identical on all machines.

The logarithm of a maths library, or of numpy's own vector code, may differ in its last bit between processors.
Addition, subtraction, multiplication, division and square root do not: IEEE 754 defines the rounding of each. So
nothing else is used here, in separate numpy operations that no compiler fuses. Sums that a library may add in any order
(dot products) are kept exact by `on_grid`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from harness_synthetic.draws import raw

Reals = NDArray[np.float64]

GRID = 2.0**-20
"""Numbers on this grid have products on GRID**2, which float64 adds without rounding while sums stay below 2**13.
float32 represents the numbers themselves up to 2**4."""
LN2 = 0.6931471805599453
SERIES = 12
"""Number of terms of the series for the logarithm: the first omitted term is below 2**-60 of the first."""
BLOCK_PAIRS = 2**18


def normals(bits: np.random.PCG64, n: int) -> Reals:
    """Draw from the standard normal distribution, by Marsaglia's polar method.

    A point (u, v) within the unit circle, s = u^2 + v^2, gives u * f and v * f with f = sqrt(-2 ln(s) / s).

    Parameters
    ----------
    bits : PCG64
        Source of random bits.
    n : int
        Number of draws.
    """
    blocks: list[Reals] = [np.empty(0)]
    missing = n
    while missing > 0:
        pairs = min(BLOCK_PAIRS, missing // 2 + missing // 8 + 8)  # of which pi / 4 lie within the circle
        points = (raw(bits, pairs, 2) >> np.uint64(11)) * 2.0**-52 - 1.0
        squares = points * points
        s = squares[:, 0] + squares[:, 1]
        within = (s > 0) & (s < 1)
        s = s[within]
        blocks.append((points[within] * np.sqrt(-2.0 * logarithm(s) / s)[:, np.newaxis]).ravel())
        missing -= blocks[-1].size
    return np.concatenate(blocks)[:n]


def logarithm(x: Reals) -> Reals:
    """Return ln(x) of positive numbers.

    x = m * 2^e with m near 1, and ln(m) = 2 artanh(t) with t = (m - 1) / (m + 1).
    """
    m, e = np.frexp(x)
    low = m < 0.7071067811865476
    m, e = np.where(low, 2.0 * m, m), np.where(low, e - 1, e)
    t = (m - 1.0) / (m + 1.0)
    square = t * t
    series = np.full_like(t, 1.0 / (2 * SERIES - 1))
    for k in range(SERIES - 2, -1, -1):
        series = series * square + 1.0 / (2 * k + 1)
    return e * LN2 + 2.0 * t * series


def on_grid(x: Reals) -> Reals:
    """Return the nearest numbers on the grid; both scalings are by a power of two and so exact."""
    return np.rint(x / GRID) * GRID
