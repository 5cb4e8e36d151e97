"""`harness run` killed, interrupted, refused or out of room: what is done is kept, and the same command goes on."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest

from place import heed_ctrl_c

pytestmark = pytest.mark.usefixtures("nothing_left")


def test_killed_at_any_moment_the_same_command_goes_on_and_repeats_nothing(place, marked):
    """Many times over, from the very first start, also while the data set is being read."""
    rounds, trials = 12 if os.environ.get("HARNESS_TEST_PROFILE") == "thorough" else 6, 30
    chance = random.Random(7)
    command = ("slow", "--trials", trials, "--out", "killed", "--jobs", 2)
    data = "topics(rows=121,classes=5,features=200)"  # nobody has read it yet
    path = place.folder / "killed" / "records.jsonl"
    place.log.unlink(missing_ok=True)
    known = set(marked.alive())
    kept = []
    for number in range(rounds):
        with place.start(*command, data=data) as running:
            while number % 2 and (line := running.stderr.readline()) and "✓" not in line:
                pass  # every other time in the middle of trials, however long the start takes
            time.sleep(chance.uniform(0, 0.7) if number % 2 else chance.uniform(0.2, 2.0))
            running.kill()
            running.communicate()
        assert marked.left_behind(known) == {}
        now = place.records("killed") if path.exists() else []
        assert now[: len(kept)] == kept  # none lost, none changed
        assert len({record.key for record in now}) == len(now)
        kept = now
    assert kept
    place.log.unlink()
    place.run(*command, data=data)
    records = place.records("killed")
    assert records[: len(kept)] == kept
    assert sorted(record.seed for record in records) == list(range(trials))
    trained = set(map(int, place.log.read_text().split())) if place.log.exists() else set()
    assert trained == {record.seed for record in records} - {record.seed for record in kept}
    assert {record.status for record in records} == {"ok"}
    assert place.ranks("killed").keys() == {record.key for record in records}
    assert not (place.folder / "killed" / "damaged.jsonl").exists()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "terminate"])
def test_an_interrupted_run_keeps_what_is_done_and_says_how_to_go_on(place, number):
    name = f"interrupted-{number}"
    command = ("slow,leaves", "--trials", 6, "--out", name)
    with place.start(*command) as running:
        lines = []
        while not lines or "2/12" not in lines[-1]:
            lines.append(running.stderr.readline())
            assert lines[-1], lines
        running.send_signal(number)
        _, errors = running.communicate(timeout=120)
    assert running.returncode == 130
    kept = len(place.records(name))
    assert 2 <= kept < 12
    assert f"interrupted: {kept} of 12 trials are kept in {name}; the same command goes on from there" in errors
    assert "Traceback" not in errors
    done = place.run(*command)
    assert f"{kept} of 12 trials are done already" in done.stderr
    assert len({record.key for record in place.records(name)}) == len(place.records(name)) == 12


def test_an_interrupt_before_the_first_trial_ends_cleanly_too(place):
    with place.start("slow", "--trials", 2, "--out", "early", data="topics(rows=300000)") as running:
        assert running.stderr.readline().startswith("reading data set topics")
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=120)
    assert (running.returncode, errors.strip()) == (130, "interrupted")
    assert not (place.folder / "early").exists()


def test_a_second_run_into_the_same_folder_is_refused_with_the_first_ones_pid(place):
    with place.start("slow", "--trials", 30, "--out", "shared") as running:
        while "1/30" not in running.stderr.readline():
            assert running.poll() is None
        done = place.run("good", "--trials", 1, "--out", "shared", code=2)
        running.send_signal(signal.SIGINT)
        running.communicate(timeout=120)
    assert f"shared is being written by process {running.pid}: " in done.stderr
    assert running.returncode == 130


def test_a_folder_that_cannot_be_made_is_a_clear_error(place):
    (place.folder / "file").write_text("")
    for folder in ("file", "/proc/nowhere"):
        done = place.run("good", "--out", folder, code=2)
        assert f"harness: cannot write to {folder}: " in done.stderr
        assert "Traceback" not in done.stderr


def test_a_disk_that_gets_full_is_a_clear_error_and_costs_no_finished_trial(place):
    """The limit on a file's size stands in for the disk's."""
    command = ("good", "--trials", 9, "--out", "full")
    place.run("good", "--trials", 1, "--out", "before")  # so that the data set is read already
    limited = ("bash", "-c", 'ulimit -f 8; exec "$@"', "bash")
    done = place.run(*command, before=limited, code=2)
    kept = len(place.records("full"))
    assert 0 < kept < 9
    assert (
        f"harness: cannot write to full: File too large; the {kept} trials before are safe: "
        "make room and give the same command again\n"
    ) in done.stderr
    assert f"{kept} of 9 trials are done already" in place.run(*command).stderr
    assert sorted(record.seed for record in place.records("full")) == list(range(9))


def test_a_damaged_record_is_named_and_its_trial_runs_again(place):
    command = ("good", "--trials", 3, "--out", "damaged")
    place.run(*command)
    path = place.folder / "damaged" / "records.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1].replace(b'"status":"ok"', b'"status":"ko"') + lines[2][:50])
    done = place.run(*command)
    assert "records.jsonl, line 2: changed since it was written" in done.stderr
    assert "records.jsonl, line 3: torn" in done.stderr
    assert "2 trials to run" in done.stderr
    assert sorted(record.seed for record in place.records("damaged")) == [0, 1, 2]
    assert len((place.folder / "damaged" / "damaged.jsonl").read_bytes().splitlines()) == 2


def test_ctrl_c_while_the_command_is_still_imported_ends_in_a_word(place):
    code = "from harness_command import main; main()"
    started = subprocess.Popen(
        [sys.executable, "-X", "importtime", "-c", code, "list"],
        cwd=place.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heed_ctrl_c,  # noqa: PLW1509  # no thread is started here
    )
    for line in started.stderr:
        if "harness.errors" in line:  # of the first modules that are imported
            break
    started.send_signal(signal.SIGINT)
    printed, rest = started.communicate(timeout=120)
    assert (started.returncode, printed) == (130, "")
    told = [line for line in rest.splitlines() if not line.startswith("import time:")]
    assert told == ["interrupted"]
