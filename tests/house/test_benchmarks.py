"""Scripts in benchmarks/ keep up with what they measure: all can be imported, and say how they are called."""

import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
ASK_EACH = """
import contextlib, io, runpy, sys, traceback

for path in sys.argv[1:]:
    sys.argv = [path, "--help"]
    told = io.StringIO()
    code = "it went on"
    try:
        with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
            runpy.run_path(path, run_name="__main__")
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        code = traceback.format_exc()
    if "usage:" not in told.getvalue().lower() or code != 0:
        print(path, code, told.getvalue())
"""
"""One process for all of them, since what they import takes longer than they do."""


def run(*words):
    command = [sys.executable, *map(str, words)]
    done = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def scripts():
    return [path for path in sorted(BENCHMARKS.glob("*.py")) if '\nif __name__ == "__main__":\n' in path.read_text()]


def test_every_script_tells_how_it_is_called_and_does_nothing_else():
    assert len(scripts()) > 20
    assert run("-c", ASK_EACH, *scripts()) == ""


def test_what_scripts_share_can_be_imported():
    shared = [path.stem for path in sorted(BENCHMARKS.glob("*.py")) if path not in scripts()]
    run("-c", f"import {', '.join(shared)}")
