"""Counts before their nouns."""

import pytest

from internals import counted


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((1, "trial"), "1 trial"),
        ((0, "trial"), "0 trials"),
        ((1918, "class"), "1,918 classes"),
        ((1, "trial is", "trials are"), "1 trial is"),
        ((2, "trial is", "trials are"), "2 trials are"),
        (("0.5", "minute"), "0.5 minutes"),
        (("?", "core"), "? cores"),
    ],
)
def test_one_is_singular_and_all_else_plural(words, expected):
    assert counted(*words) == expected
