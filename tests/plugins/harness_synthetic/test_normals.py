"""Normal draws: reproducible, normally distributed, and on a grid with exact sums in any order."""

import hashlib
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness_synthetic.normals import GRID, logarithm, normals, on_grid


def test_seed_0_gives_pinned_draws():
    drawn = normals(np.random.PCG64(0), 10_000).astype("<f8")
    assert (
        hashlib.sha256(drawn.tobytes()).hexdigest()
        == "258fa2cd074d2723775d87b8863540077f0dab14c285d8e8ab4bd0739d3c06bf"
    )


@given(st.integers(0, 3000), st.integers(0, 2**32 - 1))
def test_the_requested_number_of_finite_values_is_drawn(n, seed):
    drawn = normals(np.random.PCG64(seed), n)
    assert drawn.shape == (n,)
    assert np.isfinite(drawn).all()


def test_draws_are_normally_distributed():
    drawn = normals(np.random.PCG64(1), 1_000_000)  # several blocks
    assert stats.kstest(drawn, "norm").pvalue > 0.01
    assert abs(drawn.mean()) < 0.004
    assert drawn.std() == pytest.approx(1, abs=0.003)
    assert stats.kurtosis(drawn) == pytest.approx(0, abs=0.02)
    assert np.abs(drawn).max() > 4.5
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 0.004


@given(st.floats(min_value=5e-324, max_value=1.7e308))
def test_the_logarithm_equals_the_maths_library_up_to_the_last_bits(x):
    assert logarithm(np.array([x]))[0] == pytest.approx(math.log(x), rel=2e-15, abs=2e-16)


@given(st.lists(st.floats(-16, 16), min_size=2, max_size=40), st.randoms())
def test_dot_products_on_the_grid_are_independent_of_order(values, random):
    x = on_grid(np.array(values))
    assert np.abs(x - values).max() <= GRID / 2
    assert (x == x.astype(np.float32)).all()
    products = (x * x[::-1]).tolist()
    shuffled = random.sample(products, len(products))
    assert sum(products) == sum(shuffled) == math.fsum(products) == x @ x[::-1]
