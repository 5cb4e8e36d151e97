"""The plugin `intake_lines` of tests: a dataset of lines (a label and a number each), and an unused one."""

import re

import numpy as np
from scipy.sparse import csr_array

from harness import Dataset, DatasetSpec, hookimpl
from harness.errors import DataError
from internals import RawFiles

RAW = RawFiles(dataset="lines", needed="lines.txt from nobody", wanted=re.compile(r"(?:^|/)lines\.txt$"))


def load(*, source=None):
    ((_, content),) = RAW.read(source)
    rows = [line.split() for line in content.decode().splitlines()]
    if not all(len(row) == 2 for row in rows):
        raise DataError("every line must be a label and a number")
    names, y = np.unique([row[0] for row in rows], return_inverse=True)
    X = csr_array(np.array([[float(row[1])] for row in rows]))
    return Dataset(X, y, tuple(names), found=f"{len(rows)} lines")


def stamp(*, source=None):
    return RAW.stamp(source)


def load_made():
    raise AssertionError("unexpected call")


@hookimpl
def harness_datasets():
    facts = {"rows": 3, "classes": 2}
    where = {"load": "intake_lines:load", "stamp": "intake_lines:stamp"}
    lines = DatasetSpec(name="lines", **where, facts=facts, obtain="lines.txt")
    return [lines, DatasetSpec(name="made", load="intake_lines:load_made")]
