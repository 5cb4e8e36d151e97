"""Bad input of all kinds is accepted or rejected without a traceback; `benchmarks/fuzz.py` tries far more."""

import sys
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
CASES = 500


@pytest.fixture(scope="module")
def fuzz():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        import fuzz

        yield fuzz
    sys.modules.pop("fuzz")


def test_every_bad_input_is_accepted_or_rejected_with_a_message(fuzz, tmp_path):
    tallies = fuzz.fuzz(CASES, seed=0, folder=tmp_path)
    assert {kind: tally.broken for kind, tally in tallies.items() if tally.broken} == {}
    assert sum(tally.taken + tally.refused for tally in tallies.values()) >= CASES
    assert sum(tally.taken > 0 for tally in tallies.values()) >= 6  # input that is always rejected is not read far
    assert sum(tally.refused > 0 for tally in tallies.values()) >= 6


def test_an_unexpected_end_is_detected(fuzz, tmp_path):
    def fail(chance, folder):
        raise KeyError(chance.random())

    tally = fuzz.Tally()
    fuzz._try(fuzz.Kind(fail, 1.0), "0", tmp_path, tally)
    assert (tally.taken, tally.refused, len(tally.broken)) == (0, 0, 1)
