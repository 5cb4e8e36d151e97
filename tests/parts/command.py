"""The real command in a separate process."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = str(Path(sys.executable).parent / "harness")
SECONDS = 300


def run_harness(*words, cwd, python=(), env=None, module=True, warm=None):
    """Run `harness WORDS`, optionally with Python options `python=[...]` and environment `env={...}`.

    A warm process forks the command, unless the test depends on its start.
    """
    kept = {key: value for key, value in os.environ.items() if key != "HARNESS_STRICT_PLUGINS"}
    environment = kept | {"COLUMNS": "1000"} | (env or {})
    words = [*map(str, words)]
    if warm is not None and module and not python:
        return warm.run(words, cwd, environment, SECONDS)
    command = [sys.executable, *python, *(["-m", "harness"] if module else [SCRIPT]), *words]
    return subprocess.run(
        command, cwd=cwd, env=environment, capture_output=True, text=True, check=False, timeout=SECONDS
    )
