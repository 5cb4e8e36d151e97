"""The results folder keeps every finished trial and has one writer at a time."""

import json
import os
import signal
import subprocess
import sys
import textwrap

import pytest

from harness.errors import StoreError
from internals import Machine, expand_imports, open_store, read_incompatible, read_machines, read_ranks, read_records
from messages import naming
from results_folders import fill, keys, record, reopen

# -- keeping ---------------------------------------------------------------------------------------------------------


def test_appended_records_are_read_back_with_their_ranks(tmp_path):
    folder = fill(tmp_path / "deep" / "down", 3)
    assert read_records(folder) == [record(0), record(1), record(2)]
    assert [read_ranks(folder, f"k{n}") for n in range(4)] == [b"ranks of 0", b"ranks of 1", b"ranks of 2", None]


def test_a_reopened_folder_has_its_records_and_accepts_more(tmp_path):
    fill(tmp_path, 2)
    with open_store(tmp_path) as store:
        assert list(store.records.values()) == [record(0), record(1)]
        store.append(record(2))
        assert list(store.records) == ["k0", "k1", "k2"]
    assert keys(tmp_path) == ["k0", "k1", "k2"]


def test_the_last_record_of_a_key_counts(tmp_path):
    with open_store(tmp_path) as store:
        store.append(record(0, status="error"))
        store.append(record(1))
        store.append(record(0))
    assert {r.key: r.status for r in read_records(tmp_path)} == {"k0": "ok", "k1": "ok"}


def test_a_failed_record_keeps_its_message(tmp_path):
    with open_store(tmp_path) as store:
        store.append(record(0, status="error", message="m", traceback="a\nb", output="\x00\ufffd\n"))
    assert read_records(tmp_path)[0].output == "\x00\ufffd\n"


def test_the_experiment_and_every_machine_are_saved(tmp_path):
    with open_store(tmp_path) as store:
        store.describe("trials = 1\n", Machine("a", cores=2))
    with open_store(tmp_path) as store:
        store.describe("trials = 2\n", Machine("b", "Fast", 4, 2**34, "Linux"))
    assert (tmp_path / "experiment.toml").read_text() == "trials = 2\n"
    assert read_machines(tmp_path) == {"a": Machine("a", cores=2), "b": Machine("b", "Fast", 4, 2**34, "Linux")}


def test_incompatible_pairs_are_kept_until_the_next_run_into_the_folder(tmp_path):
    incompatible = ("learner 'x' cannot run on dataset 'größe': it has no taxonomy", "another line")
    with open_store(tmp_path) as store:
        store.describe("", Machine("a"), incompatible)
        assert read_incompatible(tmp_path) == incompatible
        store.describe("", Machine("a"))
        assert read_incompatible(tmp_path) == ()


def test_a_folder_without_records_is_rejected_by_name(tmp_path):
    with pytest.raises(StoreError, match=naming(f"{tmp_path}")):
        read_records(tmp_path)


# -- one writer ------------------------------------------------------------------------------------------------------

HOLD = """
    import sys, time
    from pathlib import Path
    from internals import open_store

    with open_store(Path(sys.argv[1])):
        print("held", flush=True)
        time.sleep(60)
"""


def test_a_second_writer_is_rejected_with_the_first_pid_and_a_killed_writer_holds_no_lock(tmp_path):
    command = [sys.executable, "-c", expand_imports(textwrap.dedent(HOLD)), str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreError, match=naming(f"{tmp_path}", f"{holder.pid}")):
            reopen(tmp_path)
        assert keys(tmp_path) == []  # reading is free
        holder.send_signal(signal.SIGKILL)
        holder.wait()
    with open_store(tmp_path) as store:
        store.append(record(0))
    assert int((tmp_path / "lock").read_text()) == os.getpid()


def test_a_second_writer_in_the_same_process_is_rejected(tmp_path):
    with open_store(tmp_path), pytest.raises(StoreError, match=f"process {os.getpid()}"):
        reopen(tmp_path)
    assert reopen(tmp_path) == []


def test_each_line_is_plain_json(tmp_path):
    fill(tmp_path, 1)
    (line,) = (tmp_path / "records.jsonl").read_text().splitlines()
    assert json.loads(line)["params"] == {"C": 0.1, "word": "é\u2028"}
