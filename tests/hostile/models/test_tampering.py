"""Tampered models run no code and give no wrong answer; `benchmarks/tampering.py` tries far more."""

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[3] / "benchmarks"
ATTEMPTS = 50


@pytest.fixture(scope="module")
def tampering():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        import tampering

        yield tampering
    sys.modules.pop("tampering")


def test_a_tampered_model_is_refused_with_a_message_or_answers_as_before(tampering, tmp_path):
    tallies, harmful, _ = tampering.tamper(ATTEMPTS, seed=1, folder=tmp_path)
    assert harmful == []
    assert all(ends.total() for ends in tallies.values())
    assert sum(ends["refused"] for ends in tallies.values()) > ATTEMPTS / 2


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({}, ""),
        ({"code": 2, "output": b"", "message": "error: was changed"}, ""),
        ({"output": b"other"}, "another answer"),
        ({"code": 2, "output": b"", "message": "Traceback ... error: x"}, "exit code 2"),
        ({"code": 3, "output": b"", "message": "error: unexpected"}, "exit code 3"),
        ({"code": -11, "output": b"", "message": ""}, "exit code -11"),
        ({"seconds": 60.0}, "took"),
        ({"bytes": 2 * 10**9}, "used"),
    ],
)
def test_every_harmful_end_is_detected(tampering, tmp_path, changes, problem):
    usual = {"code": 0, "output": b"right", "message": "", "seconds": 0.1, "bytes": 10**8}
    found = tampering.judge(tampering.Ended(**usual | changes), b"right", tmp_path / "mark")
    assert found.startswith(problem)
    assert bool(found) == bool(problem)


def test_code_that_ran_is_detected(tampering, tmp_path):
    (tmp_path / "mark").touch()
    ended = tampering.Ended(2, b"", "error: refused", 0.1, 10**8)
    assert tampering.judge(ended, b"right", tmp_path / "mark")
    assert not tampering.judge(ended, b"right", tmp_path / "mark")  # the mark is removed
