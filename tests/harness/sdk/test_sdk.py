"""The package as plugin authors meet it: its names, and what asking for one of them loads."""

from __future__ import annotations

import subprocess
import sys

import pytest

import harness.sdk
from harness.sdk.lazy import lazy_names


@pytest.mark.parametrize("name", harness.sdk.__all__)
def test_every_name_is_there_and_listed(name):
    assert getattr(harness.sdk, name) is not None
    assert name in dir(harness.sdk)


def test_another_name_is_missed_by_name():
    with pytest.raises(AttributeError, match=r"module 'harness\.sdk' has no attribute 'Nobody'"):
        _ = harness.sdk.Nobody


def loaded_by(code: str) -> str:
    heavy = "[name for name in ('numba', 'numpy', 'scipy', 'sklearn') if name in sys.modules]"
    command = [sys.executable, "-c", f"import sys\n{code}\nprint({heavy})"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(
    ("code", "loaded"),
    [
        ("import harness.sdk", "[]"),
        ("from harness.sdk import Classifier, rules, archive", "['numpy', 'scipy', 'sklearn']"),
        ("from harness.sdk import kernel", "['numba', 'numpy', 'scipy']"),
    ],
)
def test_a_name_loads_what_it_needs_and_no_compiler_unless_something_is_compiled(code, loaded):
    assert loaded_by(code) == loaded


def test_a_name_whose_home_is_called_like_it_is_the_module_itself():
    get, _ = lazy_names("harness.sdk", {"rules": "harness.sdk.rules", "share": "harness.sdk.rules"})
    assert get("rules").__name__ == "harness.sdk.rules"
    assert get("share")(0.5) == (True, "a number from 0 to 1")
