"""Dataset profiles, compared with manual and brute-force counts."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from harness import Dataset, Taxonomy
from harness.errors import SpecError
from harness.sdk import Texts
from internals import ClassSize, profile_data, profile_of
from messages import naming


def of_texts(texts, labels, names=("a", "b", "c"), **more):
    return Dataset(None, np.asarray(labels), names, texts=Texts.of(texts), **more)


def test_class_sizes_are_summarised():
    labels = [0, *[1] * 2, *[2] * 4, *[3] * 5]
    profile = profile_of(of_texts(map(str, range(12)), labels, ("one", "two", "four", "five")))
    assert (profile.rows, profile.classes, profile.singletons, profile.near_empty) == (12, 4, 1, 2)
    assert (profile.smallest, profile.largest) == (ClassSize("one", 1), ClassSize("five", 5))


def test_equal_texts_with_different_labels_bound_the_accuracy():
    profile = profile_of(of_texts(["x", "x", "x", "y", "y", "z"], [0, 0, 1, 2, 2, 1]))
    assert profile.repeats.rows == 3
    assert profile.repeats.conflicting == 3
    assert profile.repeats.highest_r1 == 5 / 6


def test_label_sets_conflict_if_they_differ_and_one_shared_class_is_enough():
    y = csr_array(np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1], [0, 1, 1], [0, 0, 0]]))
    profile = profile_of(Dataset(None, y, ("a", "b", "c"), texts=Texts.of(["x", "x", "y", "y", "z"])))
    assert (profile.repeats.conflicting, profile.repeats.highest_r1, profile.unlabelled) == (2, 4 / 5, 1)


def test_lengths_are_in_characters_and_blank_texts_count_as_empty():
    profile = profile_of(of_texts(["", " \t", "naïve", "日本"], [0, 1, 2, 0]))
    assert profile.empty == 2
    assert profile.length_unit == "characters"
    assert dict(profile.lengths)[1.0] == 5
    assert dict(profile.lengths)[0.5] == 2


def test_rows_of_numbers_have_features_and_no_repeats():
    X = csr_array(np.array([[1, 0], [0, 0], [2, 3]], dtype=np.float32))
    profile = profile_of(Dataset(X, np.array([0, 1, 0]), ("a", "b")))
    assert (profile.length_unit, dict(profile.lengths)[1.0], profile.empty) == ("features", 2, 1)
    assert profile.repeats is None


def test_the_taxonomy_is_described():
    tree = Taxonomy(np.array([-1, 0, 0, 1]), np.array([3, 2]))
    profile = profile_of(of_texts(["x", "y"], [0, 1], ("a", "b"), taxonomy=tree))
    assert (profile.taxonomy_nodes, profile.taxonomy_depth, profile.several_parents) == (4, 2, 0)
    lattice = replace(tree, more_parents=np.array([[3, 0], [3, 2]]))
    profile = profile_of(of_texts(["x", "y"], [0, 1], ("a", "b"), taxonomy=lattice))
    assert (profile.taxonomy_nodes, profile.several_parents) == (4, 1)


@given(st.lists(st.tuples(st.text(alphabet="aé ", max_size=2), st.integers(0, 2)), min_size=1))
def test_duplicates_equal_a_plain_count(rows):
    texts, labels = zip(*rows, strict=True)
    repeats = profile_of(of_texts(texts, labels)).repeats
    by_text = {text: Counter(label for other, label in rows if other == text) for text in texts}
    assert repeats.rows == len(rows) - len(set(texts))
    assert repeats.conflicting == sum(len(by_text[text]) > 1 for text in texts)
    assert repeats.highest_r1 * len(rows) == pytest.approx(sum(max(counts.values()) for counts in by_text.values()))


def test_python_data_is_profiled_as_a_run_reads_it():
    profile = profile_data((["x", "y", "x"], ["a", "b", "b"]))
    assert (profile.rows, profile.classes, profile.repeats.conflicting) == (3, 2, 2)


def test_one_dataset_is_profiled_at_a_time():
    with pytest.raises(SpecError, match=naming("2", "digits", "letter")):
        profile_data(["digits", "letter"])
