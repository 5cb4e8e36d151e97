"""Results folders for tests: numbered records, folders with records, and programs in separate processes."""

import subprocess
import sys
import textwrap
from dataclasses import replace

from internals import Record, expand_imports, open_store, parse_split, read_records

RECORD = Record(
    key="k0",
    status="ok",
    label="good",
    family="good",
    learner="good",
    learner_kind="flat",
    learner_distribution="here",
    learner_version="1",
    params={"C": 0.1, "word": "é\u2028"},
    dataset="topics",
    dataset_family="topics",
    dataset_params={},
    fingerprint="f",
    representation="tfidf",
    split=parse_split("holdout:0.1"),
    number=0,
    seed=0,
    depth=10,
    scores={"r1": 0.5, "edges": None},
)


def record(number, **changes):
    return replace(RECORD, key=f"k{number}", number=number, seed=number, **changes)


def fill(folder, count):
    """Write a folder with this many finished trials."""
    with open_store(folder) as store:
        for number in range(count):
            store.append(record(number), f"ranks of {number}".encode())
    return folder


def reopen(folder, *more):
    """Open a folder for writing, add records, and return the keys known before."""
    with open_store(folder) as store:
        known = list(store.records)
        for one in more:
            store.append(one)
    return known


def keys(folder):
    return [r.key for r in read_records(folder)]


def run_python(code, *arguments, **options):
    """Run a program in a separate process."""
    command = [sys.executable, "-c", expand_imports(textwrap.dedent(code)), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, **options)
