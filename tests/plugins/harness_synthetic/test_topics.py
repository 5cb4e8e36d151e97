"""Synthetic topics: reproducible for a seed, of the requested shape, and learnable."""

import hashlib
from inspect import signature

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

from harness.errors import DataError
from harness_synthetic import topics
from harness_synthetic.plugin import harness_datasets


def digest(dataset):
    """Return the SHA-256 of rows and labels in a fixed byte order and width."""
    parts = [dataset.X.indptr.astype("<i4"), dataset.X.indices.astype("<i4"), dataset.X.data.astype("<f4")]
    y = dataset.y
    parts += [y.indptr.astype("<i4"), y.indices.astype("<i4")] if isinstance(y, csr_array) else [y.astype("<i4")]
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def profiles(X, y):
    """Return the summed words of each class, scaled to unit length."""
    sums = (X.T @ np.eye(y.max() + 1)[y]).T
    return sums / np.linalg.norm(sums, axis=1, keepdims=True)


def test_seed_0_gives_pinned_data():
    assert digest(topics.make_topics()) == "6582a55be91ac57cc78b0c58697858958134c8bd9b1ba508d479e9991097209b"


def test_seed_0_with_several_labels_gives_pinned_data():
    assert digest(topics.make_topics(labels=3)) == "3b008df3e197db3317dc787fbeab188c92d9476f482487780d17d57d73a715e5"


def test_another_seed_gives_other_data():
    assert digest(topics.make_topics(seed=1)) != digest(topics.make_topics(seed=0))


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_all_valid_parameters_give_data_of_the_requested_shape(data):
    classes = data.draw(st.integers(2, 30))
    rows = data.draw(st.integers(2 * classes, 100))
    features, words = data.draw(st.integers(1, 50)), data.draw(st.integers(1, 8))
    noise, labels = data.draw(st.floats(0, 1)), data.draw(st.integers(1, classes))
    seed = data.draw(st.integers(0, 2**32 - 1))
    made = topics.make_topics(
        rows=rows, classes=classes, features=features, words=words, noise=noise, labels=labels, seed=seed
    )
    assert made.X.shape == (rows, features)
    assert (made.X.dtype, made.X.indices.dtype, made.X.indptr.dtype) == (np.float32, np.int32, np.int32)
    assert made.X.has_canonical_format
    assert (made.X.sum(axis=1) == words).all()
    indicator = made.y.toarray() if labels > 1 else np.eye(classes, dtype=int)[made.y]
    assert indicator.shape == (rows, classes)
    assert set(np.unique(indicator)) <= {0, 1}
    assert indicator.sum(axis=0).min() >= 2
    assert indicator.sum(axis=1).min() >= 1
    assert indicator.sum(axis=1).max() <= labels


def test_one_label_gives_class_positions_and_several_give_an_indicator():
    assert topics.make_topics(labels=1).y.dtype == np.intp
    several = topics.make_topics(labels=2).y
    assert isinstance(several, csr_array)
    assert several.dtype == np.int8
    assert (several.data == 1).all()
    assert set(several.sum(axis=1)) == {1, 2}


def test_class_sizes_follow_zipfs_law():
    sizes = np.bincount(topics.make_topics(rows=20_000).y)
    assert sizes[0] == pytest.approx(2 * sizes[1], rel=0.15)
    assert sizes[0] == pytest.approx(5 * sizes[4], rel=0.2)


def test_full_noise_leaves_background_words_only():
    words = topics.make_topics(noise=1.0, rows=20_000).X.sum(axis=0)
    assert words[0] == pytest.approx(2 * words[1], rel=0.1)
    assert words[0] == pytest.approx(10 * words[9], rel=0.1)


def test_classes_of_one_group_share_more_words_than_other_classes():
    made = topics.make_topics(rows=20_000, noise=0.0)
    found = profiles(made.X, made.y)
    alike = found @ found.T
    group = made.taxonomy.parent[made.taxonomy.class_node]
    same = (group[:, None] == group) & ~np.eye(50, dtype=bool)
    assert alike[same].min() > alike[group[:, None] != group].max()


def test_the_taxonomy_has_two_levels_and_no_empty_group():
    tree = topics.make_topics().taxonomy
    assert tree.depth == 2
    assert tree.parent[:8].tolist() == [-1, 0, 0, 0, 0, 0, 0, 0]
    assert set(tree.parent[tree.class_node]) == set(range(1, 8))
    assert tree.class_node.tolist() == list(range(8, 58))
    assert [tree.node_names[node] for node in (0, 1, 8, 57)] == ["all", "group-0", "class-0", "class-49"]


def test_the_task_is_learnable_but_not_without_error():
    made = topics.make_topics()
    learnt = profiles(made.X[:1600], made.y[:1600])
    share = np.mean((made.X[1600:] @ learnt.T).argmax(axis=1) == made.y[1600:])
    assert 0.5 < share < 0.95


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"rows": 3}, "rows=3; allowed: a whole number from 4 to"),
        ({"rows": 99}, "rows=99; allowed: at least two for each of the 50 classes"),
        ({"classes": 1}, "classes=1; allowed: a whole number from 2 to"),
        ({"classes": 2.0}, r"classes=2\.0; allowed: a whole number"),
        ({"features": 0}, "features=0; allowed: a whole number from 1 to"),
        ({"features": 2**26 + 1}, "allowed: a whole number from 1 to 67108864"),
        ({"words": True}, "words=True; allowed: a whole number"),
        ({"labels": 51}, "labels=51; allowed: a whole number from 1 to 50"),
        ({"seed": -1}, "seed=-1; allowed: a whole number from 0 to"),
        ({"noise": 1.5}, r"noise=1\.5; allowed: a number from 0 to 1"),
        ({"noise": float("nan")}, "noise=nan; allowed: a number from 0 to 1"),
        ({"noise": "lots"}, "noise='lots'; allowed: a number from 0 to 1"),
    ],
)
def test_a_bad_parameter_raises_an_error_with_its_value_and_the_allowed_values(given_, message):
    with pytest.raises(DataError, match=message):
        topics.make_topics(**given_)


def test_every_parameter_is_keyword_only_and_has_a_default():
    assert {name: parameter.default for name, parameter in signature(topics.make_topics).parameters.items()} == {
        "rows": 2000,
        "classes": 50,
        "features": 1000,
        "words": 20,
        "noise": 0.3,
        "labels": 1,
        "seed": 0,
    }


def test_the_plugin_registers_the_dataset():
    assert "topics" in [spec.name for spec in harness_datasets()]
