"""Files of `harness/` that a run touches in the host process: a measure of how much a reader must know.

    python benchmarks/files_of_a_run.py [--names]

Runs three learners on digits into a temporary folder, in this process, with a profiler that notes the file of every
function called. Prints how many files were loaded, and in how many of them a function was executed. `--names` lists
them. Exits with 1 where more than `MOST_FILES` files were executed.
"""

from __future__ import annotations

import argparse
import inspect
import sys
import tempfile
import threading
from pathlib import Path
from types import FrameType

RUN = ["run", "--learners", "ooz,pa,lomtree", "--datasets", "digits", "--trials", "1"]
MOST_FILES = 60


def execute(arguments: list[str]) -> set[str]:
    """Run a command in this process; return the files in which it executed a function.

    The body of a module or of a class does not count, so importing a file does not count.
    """
    executed: set[str] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_flags & inspect.CO_OPTIMIZED:
            executed.add(frame.f_code.co_filename)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        from harness.cli import cli

        cli.main(arguments, standalone_mode=False)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return executed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", action="store_true", help="List the files.")
    names = parser.parse_args().names
    with tempfile.TemporaryDirectory() as folder:
        executed = execute([*RUN, "--out", f"{folder}/results"])
    root = Path(sys.modules["harness"].__file__ or "").parent
    all_files = sorted(str(file) for file in root.rglob("*.py"))
    loaded = {str(module.__file__) for module in list(sys.modules.values()) if getattr(module, "__file__", None)}
    ran = [file for file in all_files if file in executed]
    if names:
        for file in ran:
            print(Path(file).relative_to(root))
    n_loaded = sum(file in loaded for file in all_files)
    print(f"files of harness/: {len(all_files)}")
    print(f"loaded by a run: {n_loaded} ({n_loaded / len(all_files):.0%})")
    print(f"executed by a run: {len(ran)} ({len(ran) / len(all_files):.0%}), at most {MOST_FILES} wanted")
    return 0 if len(ran) <= MOST_FILES else 1


if __name__ == "__main__":
    sys.exit(main())
