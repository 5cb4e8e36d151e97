"""Work distributed to threads: as many as allowed, the same result for any number, none left running."""

from __future__ import annotations

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.sdk import in_threads, stretches
from internals import allowed_threads


@pytest.fixture
def allow(monkeypatch):
    return lambda threads: monkeypatch.setenv("OMP_NUM_THREADS", str(threads))


@pytest.mark.parametrize(("setting", "allowed"), [("3", 3), ("1", 1), ("0", 1), ("", 1), ("many", 1), ("-2", 1)])
def test_the_environment_variable_sets_the_number_of_threads(allow, setting, allowed):
    allow(setting)
    assert allowed_threads() == allowed


def test_the_default_is_one_thread(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    assert allowed_threads() == 1


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_are_returned_in_the_order_of_the_shares(allow, threads):
    allow(threads)

    def work(share):
        time.sleep(0.002 * (3 - share))  # the first ones end last
        return 10 * share

    assert in_threads(work, range(4)) == [0, 10, 20, 30]


def test_shares_run_concurrently_and_no_thread_is_left(allow):
    allow(2)
    before, meeting = threading.active_count(), threading.Barrier(2, timeout=20)
    in_threads(lambda _: meeting.wait(), range(2))  # each waits for the other
    assert threading.active_count() == before


def test_with_one_thread_no_thread_is_started(allow):
    allow(1)
    assert in_threads(lambda _: threading.current_thread(), range(3)) == 3 * [threading.current_thread()]


def test_a_worker_thread_does_not_start_further_threads(allow):
    allow(2)

    def work(_):
        inner = in_threads(lambda _: threading.current_thread(), range(2))
        return allowed_threads(), set(inner) == {threading.current_thread()}

    assert in_threads(work, range(2)) == [(1, True), (1, True)]
    assert allowed_threads() == 2


@pytest.mark.parametrize("threads", [1, 2])
def test_an_error_in_a_thread_is_raised_in_the_caller(allow, threads):
    allow(threads)

    def work(share):
        if share == 1:
            raise ValueError("this one")
        return share

    with pytest.raises(ValueError, match="this one"):
        in_threads(work, range(3))


@given(st.integers(0, 500), st.integers(1, 70), st.integers(1, 4), st.integers(1, 5))
def test_ranges_cover_everything_once_at_multiples_of_the_minimum(n, least, per_thread, threads):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", str(threads))
        found = stretches(n, least=least, per_thread=per_thread)
    assert [row for part in found for row in range(part.start, part.stop)] == list(range(n))
    assert len(found) == min(-(-n // least), threads * per_thread)
    assert all(part.start % least == 0 for part in found)
    sizes = [-(-(part.stop - part.start) // least) for part in found]
    assert max(sizes, default=0) - min(sizes, default=0) <= 1
