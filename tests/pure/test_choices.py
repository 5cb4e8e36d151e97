"""Choices by name: found, or rejected with the list of names."""

import pytest

from harness.errors import HarnessError
from internals import choose_by_name as choose
from messages import assert_names

COLOURS = {"red": 1, "blue": 2}


def test_a_choice_is_found_by_its_name():
    assert choose(COLOURS, "blue", "colour") == 2


def test_an_unknown_name_is_rejected_with_the_list_of_choices():
    with pytest.raises(HarnessError) as raised:
        choose(COLOURS, "green", "colour")
    assert_names(str(raised.value), "green")
    assert raised.value.culprit == "colour 'green'"
