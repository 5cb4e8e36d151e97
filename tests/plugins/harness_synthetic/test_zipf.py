"""Zipf texts: reproducible for a seed, of the requested shape, for any block size."""

import hashlib
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import DataError
from harness_synthetic import zipf
from harness_synthetic.plugin import harness_datasets

SMALL = {"rows": 2000, "classes": 100, "features": 5000, "words": 60, "noise": 0.5}


def digest(dataset):
    X = dataset.X
    parts = [X.indptr.astype("<i8"), X.indices.astype("<i4"), X.data.astype("<f4"), dataset.y.astype("<i4")]
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def test_seed_0_gives_pinned_data():
    assert digest(zipf.make_zipf(**SMALL)) == "758b2727a4eec93d6863e487adb1a777835e4123d4b8058c48397927cbd26b4a"


def test_a_deeper_tree_gives_pinned_data():
    assert (
        digest(zipf.make_zipf(**SMALL, depth=3)) == "eba32becb4a8c624772ce94e0aa27790e0bf8dfcf7bf74983ca608d81eeb80ec"
    )


def test_another_seed_gives_other_data():
    assert digest(zipf.make_zipf(**SMALL, seed=1)) != digest(zipf.make_zipf(**SMALL))


@settings(max_examples=30, deadline=None)
@given(
    st.integers(2, 40), st.integers(0, 60), st.integers(1, 300), st.integers(1, 30), st.floats(0, 1), st.integers(1, 5)
)
def test_all_valid_parameters_give_data_of_the_requested_shape(classes, more, features, words, noise, depth):
    data = zipf.make_zipf(
        rows=classes + more, classes=classes, features=features, words=words, noise=noise, depth=depth
    )
    assert data.X.shape == (classes + more, features)
    assert set(data.y.tolist()) == set(range(classes))
    lengths = np.asarray(data.X.sum(axis=1)).ravel()
    assert lengths.min() >= words - words // 5
    assert lengths.max() <= words + words // 5
    assert (data.X.dtype, data.X.indices.dtype) == (np.float32, np.int32)
    assert data.X.has_canonical_format
    assert (data.taxonomy.depth if depth > 1 else data.taxonomy) == (depth if depth > 1 else None)


def test_row_lengths_vary_around_the_requested_mean():
    lengths = np.asarray(zipf.make_zipf(**SMALL).X.sum(axis=1)).ravel()
    assert abs(lengths.mean() - 60) < 1
    assert lengths.std() > 5


def test_class_sizes_follow_zipfs_law():
    sizes = np.bincount(zipf.make_zipf(rows=20_000, classes=100, features=100, words=5).y)
    assert 1.7 < sizes[0] / sizes[1] < 2.3
    assert 7 < sizes[0] / sizes[9] < 13


def test_word_frequencies_follow_zipfs_law():
    counts = np.asarray(
        zipf.make_zipf(rows=20_000, classes=2, features=1000, words=50, noise=1.0).X.sum(axis=0)
    ).ravel()
    assert counts[0] / counts[1] == pytest.approx(2, rel=0.05)
    assert counts[0] / counts[99] == pytest.approx(100, rel=0.1)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_classes_share_more_words_the_more_groups_they_share(depth):
    data = zipf.make_zipf(rows=3000, classes=27, features=100_000, words=60, noise=0.0, depth=depth)
    words = [set(data.X[data.y == c].indices.tolist()) for c in range(27)]
    ancestors = [{c} for c in range(27)]
    if depth > 1:
        tree = data.taxonomy
        for node, above in zip(tree.class_node, ancestors, strict=True):
            while node > 0:
                above.add(f"node {node}")
                node = tree.parent[node]  # noqa: PLW2901 (climbs)
    shared = {}
    for a in range(27):
        for b in range(a):
            shared.setdefault(len(ancestors[a] & ancestors[b]), []).append(len(words[a] & words[b]))
    means = [np.mean(shared[n]) for n in sorted(shared)]
    assert len(means) == depth
    assert means[0] < 20  # up to hash collisions
    assert all(more > less + 100 for less, more in pairwise(means))


def test_many_blocks_and_classes_give_one_matrix(monkeypatch):
    monkeypatch.setattr(zipf, "BLOCK_TOKENS", 5_000)
    data = zipf.make_zipf(rows=30_000, classes=20_000, features=1_000_000, words=5)
    assert data.X.shape == (30_000, 1_000_000)
    assert data.X.has_canonical_format
    assert np.diff(data.X.indptr).min() >= 1
    assert set(data.y.tolist()) == set(range(20_000))
    assert len(data.taxonomy.class_node) == 20_000


def test_chunk_size_does_not_change_the_data(monkeypatch):
    full = digest(zipf.make_zipf(**SMALL))
    monkeypatch.setattr(zipf, "CHUNK_TOKENS", 777)
    assert digest(zipf.make_zipf(**SMALL)) == full


def test_the_task_is_learnable_but_not_without_error():
    data = zipf.make_zipf(**SMALL)
    X = data.X.toarray()
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    train = np.arange(2000) < 1500
    means = np.stack([X[train & (data.y == c)].sum(axis=0) for c in range(100)])
    means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), 1e-9)
    accuracy = ((X[~train] @ means.T).argmax(axis=1) == data.y[~train]).mean()
    assert 0.5 < accuracy < 1


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"rows": 5, "classes": 6}, "rows=5; allowed: at least one for each of the 6 classes"),
        ({"classes": 1}, "classes=1; allowed: a whole number from 2"),
        ({"words": 0}, "words=0; allowed: a whole number from 1"),
        ({"noise": 1.5}, "noise=1.5; allowed: a number from 0 to 1"),
        ({"depth": 0}, "depth=0; allowed: a whole number from 1 to 8"),
        ({"seed": -1}, "seed=-1; allowed: a whole number from 0"),
    ],
)
def test_a_bad_parameter_raises_an_error_with_its_value_and_the_allowed_values(given_, message):
    with pytest.raises(DataError, match=message):
        zipf.make_zipf(**given_)


def test_the_plugin_registers_the_dataset():
    assert "zipf" in [spec.name for spec in harness_datasets()]
