"""Details of one learner's trials: common settings, failed trials, finished trials."""

import pytest

from internals import describe_line, group_records
from small_tables import MACHINES, R1, TRAIN


@pytest.fixture
def described(make_record):
    trace = 'Traceback (most recent call last):\n  File "mine.py", line 7\nValueError: no'
    tuning = [{"params": {"C": 1}, "score": 0.25}, {"params": {"C": 9}, "trouble": "C is too \x1b[1mlarge"}]
    failed = {"status": "error", "message": "during fit: ValueError: no", "traceback": trace, "output": "so\x1bfar\n"}
    common = {"versions": {"numpy": "2.4"}, "code": "c0de", "tuning": tuning}
    records = [
        make_record("pa", 0, r1=0.5, train=2.0, tuned={"C": 1}, warnings=["slow: very"], **common),
        make_record("pa", 1, **failed, **common),
        make_record("pa", 2, **failed, **common),
    ]
    (line,) = group_records(records)
    return describe_line(line, [R1, TRAIN], MACHINES)


def test_common_settings_come_first(described):
    top = described.partition("\n\nseed")[0]
    assert top.startswith("pa on digits  (tf, holdout:0.1; 900 training and 100 test rows")
    facts = dict(line.split(maxsplit=1) for line in top.splitlines()[2:])
    assert facts == {
        "learner": "pa (flat) of dist 1.0",
        "code": "c0de",
        "parameters": "defaults",
        "trials": "3 trials, 2 of them failed",
        "versions": "numpy 2.4",
        "machine": "Fast, 8 cores (m1), 1 thread",
    }


def test_failed_trials_come_first_with_traceback_and_output(described):
    seeds = [line.split(":")[0] for line in described.splitlines() if line.startswith("seed ")]
    assert seeds == ["seed 1", "seed 2", "seed 0"]
    first = described.partition("seed 1: ")[2].partition("\n\n")[0]
    assert first.splitlines() == [
        "ERROR: during fit: ValueError: no",
        "    | Traceback (most recent call last):",
        '    |   File "mine.py", line 7',
        "    | ValueError: no",
        "    it printed:",
        "    | so\\x1bfar",
        "    tuning tried C=1: 0.2500",
        "    tuning tried C=9: C is too \\x1b[1mlarge",
    ]


def test_a_repeated_traceback_is_shown_once(described):
    assert described.count("| ValueError: no") == 1
    assert "seed 2: ERROR: during fit: ValueError: no\n    the traceback is that of seed 1\n" in described


def test_finished_trials_show_values_warnings_and_tuning(described):
    assert described.partition("seed 0: ")[2].splitlines() == [
        "R1 0.500, train 2.00 s",
        "    slow: very",
        "    tuning tried C=1: 0.2500",
        "    tuning tried C=9: C is too \\x1b[1mlarge",
        "    tuning chose C=1",
    ]
