"""Durations and sizes: parsed from text, or rejected with examples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from internals import SMALLEST_MEMORY, parse_duration, parse_memory, parse_size
from messages import naming


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10m", 600), ("1.5h", 5400), ("250ms", 0.25), (30, 30), ("30", 30), (" 2 M ", 120)],
)
def test_durations_are_parsed(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"), [("512MB", 512 * 10**6), ("4gb", 4 * 10**9), ("2GiB", 2**31), ("1.5kB", 1500), (4096, 4096)]
)
def test_sizes_are_parsed(text, size):
    assert parse_size(text) == size
    assert isinstance(parse_size(text), int)


def test_a_memory_limit_has_a_minimum():
    assert parse_memory("16MB") == SMALLEST_MEMORY
    with pytest.raises(ValueError, match=naming("15MB", "15,000,000", "16MB", "4GB")):
        parse_memory("15MB")


@given(st.text(max_size=12))
def test_any_text_is_a_duration_or_rejected(text):
    for read in (parse_duration, parse_size):
        try:
            value = read(text)
        except ValueError:
            continue
        assert value >= 0


@pytest.mark.parametrize("text", ["", "m", "-5m", "5d", "1e3", "0s", "0", "1:30", "9" * 400, None, True, "inf", "nan"])
def test_invalid_durations_are_rejected(text):
    with pytest.raises(ValueError, match=naming("90s", "10m", "2h")):
        parse_duration(text)
