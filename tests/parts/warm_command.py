"""A process that has imported the command line and forks a process per command.

A forked command has its own process, folder and environment; only the import time is saved. Run as a script, this file
is that process: it reads one JSON request per line.
"""

import gc
import json
import os
import select
import subprocess
import sys
from importlib import import_module
from pathlib import Path

MARK = "HARNESS_TEST_MARK"
"""Environment variable that marks the processes started by tests."""


class WarmCommand:
    """Runs commands one after another; returns their output and exit code."""

    def __init__(self, folder):
        self.streams = [folder / "stdout", folder / "stderr"]
        kept = {key: value for key, value in os.environ.items() if key != MARK}  # the process outlives the test
        self.process = subprocess.Popen(
            [sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=kept
        )

    def run(self, words, cwd, environment, seconds=300):
        order = {"words": words, "cwd": str(cwd), "environment": environment, "streams": list(map(str, self.streams))}
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], seconds)[0]:
            raise subprocess.TimeoutExpired(words, seconds)
        code = int(self.process.stdout.readline())
        return subprocess.CompletedProcess(words, code, *(path.read_text() for path in self.streams))

    def close(self):
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


def serve():
    """Fork a command for each request, and return its exit code."""
    from internals import COMMANDS, main

    for place, _ in COMMANDS.values():
        import_module(place.partition(":")[0])
    gc.freeze()  # imported modules stay shared with the forks while the collector does not touch them
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            become(order)
            main()
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def become(order):
    """Set folder, streams, environment and arguments of `python -m harness WORDS`."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    for number, path in enumerate([os.devnull, *order["streams"]]):
        file = os.open(path, flags if number else os.O_RDONLY, 0o600)
        os.dup2(file, number)
        os.close(file)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.argv = [str(Path(sys.executable).parent / "harness"), *order["words"]]
    added = filter(None, order["environment"].get("PYTHONPATH", "").split(os.pathsep))
    sys.path[:1] = [order["cwd"], *added]


if __name__ == "__main__":
    serve()
