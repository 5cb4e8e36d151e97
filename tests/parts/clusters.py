"""Real local clusters: a scheduler and workers as processes that can be killed, stopped and started late."""

import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path


class Running:
    """A process and the process group that it leads."""

    def __init__(self, *words, log, env=None, cwd=None, before=None):
        self.log = open(log, "ab")  # noqa: SIM115 (open as long as the process runs)
        environment = os.environ | {"PYTHONUNBUFFERED": "1"} | (env or {})
        self.process = subprocess.Popen(
            [sys.executable, *words],
            stdout=self.log,
            stderr=self.log,
            env=environment,
            cwd=cwd,
            start_new_session=True,
            preexec_fn=before,  # noqa: PLW1509 (it sets a limit, and takes no lock)
        )

    @property
    def pid(self):
        return self.process.pid

    def signal(self, number):
        os.kill(self.pid, number)

    def kill(self):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGCONT)
            os.killpg(self.pid, signal.SIGKILL)
        self.process.wait()
        self.log.close()


class RealCluster:
    """A scheduler and workers by name, each in a separate process as on several machines."""

    def __init__(self, folder, *, protocol="tcp", env=None, options=()):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        self.file = self.folder / "scheduler.json"
        self.env = {"DASK_DISTRIBUTED__WORKER__DAEMON": "False"} | (env or {})
        self.workers = {}
        command = ("-m", "dask", "scheduler", "--host", f"{protocol}://127.0.0.1", "--port", "0", "--no-dashboard")
        self.scheduler = Running(
            *command, "--scheduler-file", str(self.file), *options, log=self.folder / "scheduler.log", env=self.env
        )
        wait_until(lambda: self.file.exists() and self.file.read_text().strip().endswith("}"), "the scheduler")
        self.address = json.loads(self.file.read_text())["address"]

    def start(self, *names, nanny=False, env=None, options=(), file_blocks=None):
        """Start workers, which join when ready. `file_blocks` limits the size of their files."""
        for name in names:
            command = ["-m", "dask", "worker", "--scheduler-file", str(self.file), "--name", name, "--nworkers", "1"]
            command += [
                "--nthreads",
                "1",
                "--no-dashboard",
                "--nanny" if nanny else "--no-nanny",
                "--memory-limit",
                "0",
            ]
            command += ["--local-directory", str(self.folder / "scratch"), *options]
            log = self.folder / f"{name}.log"
            limit = file_blocks and (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (file_blocks * 1024,) * 2))
            self.workers[name] = Running(*command, log=log, env=self.env | (env or {}), cwd=self.folder, before=limit)

    def kill(self, name):
        self.workers.pop(name).kill()

    def close(self):
        for name in list(self.workers):
            self.kill(name)
        self.scheduler.kill()

    def said(self):
        """Return the output of all processes, to diagnose a failure."""
        return "\n".join(f"== {log.name}\n{log.read_text()}" for log in sorted(self.folder.glob("*.log")))


def wait_until(holds, what, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"waited {seconds:g} s for {what}"
        time.sleep(0.02)


def client_of(cluster):
    from distributed import Client

    return Client(cluster.address, set_as_default=False, timeout=30)


def wait_for_workers(client, number):
    client.wait_for_workers(number, timeout=60)
