"""`harness run` killed, interrupted, rejected or out of disk space: finished trials are kept and the run resumes."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from messages import assert_names
from workspace import restore_sigint

pytestmark = pytest.mark.usefixtures("nothing_left")


def test_a_run_killed_at_any_moment_resumes_and_repeats_nothing(workspace, marked):
    """Kill many times from the first start, including while the dataset is read."""
    rounds, trials = 12 if os.environ.get("HARNESS_TEST_PROFILE") == "thorough" else 6, 30
    chance = random.Random(7)
    command = ("slow", "--trials", trials, "--out", "killed", "--jobs", 2)
    data = "topics(rows=121,classes=5,features=200)"  # it has not been read yet
    path = workspace.folder / "killed" / "records.jsonl"
    workspace.log.unlink(missing_ok=True)
    known = set(marked.alive())
    kept = []
    for number in range(rounds):
        with workspace.start(*command, data=data) as running:
            while number % 2 and (line := running.stderr.readline()) and "✓" not in line:
                pass  # every other time in the middle of trials, however long the start takes
            time.sleep(chance.uniform(0, 0.7) if number % 2 else chance.uniform(0.2, 2.0))
            running.kill()
            running.communicate()
        assert marked.left_behind(known) == {}
        now = workspace.records("killed") if path.exists() else []
        assert now[: len(kept)] == kept  # none lost, none changed
        assert len({record.key for record in now}) == len(now)
        kept = now
    assert kept
    workspace.log.unlink()
    workspace.run(*command, data=data)
    records = workspace.records("killed")
    assert records[: len(kept)] == kept
    assert sorted(record.seed for record in records) == list(range(trials))
    trained = set(map(int, workspace.log.read_text().split())) if workspace.log.exists() else set()
    assert trained == {record.seed for record in records} - {record.seed for record in kept}
    assert {record.status for record in records} == {"ok"}
    assert workspace.ranks("killed").keys() == {record.key for record in records}
    assert not (workspace.folder / "killed" / "damaged.jsonl").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "terminate"])
def test_an_interrupted_run_keeps_finished_trials_and_prints_how_to_resume(workspace, number):
    name = f"interrupted-{number}"
    command = ("slow,leaves", "--trials", 6, "--out", name)
    with workspace.start(*command) as running:
        lines = []
        while not lines or "2/12" not in lines[-1]:
            lines.append(running.stderr.readline())
            assert lines[-1], lines
        running.send_signal(number)
        _, errors = running.communicate(timeout=120)
    assert running.returncode == 130
    kept = len(workspace.records(name))
    assert 2 <= kept < 12
    assert_names(errors, f"{kept}", "12", f"{name}")
    assert "Traceback" not in errors
    done = workspace.run(*command)
    assert_names(done.stderr, f"{kept}", "12")
    assert len({record.key for record in workspace.records(name)}) == len(workspace.records(name)) == 12


def test_an_interrupt_before_the_first_trial_ends_cleanly(workspace):
    with workspace.start("slow", "--trials", 2, "--out", "early", data="topics(rows=300000)") as running:
        assert_names(running.stderr.readline(), "topics")
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=120)
    assert (running.returncode, errors.strip()) == (130, "interrupted")
    assert not (workspace.folder / "early").exists()


def test_a_second_run_into_the_same_folder_is_rejected_with_the_first_pid(workspace):
    with workspace.start("slow", "--trials", 30, "--out", "shared") as running:
        while "1/30" not in running.stderr.readline():
            assert running.poll() is None
        done = workspace.run("good", "--trials", 1, "--out", "shared", code=2)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=120)
    assert_names(done.stderr, f"{running.pid}")
    assert running.returncode == 130


def test_a_folder_that_cannot_be_created_is_a_clear_error(workspace):
    (workspace.folder / "file").write_text("")
    for folder in ("file", "/proc/nowhere"):
        done = workspace.run("good", "--out", folder, code=2)
        assert_names(done.stderr, f"{folder}")
        assert "Traceback" not in done.stderr


def test_a_full_disk_is_a_clear_error_and_loses_no_finished_trial(workspace):
    """Use a file size limit in place of a full disk."""
    command = ("good", "--trials", 9, "--out", "full")
    workspace.run("good", "--trials", 1, "--out", "before")  # the dataset has been read by then
    limited = ("bash", "-c", 'ulimit -f 8; exec "$@"', "bash")
    done = workspace.run(*command, before=limited, code=2)
    kept = len(workspace.records("full"))
    assert 0 < kept < 9
    assert_names(done.stderr, f"{kept}")
    assert_names(workspace.run(*command).stderr, f"{kept}", "9")
    assert sorted(record.seed for record in workspace.records("full")) == list(range(9))


def test_a_damaged_record_is_named_and_its_trial_runs_again(workspace):
    command = ("good", "--trials", 3, "--out", "damaged")
    workspace.run(*command)
    path = workspace.folder / "damaged" / "records.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1].replace(b'"status":"ok"', b'"status":"ko"') + lines[2][:50])
    done = workspace.run(*command)
    assert_names(done.stderr, "records.jsonl", "2")
    assert_names(done.stderr, "records.jsonl", "3", "torn")
    assert "2 trials to run" in done.stderr
    assert sorted(record.seed for record in workspace.records("damaged")) == [0, 1, 2]
    assert len((workspace.folder / "damaged" / "damaged.jsonl").read_bytes().splitlines()) == 2


def test_ctrl_c_during_imports_ends_with_a_message(workspace):
    code = "from harness_command import main; main()"
    started = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-c", code, "list"],
        cwd=workspace.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=restore_sigint,  # noqa: PLW1509  # no thread is started here
    )
    for line in started.stderr:
        if "harness.errors" in line:  # of the first modules that are imported
            break
    started.send_signal(signal.SIGINT)
    printed, rest = started.communicate(timeout=120)
    assert (started.returncode, printed) == (130, "")
    message = [line for line in rest.splitlines() if not line.startswith("import time:")]
    assert message == ["interrupted"]
