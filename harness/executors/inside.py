"""Inside of a job's process: set apart from all others, it runs the job's function and says what came of it."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import sys
import tempfile
import traceback
from typing import NoReturn

from harness.executors import frames
from harness.executors.base import Job
from harness.signature import import_target
from harness.system import SYSTEM

FAILED = 70
TEMPORARY = ("TMPDIR", "TMP", "TEMP", "JOBLIB_TEMP_FOLDER", "MPLCONFIGDIR")
"""Variables that name a folder for files that nobody wants to keep; joblib's would else be in shared memory."""


def be_the_job(job: Job, results: int, output: int, folder: str) -> NoReturn:
    """Run the job's function in this process; whatever it raises becomes its answer."""
    os.setsid()
    SYSTEM.die_with_parent()
    SYSTEM.offer_as_victim()
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.environ |= dict.fromkeys(TEMPORARY, folder)
    tempfile.tempdir = folder
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(output)

    job_pid = os.getpid()
    most_bytes = frames.most_bytes_of(job.blob_bytes)

    def say(tag: bytes, content: bytes) -> None:
        if len(content) > most_bytes[tag]:
            raise ValueError(f"an answer of {len(content):,} bytes is more than the {most_bytes[tag]:,} that are taken")
        if os.getpid() == job_pid:  # a child that the job forked may come along here as well
            write_all(results, frames.pack(tag, content))

    code = 0
    try:
        run = import_target(job.target)
        answer, blob = run(job.payload, lambda phase: say(frames.PHASE, phase.encode()))
        # The blob first: an answer that arrives says that all of it has.
        if blob is not None:
            say(frames.BLOB, blob)
        say(frames.RESULT, json.dumps(answer).encode())
    except BaseException:
        traceback.print_exc()
        code = FAILED
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


def write_all(handle: int, data: bytes) -> None:
    """Write everything, however small the pipe."""
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
