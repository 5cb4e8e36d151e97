"""Suggestions for misspelt names, ignoring case."""

import pytest

from internals import nearest


@pytest.mark.parametrize(
    ("name", "known", "expected"),
    [
        ("PA", ["pa", "ooz"], ["pa"]),
        ("oz", ["pa", "ooz"], ["ooz"]),
        ("Topdown-SVM", ["topdown-svm", "topdown-perceptron", "svm"], ["topdown-svm"]),
        ("pa", ["PA", "Pa"], ["PA", "Pa"]),
        ("quite-else", ["pa", "ooz"], []),
    ],
)
def test_the_nearest_names_are_found_in_their_original_spelling(name, known, expected):
    assert nearest(name, known)[: len(expected) or None] == expected


def test_no_more_names_are_returned_than_requested():
    assert nearest("abc1", ["abc2", "abc3", "abc4"], most=2) == nearest("abc1", ["abc2", "abc3", "abc4"])[:2]
