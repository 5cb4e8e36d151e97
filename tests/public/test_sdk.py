"""The public names of harness.sdk, and the modules that each of them imports."""

from __future__ import annotations

import subprocess
import sys

import pytest

import harness.sdk
from internals import lazy_names
from messages import naming


@pytest.mark.parametrize("name", harness.sdk.__all__)
def test_every_name_exists_and_is_listed(name):
    assert getattr(harness.sdk, name) is not None
    assert name in dir(harness.sdk)


def test_an_unknown_name_raises_attribute_error_with_the_name():
    with pytest.raises(AttributeError, match=naming("harness.sdk", "Nobody")):
        _ = harness.sdk.Nobody


def loaded_by(code: str) -> str:
    heavy = ("numba", "numpy", "pandas", "pydantic", "scipy", "sklearn")
    command = [sys.executable, "-c", f"import sys\n{code}\nprint([name for name in {heavy} if name in sys.modules])"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize(
    ("code", "loaded"),
    [
        ("import harness.sdk", "[]"),
        ("import harness.cli.plugins, harness.report.tables.render", "[]"),
        ("from harness.sdk import Classifier, rules, saving", "['numpy', 'scipy', 'sklearn']"),
        ("from harness.sdk import kernel", "['numba', 'numpy', 'scipy']"),
    ],
)
def test_a_name_imports_only_what_it_needs_and_no_compiler_without_kernels(code, loaded):
    found = loaded_by(code)
    if "sklearn" in found:  # some releases import pandas
        found = found.replace("'pandas', ", "")
    assert found == loaded


def test_a_name_equal_to_its_module_is_the_module():
    rules = harness.sdk.rules.__name__
    get, _ = lazy_names("harness.sdk", {"rules": rules, "share": rules})
    assert get("rules") is harness.sdk.rules
    assert get("share")(0.5) == (True, "a number from 0 to 1")
