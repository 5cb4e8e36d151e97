"""Digits: raw pixels as in scikit-learn, as a dataset of the harness."""

import numpy as np
from sklearn.datasets import load_digits

from harness_vectors import digits
from harness_vectors.plugin import harness_datasets


def test_rows_equal_the_raw_pixels_of_scikit_learn():
    dataset = digits.load_digit_images()
    pixels, labels = load_digits(return_X_y=True)
    assert dataset.X.toarray().tolist() == pixels.tolist()
    assert dataset.y.tolist() == labels.tolist()


def test_rows_are_sparse_float32_with_sorted_int32_columns():
    dataset = digits.load_digit_images()
    assert (dataset.X.dtype, dataset.X.indices.dtype, dataset.X.indptr.dtype) == (np.float32, np.int32, np.int32)
    assert dataset.X.has_canonical_format
    assert (dataset.X.data > 0).all()


def test_there_are_ten_classes_and_no_taxonomy():
    dataset = digits.load_digit_images()
    assert dataset.class_names == tuple("0123456789")
    assert dataset.y.dtype == np.intp
    assert dataset.taxonomy is None
    assert dataset.found == "1,797 images of 64 pixels, 10 classes"


def test_the_plugin_registers_the_dataset():
    (spec,) = [spec for spec in harness_datasets() if spec.name == "digits"]
    assert spec.representation == "tf"
    assert spec.facts == {"rows": 1_797, "features": 64, "classes": 10}
    assert spec.licence
    assert spec.citation
