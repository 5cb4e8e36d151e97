"""`harness run` with one good learner among bad ones: every trial has a record, and the good one its results."""

import time
from collections import Counter, defaultdict

import pytest

from messages import NOTHING_TO_RUN, assert_names
from workspace import lasting

pytestmark = pytest.mark.usefixtures("nothing_left")

TIMEOUT = 10  # other learners end long before, even on a busy machine
BAD = {  # the status of each, and words of its message
    "raises": ("error", "during fit: ValueError: it cannot be done"),
    "hangs": ("timeout", f"killed during warm-up: over the limit of {TIMEOUT} s"),
    "holds": ("timeout", f"killed during warm-up: over the limit of {TIMEOUT} s"),
    "exits": ("crash", "exit code 0 during warm-up and returned no result"),
    "killed": ("crash", "ended by SIGKILL"),
    "faults": ("crash", "ended by SIGSEGV during warm-up"),
    "grows": ("memory", "MB resident, limit 400 MB"),
    "shape": ("error", "during rank: rank returned shape"),
    "dtype": ("error", "during rank: rank returned float32, expected signed integers"),
    "wrong": ("error", "during rank: rank returned class 1000"),
    "changes": ("error", "during fit: the learner changed the training X"),
    "deadly": ("crash", "exit code 5 during import"),
}
HARMLESS = ("prints", "leaves")


@pytest.fixture(scope="module")
def mixed(workspace, marked):
    """Run all learners with the good one in the middle; return duration and remaining processes."""
    names = [*BAD, *HARMLESS, "sometimes"]
    names.insert(len(names) // 2, "good")
    limits = ("--timeout", f"{TIMEOUT}s", "--memory", "400MB", "--jobs", 2)
    known = set(marked.alive())
    start = time.monotonic()
    done = workspace.run(",".join(names), *limits, "--trials", 2, "--out", "mixed", code=1)
    return done, time.monotonic() - start, marked.left_behind(known), len(names)


def test_every_planned_trial_has_one_record_with_its_status_and_reason(workspace, mixed):
    records = workspace.records("mixed")
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


def test_the_good_learner_has_the_same_results_as_alone(workspace, mixed):
    workspace.run("good", "--trials", 2, "--jobs", 2, "--out", "alone")
    alone = sorted(map(str, (lasting(record) for record in workspace.records("alone"))))
    among = sorted(map(str, (lasting(record) for record in workspace.records("mixed") if record.label == "good")))
    assert among == alone
    ranks = workspace.ranks("mixed")
    assert {key: ranks[key] for key in workspace.ranks("alone")} == workspace.ranks("alone")


def test_nothing_is_left_running_and_the_run_ends_within_its_limits(mixed):
    _, seconds, left, learners = mixed
    assert left == {}
    assert seconds < 2 * learners * TIMEOUT + 60


def test_the_table_shows_status_and_counts_of_failures(mixed):
    done, _, _, learners = mixed
    table = done.stdout.partition("Mean ±")[0]
    lines = defaultdict(str)
    for line in table.splitlines():
        lines[line.partition(" ")[0]] += line  # a wide table continues below
    for label, (status, _) in BAD.items():
        assert f"{status.upper()} 2/2" in lines[label]
        assert "0/2" in lines[label]
    assert "1/2, ERROR 1/2" in lines["sometimes"]
    assert "2" in lines["good"].split()
    failed = 2 * len(BAD) + 1
    assert_names(done.stderr, f"{failed}", f"{2 * learners}")
    assert "words words" not in done.stdout + done.stderr  # output of learners is not output of the command
    assert "Traceback (most recent" not in done.stderr
    assert_names(done.stderr, "deadly")


def test_output_and_traceback_of_a_failed_trial_are_in_its_record(workspace, mixed):
    records = {record.label: record for record in workspace.records("mixed")}
    assert 'raise ValueError("it cannot be done")' in records["raises"].traceback
    assert records["raises"].total_seconds > 0
    assert records["hangs"].total_seconds >= TIMEOUT
    assert records["prints"].output == ""


def test_the_same_command_again_runs_nothing(workspace, mixed):
    before = (workspace.folder / "mixed" / "records.jsonl").read_bytes()
    names = [record.label for record in workspace.records("mixed") if record.seed == 0]
    done = workspace.run(",".join(sorted(names)), "--trials", 2, "--out", "mixed", code=1)
    assert (workspace.folder / "mixed" / "records.jsonl").read_bytes() == before
    assert NOTHING_TO_RUN in done.stderr
    assert_names(done.stderr, "32")
    assert_names(done.stderr, "25", "--retry-failed")
    assert "TIMEOUT 2/2" in done.stdout
