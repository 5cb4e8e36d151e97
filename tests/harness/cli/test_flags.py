"""Flags of `harness run`: settings taken apart, and what is laid over an experiment file."""

import pytest

from experiments import NO_FLAGS
from harness.cli.run import parse_setting, read_flags
from harness.errors import SpecError


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pa.C=0.1", ("pa", "C", 0.1)),
        ("pa@digits.C=[1, 2]", ("pa@digits", "C", [1, 2])),
        ("a.b:C.alpha=x", ("a.b:C", "alpha", "x")),
        ("pa.text='a=b'", ("pa", "text", "a=b")),
        (" pa.C = none ", ("pa", "C", None)),
    ],
)
def test_settings_are_taken_apart(text, expected):
    assert parse_setting(text) == expected


@pytest.mark.parametrize("text", ["C=1", "pa.C", "pa.=1", ".C=1", "=", ""])
def test_a_setting_that_cannot_be_read_is_named_with_an_example(text):
    with pytest.raises(SpecError) as caught:
        parse_setting(text)
    assert f"--set {text}: expected NAME.PARAM=VALUE, such as pa.C=0.1" in str(caught.value)


def test_flags_become_keys_of_a_file_settings_and_ranges_to_tune():
    flags = NO_FLAGS | {
        "learners": "pa",
        "trials": 2,
        "curves": False,
        "settings": ("pa.C=1", "pa.passes=2", "digits.rows=3"),
        "tune": ("pa.margin=[1, 2]", "pa.order=3"),
    }
    request = read_flags("mine.toml", flags)
    assert request.experiment == "mine.toml"
    assert request.given == {"learners": "pa", "trials": 2, "curves": False}
    assert request.settings == {"pa": {"C": 1, "passes": 2}, "digits": {"rows": 3}}
    assert request.tune == {"pa": {"margin": [1, 2], "order": [3]}}
    assert request.asker == "command line"
