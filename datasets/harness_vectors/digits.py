"""The handwritten digits of scikit-learn: 8 x 8 pixels of 0 to 16, ten classes, without a download."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from sklearn.datasets import load_digits

from harness import Dataset


def load_digit_images() -> Dataset:
    """Load every image as a row of raw pixel values."""
    pixels, digits = load_digits(return_X_y=True)
    X = csr_array(pixels.astype(np.float32))
    return Dataset(
        X=X,
        y=digits.astype(np.intp),
        class_names=tuple("0123456789"),
        found=f"{X.shape[0]:,} images of {X.shape[1]} pixels, {np.unique(digits).size} classes",
    )
