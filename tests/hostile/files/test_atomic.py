"""Atomic writes and locks: readers find complete files and folders, also when writers are killed or run together."""

import os
import signal
import stat
import subprocess
import sys
import textwrap
import threading

import pytest

from internals import (
    append_line,
    build_folder,
    create_file,
    expand_imports,
    is_locked,
    lock,
    publish_folder,
    remove_temporary_files,
    staged_file,
    write_file,
)


def start(code, *arguments):
    """Start a process that runs the code; it has printed a line when this returns."""
    command = [sys.executable, "-c", expand_imports(textwrap.dedent(code)), *map(str, arguments)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    return process


def kill(process):
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


# -- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", [b"new", "new", lambda stream: stream.write(b"new")])
def test_a_file_is_replaced_by_bytes_text_or_the_output_of_a_function(tmp_path, content):
    (tmp_path / "file").write_text("old")
    write_file(tmp_path / "file", content)
    assert (tmp_path / "file").read_bytes() == b"new"
    assert names(tmp_path) == ["file"]


def test_a_failed_write_leaves_the_old_content_and_no_temporary_file(tmp_path):
    def fail(stream):
        stream.write(b"half")
        raise OSError("disk full")

    (tmp_path / "file").write_text("old")
    with pytest.raises(OSError, match="disk full"):
        write_file(tmp_path / "file", fail)
    assert (tmp_path / "file").read_text() == "old"
    assert names(tmp_path) == ["file"]


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain").touch()
    write_file(tmp_path / "file", b"x")
    write_file(tmp_path / "kept", b"x", read_only=True)
    assert (tmp_path / "file").stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert stat.S_IMODE((tmp_path / "kept").stat().st_mode) == 0o444


def test_a_link_is_replaced_and_its_target_is_not_written(tmp_path):
    (tmp_path / "target").write_text("mine")
    (tmp_path / "file").symlink_to(tmp_path / "target")
    write_file(tmp_path / "file", b"new")
    assert (tmp_path / "target").read_text() == "mine"
    assert (tmp_path / "file").read_text() == "new"


@pytest.mark.parametrize("letter", ["x", "é", "語"])
def test_a_file_with_the_longest_possible_name_can_be_written(tmp_path, letter):
    path = tmp_path / (letter * (255 // len(letter.encode())))
    write_file(path, b"x")
    assert path.read_bytes() == b"x"


HALF = """
    import sys, time
    from pathlib import Path
    from internals import write_file

    def write(stream):
        stream.write(b"half")
        stream.flush()
        print("ready", flush=True)
        time.sleep(60)

    write_file(Path(sys.argv[1]), write)
"""


def test_a_killed_writer_leaves_the_old_content_and_a_file_that_can_be_recognised(tmp_path):
    (tmp_path / "file").write_text("old")
    (tmp_path / ".mine.tmp").touch()
    kill(start(HALF, tmp_path / "file"))
    assert (tmp_path / "file").read_text() == "old"
    assert len(names(tmp_path)) == 3
    remove_temporary_files(tmp_path)
    assert names(tmp_path) == [".mine.tmp", "file"]


WRITE_OFTEN = """
    import sys
    from pathlib import Path
    from internals import write_file

    print("ready", flush=True)
    while True:
        write_file(Path(sys.argv[1]), sys.argv[2].encode() * 100_000, sync=False)
"""


def test_readers_find_the_whole_content_of_one_of_several_writers_while_some_are_killed(tmp_path):
    path = tmp_path / "file"
    write_file(path, b"a" * 100_000)
    seen = set()
    for _ in range(5):
        writers = [start(WRITE_OFTEN, path, letter) for letter in "abc"]
        for _ in range(50):
            content = path.read_bytes()
            assert len(content) == 100_000
            assert len(set(content)) == 1
            seen.add(content[:1])
        for writer in writers:
            kill(writer)
    assert len(seen) > 1
    remove_temporary_files(tmp_path)
    assert names(tmp_path) == ["file"]


def test_of_two_writers_the_last_one_to_finish_wins(tmp_path):
    path = tmp_path / "file"
    with staged_file(path) as first:
        first.write_text("first")
        with staged_file(path) as second:
            second.write_text("second")
        assert path.read_text() == "second"
    assert path.read_text() == "first"
    assert names(tmp_path) == ["file"]


def test_exactly_one_of_many_creators_creates_a_file(tmp_path):
    barrier = threading.Barrier(8)
    created = []

    def create(number):
        barrier.wait()
        if create_file(tmp_path / "file", f"{number}"):
            created.append(f"{number}")

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert created == [(tmp_path / "file").read_text()]
    assert names(tmp_path) == ["file"]


FILL = """
    import os, resource, sys
    from pathlib import Path
    from internals import append_line

    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
    handle = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    print("ready", flush=True)
    try:
        for _ in range(10):
            append_line(handle, b"x" * 299 + b"\\n")
    except OSError as error:
        print(error.strerror)
"""


def test_a_line_that_does_not_fit_on_the_disk_is_not_half_there(tmp_path):
    process = start(FILL, tmp_path / "file")
    assert process.communicate()[0] == "File too large\n"
    assert (tmp_path / "file").read_bytes() == (b"x" * 299 + b"\n") * 3


def test_lines_are_appended(tmp_path):
    with (tmp_path / "file").open("ab") as file:
        append_line(file.fileno(), b"one\n")
        append_line(file.fileno(), b"two\n")
    assert (tmp_path / "file").read_bytes() == b"one\ntwo\n"


# -- folders ---------------------------------------------------------------------------------------------------------


def build(folder, content="x"):
    folder.mkdir()
    (folder / "file").write_text(content)
    return folder


def test_a_published_folder_can_be_read_only(tmp_path):
    assert publish_folder(build(tmp_path / "built"), tmp_path / "place", read_only=True)
    assert names(tmp_path) == ["place"]
    assert stat.S_IMODE((tmp_path / "place" / "file").stat().st_mode) == 0o444


def test_the_first_published_folder_stays(tmp_path):
    assert publish_folder(build(tmp_path / "built", "first"), tmp_path / "place")
    assert not publish_folder(build(tmp_path / "built", "second"), tmp_path / "place")
    assert (tmp_path / "place" / "file").read_text() == "first"


def test_a_file_in_the_way_of_a_folder_stays(tmp_path):
    (tmp_path / "place").write_text("mine")
    assert not publish_folder(build(tmp_path / "built"), tmp_path / "place")
    assert (tmp_path / "place").read_text() == "mine"


def test_a_folder_that_cannot_be_moved_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        publish_folder(build(tmp_path / "built"), tmp_path / "missing" / "place")


def test_a_folder_appears_when_it_is_complete(tmp_path):
    with build_folder(tmp_path / "place") as built:
        (built / "file").touch()
        assert not (tmp_path / "place").exists()
    assert names(tmp_path / "place") == ["file"]
    assert names(tmp_path) == ["place"]


def test_nothing_is_left_of_a_folder_that_failed_to_build(tmp_path):
    with pytest.raises(KeyError), build_folder(tmp_path / "place"):
        raise KeyError
    assert names(tmp_path) == []


def test_a_folder_that_appeared_meanwhile_is_an_error_that_names_it(tmp_path):
    with pytest.raises(FileExistsError, match="place"), build_folder(tmp_path / "place"):
        build(tmp_path / "place", "other")
    assert (tmp_path / "place" / "file").read_text() == "other"


BUILD = """
    import sys, time
    from pathlib import Path
    from internals import build_folder

    with build_folder(Path(sys.argv[1])) as built:
        (built / "file").write_text("half")
        print("ready", flush=True)
        time.sleep(60)
"""


def test_a_killed_builder_publishes_nothing(tmp_path):
    kill(start(BUILD, tmp_path / "place"))
    assert not (tmp_path / "place").exists()
    with build_folder(tmp_path / "place"):
        pass
    assert (tmp_path / "place").is_dir()


# -- locks -----------------------------------------------------------------------------------------------------------

HOLD = """
    import sys, time
    from pathlib import Path
    from internals import lock

    with lock(Path(sys.argv[1]), shared=sys.argv[2] == "shared"):
        print("ready", flush=True)
        time.sleep(60)
"""


def test_an_exclusive_lock_excludes_others_until_its_process_is_killed(tmp_path):
    path = tmp_path / "lock"
    holder = start(HOLD, path, "exclusive")
    for shared in (False, True):
        with pytest.raises(BlockingIOError), lock(path, shared=shared, wait=False):
            pass
    assert is_locked(path)
    kill(holder)
    assert not is_locked(path)
    with lock(path, wait=False):
        assert is_locked(path)


def test_shared_locks_exclude_exclusive_ones_only(tmp_path):
    path = tmp_path / "lock"
    holder = start(HOLD, path, "shared")
    with lock(path, shared=True, wait=False):
        pass
    with pytest.raises(BlockingIOError), lock(path, wait=False):
        pass
    assert is_locked(path, by_readers=True)
    assert not is_locked(path)
    kill(holder)
    assert not is_locked(path, by_readers=True)


def test_a_waiting_process_gets_the_lock_when_its_holder_is_killed(tmp_path):
    path = tmp_path / "lock"
    holder = start(HOLD, path, "exclusive")
    threading.Timer(0.5, holder.kill).start()
    with lock(path):
        assert holder.wait() == -signal.SIGKILL
    holder.stdout.close()


def test_a_link_is_not_locked(tmp_path):
    (tmp_path / "target").touch()
    (tmp_path / "lock").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="symbolic"), lock(tmp_path / "lock"):
        pass


def test_a_missing_lock_file_is_not_locked_and_not_created(tmp_path):
    assert not is_locked(tmp_path / "lock")
    assert names(tmp_path) == []
    with lock(tmp_path / "lock") as handle:
        assert os.path.samestat(os.fstat(handle), (tmp_path / "lock").stat())
