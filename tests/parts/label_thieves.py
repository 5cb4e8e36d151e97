"""Learners that search their process for the labels of the test rows.

The first feature of a row is its position in the dataset, from 1. A learner knows the labels of its training rows, and
uses them to recognise the labels of all rows.
"""

import gc
import os
import re
import sys
from pathlib import Path

import numpy as np

KNOWN = 12
"""Number of consecutive training rows whose labels are searched for."""


class Thief:
    """Predicts class 0, unless it finds the labels; `planted` is a file with labels that it loads, as a control."""

    def __init__(self, *, n_rows=0, planted="", random_state=None):
        self.n_rows, self.planted, self.random_state = n_rows, planted, random_state

    def fit(self, X, y):
        self.classes_ = np.arange(10)
        self.positions = X[:, [0]].toarray().ravel().astype(int) - 1
        self.y = np.asarray(y)
        if self.planted:
            self.labels = np.load(self.planted)
            self.handle = os.open(self.planted, os.O_RDONLY)
        return self

    def predict(self, X):
        wanted = X[:, [0]].toarray().ravel().astype(int) - 1
        for content in self.found():
            labels = self.search(content)
            if labels is not None:
                return labels[wanted].astype(np.int64)
        return np.zeros(X.shape[0], np.int64)

    def search(self, content):
        """Return the labels of all rows, if these bytes contain them as integers of some size."""
        known = np.full(self.n_rows, -1)
        known[self.positions] = self.y
        runs = [start for start in range(self.n_rows - KNOWN) if (known[start : start + KNOWN] >= 0).all()]
        for dtype in (np.int64, np.int32, np.int8):
            size = np.dtype(dtype).itemsize
            for start in runs[:3]:
                at = content.find(known[start : start + KNOWN].astype(dtype).tobytes())
                while at >= 0:
                    first = at - start * size
                    labels = np.frombuffer(content[max(first, 0) : max(first, 0) + self.n_rows * size], dtype)
                    if labels.size == self.n_rows and (labels[self.positions] == self.y).all():
                        return labels
                    at = content.find(known[start : start + KNOWN].astype(dtype).tobytes(), at + 1)
        return None

    def found(self):
        raise NotImplementedError


class StackFrames(Thief):
    def found(self):
        frame = sys._getframe()
        while frame is not None:
            for value in (*frame.f_locals.values(), *frame.f_globals.values()):
                inside = list(getattr(value, "__dict__", {}).values())
                yield from (each.tobytes() for each in (value, *inside) if isinstance(each, np.ndarray))
            frame = frame.f_back


class CollectedObjects(Thief):
    def found(self):
        reached = gc.get_objects()
        reached += gc.get_referents(*reached)
        for value in reached:
            if type(value) is np.ndarray and value.dtype != object and value.nbytes < 2**24:
                yield value.tobytes()


class OwnMemory(Thief):
    def found(self):
        lines = Path("/proc/self/maps").read_text().splitlines()
        with open("/proc/self/mem", "rb", buffering=0) as memory:
            for line in lines:
                start, end = (int(number, 16) for number in line.split()[0].split("-"))
                try:
                    memory.seek(start)
                    yield memory.read(end - start)
                except (OSError, OverflowError, ValueError):
                    continue


class OpenFiles(Thief):
    def found(self):
        for handle in os.listdir("/proc/self/fd"):
            try:
                if os.path.isfile(f"/proc/self/fd/{handle}"):
                    yield Path(f"/proc/self/fd/{handle}").read_bytes()
            except OSError:
                continue


class GivenPaths(Thief):
    """Reads all files beside and below each path in its environment, arguments, mapped files and stack frames."""

    def found(self):
        texts = [Path(f"/proc/self/{name}").read_text() for name in ("environ", "cmdline", "maps")]
        frame = sys._getframe()
        while frame is not None:
            texts.append(repr(frame.f_locals))
            frame = frame.f_back
        texts.append(repr(vars(self)))
        place = os.environ["PLACE_OF_TEST"]
        pattern = re.compile(re.escape(place) + r"[^\s\0'\",)]*")
        for text in set(pattern.findall("\n".join(texts))):
            path = Path(text)
            for file in {*path.parent.glob("*"), *path.rglob("*"), path}:
                if file.is_file() and place in str(file):
                    yield file.read_bytes()
