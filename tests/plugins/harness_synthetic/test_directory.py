"""The synthetic directory: reproducible for a seed, of the requested shape, with the documented difficulties."""

import hashlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.errors import DataError
from harness_synthetic import directory
from harness_synthetic.directory import make_directory
from harness_synthetic.plugin import harness_datasets

SMALL = {"rows": 2000, "classes": 100, "features": 5000, "words": 60}
CLEAR = {"rows": 600, "classes": 27, "features": 100_000, "words": 400, "noise": 0.0}


def digest(dataset):
    X = dataset.X
    parts = [X.indptr.astype("<i8"), X.indices.astype("<i4"), X.data.astype("<f4"), dataset.y.astype("<i4")]
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()


def group_of(dataset):
    tree = dataset.taxonomy
    return tree.parent[tree.class_node]


def words_of(dataset, member):
    """Return the words on pages of a class; without background words, those of the class and its groups."""
    return set(dataset.X[dataset.y == member].indices.tolist())


def test_seed_0_gives_pinned_data():
    assert digest(make_directory(**SMALL)) == "d4f43fb010d4392f15b54349c1b11a1c24f8c41b3792749ead8432cf74a58fc2"


def test_a_deeper_tree_gives_pinned_data():
    assert (
        digest(make_directory(**SMALL, depth=4)) == "c7e5b3fd421cc2324ba7de4ef3c26f9d3ccf76a7f1ffead486def1092e3a9a76"
    )


def test_another_seed_gives_other_data():
    assert digest(make_directory(**SMALL, seed=1)) != digest(make_directory(**SMALL))


def test_chunk_size_does_not_change_the_data(monkeypatch):
    full = digest(make_directory(**SMALL))
    monkeypatch.setattr(directory, "CHUNK_TOKENS", 777)
    assert digest(make_directory(**SMALL)) == full


@settings(max_examples=30, deadline=None)
@given(
    st.integers(2, 40),
    st.integers(0, 60),
    st.integers(1, 300),
    st.integers(1, 30),
    st.floats(0, 1),
    st.floats(0, 1),
    st.integers(2, 5),
)
def test_all_valid_parameters_give_data_of_the_requested_shape(classes, more, features, words, noise, confused, depth):
    rows = 2 * classes + more
    params = {"rows": rows, "classes": classes, "features": features, "words": words, "depth": depth}
    data = make_directory(**params, noise=noise, confused=confused)
    assert data.X.shape == (rows, features)
    assert np.bincount(data.y, minlength=classes).min() >= 2
    lengths = np.asarray(data.X.sum(axis=1)).ravel()
    assert lengths.min() >= max(1, words // 8)
    assert lengths.max() <= 8 * words
    assert (data.X.dtype, data.X.indices.dtype) == (np.float32, np.int32)
    assert data.X.has_canonical_format
    assert data.taxonomy.depth == depth
    assert len(data.taxonomy.class_node) == classes


def test_page_lengths_are_roughly_log_normal_around_the_requested_mean():
    lengths = np.asarray(make_directory(rows=20_000, classes=10, features=100, words=100).X.sum(axis=1)).ravel()
    logarithms = np.log2(lengths / 100)
    assert abs(np.median(logarithms)) < 0.03
    assert logarithms.std() == pytest.approx(0.866, abs=0.06)


def test_the_largest_classes_are_a_hundred_times_the_smallest_and_none_dominates():
    sizes = np.bincount(make_directory(rows=300_000, classes=1000, features=10, words=1).y)
    assert 100 < sizes[:3].mean() / sizes[-100:].mean() < 300
    assert sizes.max() / sizes.sum() < 0.06
    assert sizes[3] / sizes[16] == pytest.approx(20 / 7, rel=0.1)  # the weights are 1 / (position + 4)


def test_background_words_follow_zipfs_law_under_any_numbering():
    X = make_directory(rows=20_000, classes=2, features=1000, words=50, noise=1.0).X
    counts = np.asarray(X.sum(axis=0)).ravel()
    falling = np.sort(counts)[::-1]
    assert falling[0] / falling[1] == pytest.approx(2, rel=0.05)
    assert falling[0] / falling[99] == pytest.approx(100, rel=0.15)
    assert abs(np.corrcoef(np.arange(1000), counts)[0, 1]) < 0.1


def test_noise_is_roughly_the_share_of_uninformative_words():
    bounds = directory._draw_bounds(np.random.PCG64(0), 4000, 3, 0.65)
    shares = np.diff([np.zeros(4000), *(bound / 2.0**53 for bound in bounds), np.ones(4000)], axis=0)
    assert shares.min() >= 0
    assert shares[0].mean() == pytest.approx(0.65, abs=0.05)
    assert np.ptp(shares[1:].mean(axis=1)) < 0.01
    assert (shares[3] < 0.01).mean() > 0.1, "some pages hardly speak of their class"
    assert (shares[3] > 0.3).mean() > 0.05, "some of little else"


def test_classes_share_more_words_the_more_groups_they_share():
    data = make_directory(**CLEAR, confused=0.0)
    tree = data.taxonomy
    middle = group_of(data)
    top = tree.parent[middle]
    words = [words_of(data, member) for member in range(27)]
    shared = {0: [], 1: [], 2: []}
    for a in range(27):
        for b in range(a):
            shared[int(top[a] == top[b]) + int(middle[a] == middle[b])].append(len(words[a] & words[b]))
    means = [np.mean(shared[level]) for level in range(3)]
    assert means[0] < 20  # up to hash collisions
    assert means[1] > means[0] + 100  # a top group has 160 words
    assert means[2] > means[1] + 50  # a group below it 80


def test_a_class_has_forty_words_that_its_siblings_lack():
    data = make_directory(**CLEAR | {"rows": 4000}, confused=0.0)
    group = group_of(data)
    for member in range(27):
        siblings = [other for other in range(27) if group[other] == group[member] and other != member]
        alone = words_of(data, member).difference(*(words_of(data, other) for other in siblings))
        assert 30 <= len(alone) <= 40


@pytest.mark.parametrize("confused", [0.0, 0.3])
def test_confused_pages_have_words_of_a_class_in_the_same_group(confused):
    clear = make_directory(**CLEAR, confused=0.0)
    data = make_directory(**CLEAR, confused=confused)
    group = group_of(data)
    assert np.array_equal(data.y, clear.y)
    others = 0
    for member in range(27):
        siblings = [other for other in range(27) if group[other] == group[member] and other != member]
        foreign = set().union(*(words_of(clear, other) for other in siblings)) - words_of(clear, member)
        pages = data.X[data.y == member]
        others += sum(bool(foreign & set(page.indices.tolist())) for page in pages)
    expected = confused * 600 * 2 / 3  # a third of the drawn classes are the page's own
    assert others == pytest.approx(expected, abs=0.25 * expected)


def test_many_blocks_and_classes_give_one_matrix(monkeypatch):
    monkeypatch.setattr(directory, "BLOCK_TOKENS", 5_000)
    data = make_directory(rows=4_000, classes=2_000, features=1_000_000, words=5)
    assert data.X.shape == (4_000, 1_000_000)
    assert data.X.has_canonical_format
    assert np.diff(data.X.indptr).min() >= 1


@pytest.mark.parametrize(
    ("given_", "message"),
    [
        ({"rows": 11, "classes": 6}, "rows=11; allowed: at least two for each of the 6 classes"),
        ({"classes": 1}, "classes=1; allowed: a whole number from 2"),
        ({"words": 0}, "words=0; allowed: a whole number from 1"),
        ({"noise": 1.5}, "noise=1.5; allowed: a number from 0 to 1"),
        ({"confused": -0.5}, "confused=-0.5; allowed: a number from 0 to 1"),
        ({"depth": 1}, "depth=1; allowed: a whole number from 2 to 8"),
        ({"seed": -1}, "seed=-1; allowed: a whole number from 0"),
    ],
)
def test_a_bad_parameter_raises_an_error_with_its_value_and_the_allowed_values(given_, message):
    with pytest.raises(DataError, match=message):
        make_directory(**given_)


def test_the_plugin_registers_the_dataset():
    assert "directory" in [spec.name for spec in harness_datasets()]
