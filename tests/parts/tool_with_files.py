"""A plugin around a made-up tool, which is installed in an environment only and writes files of its own.

It has a learner that scores, one that ranks, one that names a single class, and one that ends its process.
"""

from own_packages import ASKED

PLUGIN = f'''"""Learners by the tool."""

import harness

LEARNERS = {{"tool-scores": "Scores", "tool-ranks": "Ranks", "tool-names": "Names", "tool-dies": "Dies"}}


@harness.hookimpl
def harness_learners():
    for name, kind in LEARNERS.items():
        load, environment = f"_tool_learners:{{kind}}", ("{ASKED}",)
        yield harness.LearnerSpec(name=name, load=load, kind="flat", environment=environment)
'''
LEARNERS = '''"""Wrappers of the tool. `tabulate` stands for its package, which the host has in another version."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import tabulate
from sklearn.base import BaseEstimator, ClassifierMixin

assert tabulate.ONLY_IN_THE_WHEEL


class Means(ClassifierMixin, BaseEstimator):
    """The class whose mean row is nearest; the means are lines of a text file."""

    def __init__(self, *, scale: float = 1.0, random_state: int | None = None) -> None:
        self.scale = scale
        self.random_state = random_state

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.means_ = np.vstack([np.asarray(X[y == label].mean(axis=0)).ravel() for label in self.classes_])
        return self

    def _scores(self, X):
        return self.scale * (2 * (X @ self.means_.T) - (self.means_**2).sum(axis=1))

    def predict(self, X):
        return self.classes_[self._scores(X).argmax(axis=1)]

    def save(self, path):
        Path(path, "weights").mkdir(parents=True)
        Path(path, "about.json").write_text(json.dumps({"scale": self.scale, "classes": self.classes_.tolist()}))
        np.savetxt(Path(path, "weights", "means.txt"), self.means_)

    @classmethod
    def load(cls, path):
        about = json.loads(Path(path, "about.json").read_text())
        loaded = cls(scale=about["scale"])
        loaded.classes_ = np.array(about["classes"])
        loaded.means_ = np.loadtxt(Path(path, "weights", "means.txt"), ndmin=2)
        if os.environ.get("TOOL_WRITES"):
            Path(os.environ["TOOL_WRITES"]).write_text("changed")
        return loaded


class Scores(Means):
    """The same with the scores of all classes."""

    def decision_function(self, X):
        return self._scores(X)


class Ranks(Means):
    """The classes, best first, without scores."""

    def rank(self, X, k):
        order = np.argsort(-self._scores(X), axis=1, kind="stable")[:, :k].astype(np.int32)
        return np.pad(order, ((0, 0), (0, k - order.shape[1])), constant_values=-1)


class Names(Means):
    """The best class only."""


class Dies(Scores):
    """Raises an error for one row, and ends its process for two."""

    def decision_function(self, X):
        if X.shape[0] == 1:
            raise ValueError("one row is not enough")
        if X.shape[0] == 2:
            print("two rows are too many", file=sys.stderr, flush=True)
            os._exit(7)
        return super().decision_function(X)
'''


def write_tool_plugin(folder):
    """Write the plugin, and the module of its learners, into a folder for --plugins-dir."""
    (folder / "tools.py").write_text(PLUGIN)
    (folder / "_tool_learners.py").write_text(LEARNERS)
    return folder
