"""A plugin whose learner needs another version of a package than the host, and a wheel of that version."""

import base64
import hashlib
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
        harness.LearnerSpec(name="hopelessly-picky", load="_picky_learner:Picky", environment=("{PACKAGE}==98.7",)),
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
        output = subprocess.run(["say-whether-from-the-wheel"], capture_output=True, text=True, check=True)
        assert output.stdout == "True\\n"
        self.classes_ = np.unique(y)
        self.means_ = np.vstack([np.asarray(X[y == label].mean(axis=0)).ravel() for label in self.classes_])
        return self

    def decision_function(self, X):
        squares = (self.means_**2).sum(axis=1)
        return self.scale * (2 * (X @ self.means_.T) - squares)

    def predict(self, X):
        return self.classes_[self.decision_function(X).argmax(axis=1)]
'''


def write_plugin(folder, name="picky"):
    """Write the plugin, and a module next to it that is not a plugin, into a folder for --plugins-dir.

    Tests of one process load their plugins under different names.
    """
    folder.mkdir()
    (folder / f"{name}.py").write_text(PLUGIN.replace("picky", name))
    (folder / f"_{name}_learner.py").write_text(LEARNER)
    return folder


def record_hash(content):
    """Return the hash of a file in the notation of RECORD."""
    digest = hashlib.sha256(content.encode()).digest()
    return f"sha256={base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


def write_wheel(folder, version=VERSION):
    """Write a wheel of an unpublished version, which only this learner requires."""
    folder.mkdir(exist_ok=True)
    about = f"{PACKAGE}-{version}.dist-info"
    files = {
        f"{PACKAGE}.py": "ONLY_IN_THE_WHEEL = True\n\n\ndef main():\n    print(ONLY_IN_THE_WHEEL)\n",
        f"{about}/METADATA": f"Metadata-Version: 2.1\nName: {PACKAGE}\nVersion: {version}\n",
        f"{about}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{about}/entry_points.txt": f"[console_scripts]\n{COMMAND} = {PACKAGE}:main\n",
    }
    record = "".join(f"{name},{record_hash(content)},{len(content)}\n" for name, content in files.items())
    record += f"{about}/RECORD,,\n"
    with zipfile.ZipFile(folder / f"{PACKAGE}-{version}-py3-none-any.whl", "w") as wheel:
        for name, content in {**files, f"{about}/RECORD": record}.items():
            wheel.writestr(name, content)
    return folder
