"""What somebody may have meant: names that are near, whatever their case."""

import pytest

from harness.suggestions import nearest


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
def test_the_nearest_names_are_found_in_their_own_spelling(name, known, expected):
    assert nearest(name, known)[: len(expected) or None] == expected


def test_no_more_are_given_than_asked_for():
    assert nearest("abc1", ["abc2", "abc3", "abc4"], most=2) == nearest("abc1", ["abc2", "abc3", "abc4"])[:2]
