"""What can be chosen by name: found, or refused with all the names there are."""

import pytest

from harness.choices import choose
from harness.errors import HarnessError

COLOURS = {"red": 1, "blue": 2}


def test_a_choice_is_found_by_its_name():
    assert choose(COLOURS, "blue", "colour") == 2


def test_another_name_is_refused_and_all_choices_are_listed():
    with pytest.raises(HarnessError) as raised:
        choose(COLOURS, "green", "colour")
    assert str(raised.value) == "colour 'green': expected one of red, blue"
    assert raised.value.culprit == "colour 'green'"
