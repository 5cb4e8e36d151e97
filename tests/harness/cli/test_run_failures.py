"""`harness run` with a good learner in bad company: every trial has its record, and the good one its results."""

import time
from collections import Counter, defaultdict

import pytest

from place import lasting

pytestmark = pytest.mark.usefixtures("nothing_left")

TIMEOUT = 10  # what ends by itself does so long before, on a busy machine too
BAD = {  # the status of each, and words of its message
    "raises": ("error", "during fit: ValueError: it cannot be done"),
    "hangs": ("timeout", f"killed during warm-up: over the limit of {TIMEOUT} s"),
    "holds": ("timeout", f"killed during warm-up: over the limit of {TIMEOUT} s"),
    "exits": ("crash", "exit code 0 during warm-up and gave no result"),
    "killed": ("crash", "ended by SIGKILL"),
    "faults": ("crash", "ended by SIGSEGV during warm-up"),
    "grows": ("memory", "MB resident, limit 400 MB"),
    "shape": ("error", "during rank: rank gave shape"),
    "dtype": ("error", "during rank: rank gave float32, expected signed integers"),
    "wrong": ("error", "during rank: rank gave class 1000"),
    "changes": ("error", "during fit: the learner changed the training X"),
    "deadly": ("crash", "exit code 5 during import"),
}
HARMLESS = ("prints", "leaves")


@pytest.fixture(scope="module")
def company(place, marked):
    """One run over all of them, the good one in the middle; and how long it took, and what it left running."""
    names = [*BAD, *HARMLESS, "sometimes"]
    names.insert(len(names) // 2, "good")
    limits = ("--timeout", f"{TIMEOUT}s", "--memory", "400MB", "--jobs", 2)
    known = set(marked.alive())
    start = time.monotonic()
    done = place.run(",".join(names), *limits, "--trials", 2, "--out", "company", code=1)
    return done, time.monotonic() - start, marked.left_behind(known), len(names)


def test_every_planned_trial_has_one_record_with_its_status_and_reason(place, company):
    records = place.records("company")
    assert Counter(record.label for record in records) == Counter(
        {**dict.fromkeys([*BAD, *HARMLESS], 2)}
        | {
            "good": 2,
            "sometimes": 2,
        }
    )
    assert len({record.key for record in records}) == len(records)
    for record in records:
        if record.label in BAD:
            status, words = BAD[record.label]
            assert (record.label, record.status) == (record.label, status), record.message
            assert words in record.message
            assert "during " in record.message
    assert [r.status for r in records if r.label in ("good", *HARMLESS)] == ["ok"] * 6
    assert sorted(r.status for r in records if r.label == "sometimes") == ["error", "ok"]


def test_the_good_one_has_the_same_results_as_alone(place, company):
    place.run("good", "--trials", 2, "--jobs", 2, "--out", "alone")
    alone = sorted(map(str, (lasting(record) for record in place.records("alone"))))
    among = sorted(map(str, (lasting(record) for record in place.records("company") if record.label == "good")))
    assert among == alone
    ranks = place.ranks("company")
    assert {key: ranks[key] for key in place.ranks("alone")} == place.ranks("alone")


def test_nothing_is_left_running_and_the_run_ends_within_its_limits(company):
    _, seconds, left, learners = company
    assert left == {}
    assert seconds < 2 * learners * TIMEOUT + 60


def test_the_table_shows_which_failed_how_and_how_many_of_how_many(company):
    done, _, _, learners = company
    table = done.stdout.partition("Mean ±")[0]
    lines = defaultdict(str)
    for line in table.splitlines():
        lines[line.partition(" ")[0]] += line  # a wide table goes on below
    for label, (status, _) in BAD.items():
        assert f"{status.upper()} 2/2" in lines[label]
        assert "0/2" in lines[label]
    assert "1/2, ERROR 1/2" in lines["sometimes"]
    assert "2" in lines["good"].split()
    failed = 2 * len(BAD) + 1
    assert f"{failed} of {2 * learners} trials failed; `harness show company " in done.stderr
    assert "words words" not in done.stdout + done.stderr  # what learners print is not the command's own
    assert "Traceback" not in done.stderr
    assert "module 'deadly' ended the process that imported it: not preloaded" in done.stderr


def test_what_a_failed_trial_printed_or_raised_is_in_its_record(place, company):
    records = {record.label: record for record in place.records("company")}
    assert 'raise ValueError("it cannot be done")' in records["raises"].traceback
    assert records["raises"].total_seconds > 0
    assert records["hangs"].total_seconds >= TIMEOUT
    assert records["prints"].output == ""


def test_the_same_command_again_runs_nothing(place, company):
    before = (place.folder / "company" / "records.jsonl").read_bytes()
    names = [record.label for record in place.records("company") if record.seed == 0]
    done = place.run(",".join(sorted(names)), "--trials", 2, "--out", "company", code=1)
    assert (place.folder / "company" / "records.jsonl").read_bytes() == before
    assert "nothing left to run" in done.stderr
    assert "32 of 32 trials are done already" in done.stderr
    assert "25 of them failed (--retry-failed runs those again)" in done.stderr
    assert "TIMEOUT 2/2" in done.stdout
