"""Jobs for executor tests: good ones and many kinds of faulty ones."""

import contextlib
import ctypes
import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from multiprocessing import resource_tracker, shared_memory


def answer(payload, send):
    send("first")
    send("second")
    return {"got": repr(payload["value"])}, b"some bytes"


def sleep(payload, send):
    start = time.monotonic()
    time.sleep(payload["seconds"])
    return [start, time.monotonic()], None


def fail(payload, send):
    send("working")
    raise ValueError("it cannot be done")


def answer_what_json_cannot_hold(payload, send):
    return {"a": object()}, None


def hang(payload, send):
    send("working")
    while True:
        time.sleep(1)


def hang_holding_the_gil(payload, send):
    send("working")
    ctypes.PyDLL(None).sleep(1000)


def hang_in_a_regular_expression(payload, send):
    send("working")
    re.match("(a|aa)+$", "a" * 200 + "b")


def ignore_all_signals(payload, send):
    send("working")
    for number in set(signal.valid_signals()) - {signal.SIGKILL, signal.SIGSTOP}:
        with contextlib.suppress(OSError):
            signal.signal(number, signal.SIG_IGN)
    while True:
        time.sleep(1)


def leave(payload, send):
    send("working")
    os._exit(payload["code"])


def kill_itself(payload, send):
    send("working")
    os.kill(os.getpid(), payload["signal"])
    time.sleep(1000)


def read_address_zero(payload, send):
    send("working")
    ctypes.string_at(0)


def kill_its_supervisor(payload, send):
    send("working")
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(1000)


def grow(payload=None, send=lambda phase: None):
    send("working")
    kept = []
    while True:
        kept.append(b"x" * 10_000_000)


def grow_in_a_child(payload, send):
    send("working")
    if os.fork() == 0:
        grow()
    time.sleep(1000)


def grow_in_an_orphan(payload, send):
    send("working")
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            grow()
        os._exit(0)
    os.wait()
    time.sleep(1000)


def print_much(payload, send):
    line = "x" * 999
    for _ in range(30_000):
        print(line)
    print("error text", file=sys.stderr)
    print("the last line")
    return {}, None


def print_much_and_fail(payload, send):
    print_much(payload, send)
    os._exit(1)


def print_broken_text(payload, send):
    os.write(1, bytes(range(256)))
    os._exit(1)


def leave_a_child(payload, send):
    if os.fork() == 0:
        time.sleep(1000)
    return {}, None


def leave_an_orphan_in_its_own_session(payload, send):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            time.sleep(1000)
        os._exit(0)
    os.wait()
    return {}, None


def leave_a_child_that_ignores_signals(payload, send):
    if os.fork() == 0:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        time.sleep(1000)
    return {}, None


def leave_a_command(payload, send):
    subprocess.Popen(["sleep", "1000"], start_new_session=True)
    return {}, None


def leave_a_child_that_forks_on(payload, send):
    if os.fork() == 0:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            if os.fork():
                time.sleep(0.002)
                os._exit(0)
    return {}, None


def leave_a_thread(payload, send):
    threading.Thread(target=time.sleep, args=(1000,)).start()
    return {}, None


def leave_children_and_hang(payload, send):
    leave_an_orphan_in_its_own_session(payload, send)
    leave_a_child_that_ignores_signals(payload, send)
    leave_a_command(payload, send)
    send("left")
    time.sleep(1000)


def answer_from_both_sides_of_a_fork(payload, send):
    child = os.fork()
    send("child" if child == 0 else "parent")
    return {"process": "child" if child == 0 else "parent"}, b"z" * 1_000_000


def close_all_files(payload, send):
    send("working")
    os.closerange(0, 1000)
    return {}, None


def replace_standard_output(payload, send):
    class Closed:
        def write(self, text):
            raise OSError("closed")

        flush = write

    sys.stdout = sys.stderr = Closed()
    return {"done": True}, None


def close_standard_output(payload, send):
    sys.stdout.close()
    sys.stderr.close()
    os.close(1)
    os.close(2)
    return {"done": True}, None


def write_on_its_line_to_the_host(payload, send):
    """Write to every open pipe except standard output."""
    send("working")
    for number in os.listdir("/proc/self/fd"):
        if int(number) > 2:
            try:
                if os.readlink(f"/proc/self/fd/{number}").startswith("pipe:"):
                    os.write(int(number), payload["words"].encode("latin-1"))
            except OSError:
                pass
    return {}, None


def count_threads(payload, send):
    return len(os.listdir("/proc/self/task")), None


def list_modules(payload, send):
    return [name for name in payload["names"] if name in sys.modules], None


def read_variable(payload, send):
    return os.environ.get(payload["variable"]), None


def count_pool_threads(payload, send):
    """Return the pools' reported sizes, and the number of threads after each pool has worked."""
    from internals import limit_threads, threads_in_force

    limit_threads(payload["threads"])
    import numpy as np
    import warm

    square = np.ones((600, 600))
    (square @ square).sum()
    total = warm.add_up(np.ones(100_000))
    return {
        "in_force": threads_in_force(),
        "total": float(total),
        "threads": len(os.listdir("/proc/self/task")),
        "omp_variable": os.environ["OMP_NUM_THREADS"],
    }, None


def show_temporary_folder(payload, send):
    """Return the temporary folder, after leaving undeletable files there."""
    folder = tempfile.mkdtemp()
    locked = os.path.join(folder, "locked")
    os.mkdir(locked)
    open(os.path.join(locked, "file"), "w").close()
    os.chmod(locked, 0o500)
    variables = [os.environ[name] for name in ("TMPDIR", "JOBLIB_TEMP_FOLDER", "MPLCONFIGDIR")]
    if payload.get("hang"):
        send(folder)
        time.sleep(1000)
    return [folder, *variables], None


def leave_shared_memory(payload, send):
    """Leave shared memory without an unlink, and return its name."""
    shared = shared_memory.SharedMemory(create=True, size=payload["size"])
    resource_tracker.unregister(shared._name, "shared_memory")
    shared.buf[:] = bytes(payload["size"])
    send(shared.name)
    time.sleep(payload["seconds"])
    return {}, None


def keep_making_shared_memory(payload, send):
    """Create files in shared memory and hold them until killed."""
    held = []
    while True:
        held.append(open(f"/dev/shm/{payload['prefix']}-{len(held)}", "wb"))  # noqa: SIM115 (held on purpose)
        held[-1].write(bytes(1000))
        held[-1].flush()
        time.sleep(0.002)


def write_to_shared_memory(payload, send):
    """Write to a file in shared memory without mapping it, so no process grows."""
    with open(f"/dev/shm/{payload['file']}", "wb") as file:
        for _ in range(300):
            file.write(bytes(1_000_000))
            time.sleep(0.001)
        time.sleep(5)
    return {}, None


def stop_its_supervisor(payload, send):
    leave_an_orphan_in_its_own_session(payload, send)
    send("working")
    time.sleep(0.2)  # until that has been passed on
    os.kill(os.getppid(), signal.SIGSTOP)
    time.sleep(1000)


def stop_its_supervisor_for_a_while(payload, send):
    os.kill(os.getppid(), signal.SIGSTOP)
    time.sleep(0.5)
    os.kill(os.getppid(), signal.SIGCONT)
    return {}, None


def kill_its_supervisor_and_leave_an_orphan(payload, send):
    leave_an_orphan_in_its_own_session(payload, send)
    leave_a_command(payload, send)
    send("working")
    time.sleep(0.2)  # until that has been passed on
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(1000)


def answer_at_length(payload, send):
    return "x" * payload["answer"], b"x" * payload["blob"]


def tune_and_fit(payload, send):
    """Tune for some seconds, then train for some."""
    send("tune 1/1")
    time.sleep(payload["tune"])
    send("fit")
    time.sleep(payload["fit"])
    return {}, None
