"""A plugin whose learner needs another version of a package than the host has, and the wheel of that version."""

import zipfile

PACKAGE, VERSION = "tabulate", "99.1"
COMMAND = "say-whether-from-the-wheel"
ASKED = f"{PACKAGE}=={VERSION}"
PLUGIN = f'''"""A learner that works with one version of a package only."""

import harness


@harness.hookimpl
def harness_learners():
    return [
        harness.LearnerSpec(name="picky", load="_picky_learner:Picky", kind="flat", environment=("{ASKED}",)),
        harness.LearnerSpec(name="hopeless", load="_picky_learner:Picky", environment=("{PACKAGE}==98.7",)),
    ]
'''
LEARNER = '''"""Imports what the host has in another version, or does not have at all."""

import subprocess

import numpy as np
import tabulate
from sklearn.base import BaseEstimator, ClassifierMixin

MARK = tabulate.ONLY_IN_THE_WHEEL


class Picky(ClassifierMixin, BaseEstimator):
    """The class whose mean row is nearest.

    Parameters
    ----------
    scale : what scores are multiplied with.
    """

    def __init__(self, *, scale: float = 1.0) -> None:
        self.scale = scale

    def fit(self, X, y):
        told = subprocess.run(["say-whether-from-the-wheel"], capture_output=True, text=True, check=True)
        assert told.stdout == "True\\n"
        self.classes_ = np.unique(y)
        self.means_ = np.vstack([np.asarray(X[y == label].mean(axis=0)).ravel() for label in self.classes_])
        return self

    def decision_function(self, X):
        squares = (self.means_**2).sum(axis=1)
        return self.scale * (2 * (X @ self.means_.T) - squares)

    def predict(self, X):
        return self.classes_[self.decision_function(X).argmax(axis=1)]
'''


def write_plugin(folder):
    """The plugin and a module beside it that is none, as its name says, in a folder for --plugins-dir."""
    folder.mkdir()
    (folder / "picky.py").write_text(PLUGIN)
    (folder / "_picky_learner.py").write_text(LEARNER)
    return folder


def write_wheel(folder, version=VERSION):
    """A wheel of a version that nobody has published: only this learner can want it."""
    folder.mkdir(exist_ok=True)
    about = f"{PACKAGE}-{version}.dist-info"
    files = {
        f"{PACKAGE}.py": "ONLY_IN_THE_WHEEL = True\n\n\ndef main():\n    print(ONLY_IN_THE_WHEEL)\n",
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: {version}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": f"[console_scripts]\n{COMMAND} = {PACKAGE}:main\n",
    }
    record = "".join(f"{name},,\n" for name in [*files, f"{about}/RECORD"])
    with zipfile.ZipFile(folder / f"{PACKAGE}-{version}-py3-none-any.whl", "w") as wheel:
        for name, content in {**files, f"{about}/RECORD": record}.items():
            wheel.writestr(name, content)
    return folder
