"""A workspace for `harness run` in tests: good and bad plugins, a data home, a log of learners."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np

from harness_metrics.plugin import harness_metrics
from internals import from_line

PLUGIN = Path(__file__).with_name("mixed_learners.py").read_text()
DEADLY = """
import os

os._exit(5)


class Deadly:
    def __init__(self, *, random_state=None):
        pass
"""
DATA = "topics(rows=120,classes=5,features=200)"
PASSING = {
    "started",
    "machine",
    "versions",
    "commit",
    "peak_bytes",
    "base_bytes",
    "threads_in_force",
    "load",
    "processes",
}
"""Fields of a record that may differ between two runs of the same trial, in addition to times."""


def restore_sigint():
    """Restore the default SIGINT handler, which a shell disables for background jobs and their children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Workspace:
    """A folder with plugins, a data home, and a log written by learners."""

    def __init__(self, folder, warm=None):
        self.folder, self.warm = folder, warm
        self.plugins, self.log = folder / "plugins", folder / "log"
        self.plugins.mkdir()
        (self.plugins / "mixed_learners.py").write_text(PLUGIN)
        (self.plugins / "_hidden").mkdir()
        hidden = self.plugins / "_hidden"  # importable, but not a plugin
        (hidden / "deadly.py").write_text(DEADLY)
        paths = [str(hidden), *filter(None, [os.environ.get("PYTHONPATH")])]
        self.environment = os.environ | {
            "HARNESS_DATA_HOME": str(folder / "home"),
            "RUN_TEST_LOG": str(self.log),
            "PYTHONPATH": os.pathsep.join(paths),
        }

    def command(self, learners, *more, data=DATA):
        command = [sys.executable, "-m", "harness", "run", "--plugins-dir", str(self.plugins)]
        return [*command, *(["--learners", learners, "--datasets", data] if learners else []), *map(str, more)]

    def run(self, learners, *more, code=0, before=(), **options):
        """Run the command to its end; `before` has words that precede it."""
        command = self.command(learners, *more, **options)
        if self.warm is not None and not before:
            done = self.warm.run(command[command.index("run") :], self.folder, self.environment)
        else:
            done = subprocess.run(
                [*before, *command],
                cwd=self.folder,
                env=self.environment,
                capture_output=True,
                text=True,
                timeout=300,
                check=False,
                preexec_fn=restore_sigint,
            )
        assert done.returncode == code, done.stderr
        return done

    def start(self, learners, *more, **options):
        """Start the command without waiting for it."""
        return subprocess.Popen(
            self.command(learners, *more, **options),
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=restore_sigint,  # noqa: PLW1509  # no thread is started here
        )

    def records(self, name):
        """Return all records of a results folder."""
        lines = (self.folder / name / "records.jsonl").read_text().splitlines()
        return [from_line(line) for line in lines]

    def ranks(self, name):
        return {path.stem: np.load(path).tolist() for path in (self.folder / name / "ranks").glob("*.npy")}


def lasting(record):
    """Return the fields that must be equal in every run of a trial: all but times, memory and circumstances."""
    kept = {name: value for name, value in vars(record).items() if name not in PASSING and "seconds" not in name}
    timed = {spec.name for spec in harness_metrics() if spec.timed}
    kept["scores"] = {name: value for name, value in record.scores.items() if name not in timed}
    return kept
