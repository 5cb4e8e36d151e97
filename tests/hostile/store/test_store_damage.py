"""Results folders that are damaged, deleted, linked or on a full disk: complete records stay, problems are named."""

import json
import os
import warnings
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from harness.errors import StoreError
from internals import Machine, open_store, read_machines, read_ranks, read_records, to_line
from messages import assert_names, naming
from results_folders import RECORD, fill, keys, record, reopen, run_python

# -- damage ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.01, 0.5, 0.999])
def test_a_truncated_last_line_is_named_and_set_aside_without_further_loss(tmp_path, share):
    fill(tmp_path, 2)
    line = to_line(record(2)).encode()
    torn = line[: max(1, int(share * len(line)))].rstrip(b"\n")
    with open(tmp_path / "records.jsonl", "ab") as file:
        file.write(torn)
    with pytest.warns(UserWarning, match=naming("records.jsonl", "3", "torn")):
        assert reopen(tmp_path, record(2)) == ["k0", "k1"]
    assert (tmp_path / "damaged.jsonl").read_bytes() == torn + b"\n"
    with warnings.catch_warnings(action="error"):
        assert keys(tmp_path) == ["k0", "k1", "k2"]


def flip(line):
    return line.replace(b'"r1":0.5', b'"r1":0.9')


@pytest.mark.parametrize(
    ("damage", "why"),
    [
        (flip, "changed since it was written"),
        (lambda line: line[:100], "incomplete"),
        (lambda line: b"\x00\xff\xfe" * 9, "incomplete"),
        (lambda line: b"{}", "no record"),
        (lambda line: line.replace(b'"key"', b'"kee"'), "changed since it was written"),
    ],
    ids=["a digit", "cut", "rubbish", "empty", "a name"],
)
def test_a_damaged_line_is_named_and_set_aside_and_its_trial_runs_again(tmp_path, damage, why):
    fill(tmp_path, 4)
    path = tmp_path / "records.jsonl"
    lines = path.read_bytes().split(b"\n")
    lines[1] = damage(lines[1])
    path.write_bytes(b"\n".join(lines))
    with pytest.warns(UserWarning, match=naming("records.jsonl", "2", f"{why}")):
        assert keys(tmp_path) == ["k0", "k2", "k3"]
    assert path.read_bytes() == b"\n".join(lines)  # reading changes nothing
    with pytest.warns(UserWarning, match=naming("records.jsonl", "2", f"{why}", "damaged.jsonl")):
        assert reopen(tmp_path, record(1)) == ["k0", "k2", "k3"]
    assert (tmp_path / "damaged.jsonl").read_bytes() == lines[1] + b"\n"
    with warnings.catch_warnings(action="error"):
        assert keys(tmp_path) == ["k0", "k2", "k3", "k1"]


@pytest.mark.parametrize("use", [keys, reopen], ids=["reading", "writing"])
def test_a_folder_with_a_record_of_a_newer_harness_is_rejected_and_unchanged(tmp_path, use):
    path = fill(tmp_path, 1) / "records.jsonl"
    with open(path, "a") as file:
        file.write(to_line(record(1, format=999)))
    before = path.read_bytes()
    with pytest.raises(StoreError, match=naming("2", "999")):
        use(tmp_path)
    assert path.read_bytes() == before
    assert not (tmp_path / "damaged.jsonl").exists()


def test_an_invalid_record_is_named_ignored_and_set_aside_by_the_next_run(tmp_path):
    path = fill(tmp_path, 2) / "records.jsonl"
    first, second = path.read_text().splitlines()
    body = first.rpartition(',"crc32":')[0].replace('"r1":0.5', '"r1":"half"') + "}"
    path.write_text(f'{body[:-1]},"crc32":"{zlib.crc32(body.encode()):08x}"}}\n{second}\n')
    with pytest.warns(UserWarning, match=naming("1", "scores.r1")):
        assert keys(tmp_path) == ["k1"]
    with pytest.warns(UserWarning, match=naming("1", "damaged.jsonl")):
        assert reopen(tmp_path, record(0)) == ["k1"]
    assert sorted(keys(tmp_path)) == ["k0", "k1"]


# -- changes of the folder by others during a run --------------------------------------------------------------------


def run_and_lose_records(folder, *later, instead=None):
    """Store two trials, delete their records, place another file `instead`, and store `later` ones."""
    with open_store(folder) as store:
        store.append(record(0))
        store.append(record(1))
        (folder / "records.jsonl").unlink()
        if instead is not None:
            (folder / "records.jsonl").write_text(instead)
        for each in later:
            store.append(each)


def test_records_deleted_during_a_run_are_written_again(tmp_path):
    with pytest.warns(UserWarning, match=naming("the", "2")):
        run_and_lose_records(tmp_path, record(2))
    assert keys(tmp_path) == ["k0", "k1", "k2"]


def test_records_deleted_after_the_last_trial_are_written_again(tmp_path):
    with pytest.warns(UserWarning, match=naming("2", "records")):
        run_and_lose_records(tmp_path)
    assert keys(tmp_path) == ["k0", "k1"]


def test_a_file_that_replaced_the_records_is_set_aside(tmp_path):
    with pytest.warns(UserWarning, match="written anew"):
        run_and_lose_records(tmp_path, record(2), instead="of another program\n")
    assert keys(tmp_path) == ["k0", "k1", "k2"]
    assert (tmp_path / "damaged.jsonl").read_text() == "of another program\n"


def test_a_folder_deleted_during_a_run_ends_the_run_with_an_error(tmp_path):
    with open_store(tmp_path / "out") as store:
        store.append(record(0))
        (tmp_path / "out").rename(tmp_path / "gone")
        with pytest.raises(StoreError, match=naming("the", "1")) as refused:
            store.append(record(1))
        (tmp_path / "gone").rename(tmp_path / "out")
    assert "safe" not in str(refused.value)
    assert keys(tmp_path / "out") == ["k0"]


@pytest.mark.parametrize("name", ["lock", "records.jsonl", "ranks"])
def test_nothing_is_written_through_a_link(tmp_path, name):
    folder, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    folder.mkdir()
    if name == "ranks":
        elsewhere.mkdir()
    else:
        elsewhere.write_text("")
    (folder / name).symlink_to(elsewhere)
    with pytest.raises(StoreError, match=naming(f"{name}", "link")), open_store(folder) as store:
        store.append(record(0), b"ranks")
    assert elsewhere.read_text() == "" if elsewhere.is_file() else not list(elsewhere.iterdir())


def test_a_link_at_a_target_path_is_not_followed(tmp_path):
    (tmp_path / "elsewhere").write_text("mine")
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "machine.json").symlink_to(tmp_path / "elsewhere")
    with open_store(tmp_path / "out") as store:
        store.describe("", Machine("a"))
    assert (tmp_path / "elsewhere").read_text() == "mine"
    assert read_machines(tmp_path / "out") == {"a": Machine("a")}


@pytest.mark.parametrize(
    "name", ["machine.json", "same_code.json", "incompatible.txt", "status.json", "lock", "ranks/k0.npy"]
)
@pytest.mark.parametrize("is_pipe", [True, False], ids=["pipe", "device"])
def test_a_pipe_or_a_device_in_place_of_a_file_is_not_read(tmp_path, name, is_pipe):
    fill(tmp_path, 1)
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path) if is_pipe else path.symlink_to("/dev/zero")
    ended = run_python(READS, tmp_path)
    assert ended.returncode == 0, ended.stderr
    named = [line for line in ended.stdout.splitlines() if "cannot be read" in line]
    assert [name in line for line in named] == [True] * (name in ("same_code.json", "ranks/k0.npy"))


READS = """
import pathlib, resource, sys
from harness.errors import HarnessError
from harness.records.store import read_incompatible, read_machines, read_ranks, read_same_code
from harness.runner.progress import read_status

resource.setrlimit(resource.RLIMIT_AS, (2**31, 2**31))
folder = pathlib.Path(sys.argv[1])
for read in (read_machines, read_same_code, read_incompatible, read_status, lambda folder: read_ranks(folder, "k0")):
    try:
        read(folder)
    except HarnessError as error:
        print(error)
"""


def test_a_damaged_machines_file_is_no_error(tmp_path):
    fill(tmp_path, 1)
    for text in ("{", "[1]", "\xff", "[" * 100_000):
        (tmp_path / "machine.json").write_bytes(text.encode("latin-1"))
        assert read_machines(tmp_path) == {}
    with open_store(tmp_path) as store:
        store.describe("", Machine("a"))
    assert read_machines(tmp_path) == {"a": Machine("a")}


def test_unknown_machine_facts_are_ignored_and_kept_in_the_file(tmp_path):
    fill(tmp_path, 1)
    written = {"a": {"id": "a", "cores": "many", "colour": "red"}, "b": ["no machine"]}
    (tmp_path / "machine.json").write_text(json.dumps(written))
    assert read_machines(tmp_path) == {"a": Machine("a")}
    with open_store(tmp_path) as store:
        store.describe("", Machine("c", "Fast"))
    assert read_machines(tmp_path) == {"a": Machine("a"), "c": Machine("c", "Fast")}
    assert written.items() <= json.loads((tmp_path / "machine.json").read_text()).items()


def test_temporary_files_of_killed_runs_are_removed_when_the_folder_is_opened(tmp_path):
    fill(tmp_path, 1)
    left = [tmp_path / ".machine.json-0123abcd.tmp", tmp_path / "ranks" / ".k1.npy-0123abcd.tmp"]
    for file in left:
        file.parent.mkdir(exist_ok=True)
        file.write_text("half")
    (tmp_path / ".notes.tmp").write_text("mine")
    with open_store(tmp_path) as store:
        assert len(store.records) == 1
    assert not any(file.exists() for file in left)
    assert (tmp_path / ".notes.tmp").read_text() == "mine"


# -- where writing fails ---------------------------------------------------------------------------------------------

FILL_UNTIL_IT_FAILS = """
    import resource, sys
    from dataclasses import replace
    from pathlib import Path
    from harness.errors import StoreError
    from internals import from_line, open_store

    folder, ranks_bytes = Path(sys.argv[1]), int(sys.argv[3])
    first = from_line(sys.argv[2])
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
    with open_store(folder) as store:
        try:
            for number in range(1000):
                store.append(replace(first, key=f"k{number}"), bytes(ranks_bytes))
        except StoreError as error:
            print(error)
        try:
            store.append(replace(first, key="small", message=""), None)
        except StoreError:
            pass
        print(len(store.records))
"""


@pytest.mark.parametrize("ranks", [10, 20_000])
def test_a_failed_write_leaves_complete_records_only(tmp_path, ranks):
    line = to_line(replace(RECORD, message="m" * 3000))
    done = run_python(FILL_UNTIL_IT_FAILS, tmp_path, line, ranks)
    assert done.stderr == ""
    message, kept = done.stdout.splitlines()
    safe = 2 if ranks == 10 else 0
    assert_names(message, f"{tmp_path}", f"{safe}")
    content = (tmp_path / "records.jsonl").read_bytes()
    assert content == b"" or content.endswith(b"\n")
    with warnings.catch_warnings(action="error"):
        found = keys(tmp_path)
    assert len(found) == int(kept) >= safe
    assert all(read_ranks(tmp_path, key) for key in found if key != "small")
    assert not list(tmp_path.rglob(".*"))


def test_a_file_in_place_of_the_folder_is_rejected(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StoreError, match=naming(f"{folder}", "--out")):
            reopen(folder)


@pytest.mark.parametrize("folder", ["/proc/nowhere", "/sys/nowhere"])
def test_an_unwritable_path_is_rejected(folder):
    with pytest.raises(StoreError, match=naming(f"{folder}", "--out")):
        reopen(Path(folder))


def test_a_folder_in_place_of_the_records_is_rejected(tmp_path):
    (tmp_path / "records.jsonl").mkdir()
    with pytest.raises(StoreError, match=r"records\.jsonl cannot be read: .*[Dd]irectory"):
        reopen(tmp_path)


def test_an_error_of_the_run_is_not_attributed_to_the_folder(tmp_path):
    with pytest.raises(BrokenPipeError), open_store(tmp_path):
        raise BrokenPipeError("the reader of the table went away")


def test_an_unwritable_experiment_file_is_a_clear_error(tmp_path):
    (tmp_path / "experiment.toml").mkdir()
    with pytest.raises(StoreError, match=f"cannot write to {tmp_path}: "), open_store(tmp_path) as store:
        store.describe("", Machine("a"))


# -- lines that another process wrote --------------------------------------------------------------------------------


def warned(*parts):
    return pytest.warns(UserWarning, match=naming(*parts))


def forge(folder, number, **changes):
    with (folder / "records.jsonl").open("a") as file:
        file.write(to_line(record(number, **changes)))


@pytest.mark.parametrize("later", [[], [2]], ids=["after the last trial", "between two trials"])
def test_a_forged_record_is_named_and_set_aside(tmp_path, later):
    with warned("line 3", "good", "topics", "not written by harness"), open_store(tmp_path) as store:
        store.append(record(0))
        store.append(record(1))
        forge(tmp_path, 0, scores={"r1": 0.01})
        for number in later:
            store.append(record(number))
    assert read_records(tmp_path) == [record(number) for number in (0, 1, *later)]
    assert '"r1":0.01' in (tmp_path / "damaged.jsonl").read_text()


def test_a_repeated_line_is_set_aside(tmp_path):
    with warned("line 3", "not written by harness"), open_store(tmp_path) as store:
        store.append(record(0, status="error"))
        store.append(record(0))
        forge(tmp_path, 0, status="error")
    assert [one.status for one in read_records(tmp_path)] == ["ok"]


def test_a_changed_line_is_written_again_even_if_its_time_was_set_back(tmp_path):
    path = tmp_path / "records.jsonl"
    with warned("line 1", "not written by harness"), open_store(tmp_path) as store:
        store.append(record(0))
        before = path.stat()
        with path.open("r+") as file:
            file.write(to_line(record(0, scores={"r1": 0.9, "edges": None})))
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        store.append(record(1))
    assert read_records(tmp_path) == [record(0), record(1)]


def test_removed_lines_are_written_again(tmp_path):
    fill(tmp_path, 3)
    with warned("lost lines", "3"), open_store(tmp_path):
        os.truncate(tmp_path / "records.jsonl", 0)
    assert keys(tmp_path) == ["k0", "k1", "k2"]


def test_a_failed_run_sets_forged_records_aside_too(tmp_path):
    def interrupted():
        with open_store(tmp_path) as store:
            store.append(record(0))
            forge(tmp_path, 1)
            raise KeyboardInterrupt

    with warned("not written by harness"), pytest.raises(KeyboardInterrupt):
        interrupted()
    assert keys(tmp_path) == ["k0"]
