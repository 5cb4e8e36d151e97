"""Times and sizes as people write them; what is none is refused with examples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.experiment.units import SMALLEST_MEMORY, parse_duration, parse_memory, parse_size


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10m", 600), ("1.5h", 5400), ("250ms", 0.25), (30, 30), ("30", 30), (" 2 M ", 120)],
)
def test_times(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"), [("512MB", 512 * 10**6), ("4gb", 4 * 10**9), ("2GiB", 2**31), ("1.5kB", 1500), (4096, 4096)]
)
def test_sizes(text, size):
    assert parse_size(text) == size
    assert isinstance(parse_size(text), int)


def test_a_memory_limit_has_a_least_value():
    assert parse_memory("16MB") == SMALLEST_MEMORY
    with pytest.raises(ValueError, match=r"'15MB' is a limit of 15,000,000 bytes.* at least 16MB.* 4GB"):
        parse_memory("15MB")


@given(st.text(max_size=12))
def test_any_text_is_a_time_or_refused(text):
    for read in (parse_duration, parse_size):
        try:
            value = read(text)
        except ValueError:
            continue
        assert value >= 0


@pytest.mark.parametrize("text", ["", "m", "-5m", "5d", "1e3", "0s", "0", "1:30", "9" * 400, None, True, "inf", "nan"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(ValueError, match="is not a time such as 90s, 10m or 2h"):
        parse_duration(text)
