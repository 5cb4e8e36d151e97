"""When the host exits or is killed, none of its jobs keeps running."""

import os
import subprocess
import sys
import time

import pytest

from internals import LocalExecutor, Workplace, expand_imports
from job_runs import job


def test_closing_during_a_job_leaves_nothing_running(marked, folder):
    known = set(marked.alive())
    executor = LocalExecutor(Workplace(path=(str(folder),)))
    executor.start()
    left = []
    jobs = [job("leave_children_and_hang", timeout=None) for _ in range(3)]

    class Stop(Exception):
        pass

    def on_phase(_, phase):
        left.extend([phase] * (phase == "left"))
        if len(left) == 3:
            raise Stop

    with pytest.raises(Stop):
        list(executor.run(jobs, at_once=3, on_phase=on_phase))
    assert len(set(marked.alive()) - known) > 9
    executor.close()
    assert marked.left_behind(known, seconds=0) == {}


def test_closing_does_not_wait_for_a_preload(marked, folder, nothing_left):
    (folder / "slow_import.py").write_text("import time\ntime.sleep(1000)\n")
    executor = LocalExecutor(Workplace({"": ("slow_import",)}, path=(str(folder),)))
    executor.start()
    time.sleep(0.5)
    start = time.monotonic()
    executor.close()
    assert time.monotonic() - start < 60


HOST = """
import sys
from internals import Job, LocalExecutor, Workplace

folder, name, preload = sys.argv[1:]
jobs = [Job(f"jobs:{name}", {}) for _ in range(3)]
with LocalExecutor(Workplace({"": tuple(preload.split())}, path=(folder,))) as executor:
    print("started", flush=True)
    for _ in executor.run(jobs, at_once=3, on_phase=lambda job, phase: print(phase, flush=True)):
        pass
"""


@pytest.mark.parametrize(
    ("name", "preload", "last"),
    [
        ("leave_children_and_hang", "", "left"),
        ("leave_children_and_hang", "json", "left"),
        ("hang", "slow_import", "started"),
    ],
)
def test_a_killed_host_ends_all_its_processes(marked, folder, nothing_left, name, preload, last, tmp_path):
    (folder / "slow_import.py").write_text("import time\ntime.sleep(1000)\n")
    command = [sys.executable, "-c", expand_imports(HOST), str(folder), name, preload]
    temporary = {**os.environ, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=temporary) as host:
        wanted = 3 if last == "left" else 1
        while wanted:
            wanted -= host.stdout.readline().strip() == last
        time.sleep(0.5)
        host.kill()
        _, errors = host.communicate(timeout=120)  # all who had its files have gone
    assert errors == ""
    assert list(tmp_path.iterdir()) == []
