"""The digest of a learner's code changes with every edit of the code and with nothing else."""

import subprocess
import sys

import pytest

from internals import HOST_DISTRIBUTION, Origin, code_of, expand_imports

SCRIPT = """
import sys
from internals import Origin, code_of
print(code_of(sys.argv[1], Origin("plugin", sys.argv[2], "1.0")))
"""


def digest(folder, load, distribution="nobody's"):
    """Return the digest computed in a fresh process, with a folder to import from."""
    command = [sys.executable, "-c", expand_imports(SCRIPT), load, distribution]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def written(tmp_path):
    """Return a folder with a module, one next to it, and a package with a submodule."""
    (tmp_path / "direct.py").write_text("import helper\nclass L: pass\n")
    (tmp_path / "helper.py").write_text("RATE = 1\n")
    package = tmp_path / "pkg"
    (package / "deep").mkdir(parents=True)
    (package / "__init__.py").write_text("from pkg.core import L\n")
    (package / "core.py").write_text("class L: pass\n")
    (package / "deep" / "part.py").write_text("")
    return tmp_path


@pytest.mark.parametrize(
    ("load", "file"),
    [
        ("direct:L", "direct.py"),
        ("direct:L", "helper.py"),
        ("direct:L", "pkg/core.py"),
        ("pkg:L", "pkg/__init__.py"),
        ("pkg:L", "pkg/core.py"),
        ("pkg.core:L", "pkg/deep/part.py"),
    ],
)
def test_an_edit_of_any_neighbouring_or_contained_file_changes_the_digest(written, load, file):
    before = digest(written, load)
    (written / file).write_text("changed = True\n")
    assert digest(written, load) != before


def test_a_new_file_changes_the_digest(written):
    before = digest(written, "pkg:L")
    (written / "pkg" / "more.py").write_text("RATE = 2\n")
    assert digest(written, "pkg:L") != before


CODE = """
from pkg.deep.part import rate
import numpy as np


class L:
    C: float = 1.0

    def fit(self, X, y):
        return rate(X) + self.C
"""


@pytest.mark.parametrize(
    "same",
    [
        CODE.replace("        return", "        # the update rule\n        return"),
        CODE.replace("        return", '        """Fit."""\n        return'),
        CODE.replace("    C: float = 1.0\n", '    C: float = 1.0\n    """Cost."""\n'),
        '"""A module."""\n' + CODE,
        CODE.replace("rate(X) + self.C", "(rate(X) +  self.C)"),
        CODE.replace("from pkg.deep.part import", "from .part import"),
        CODE.replace("from pkg.deep.part import", "from pkg.parts.rates import"),
    ],
    ids=["comment", "docstring", "attribute docstring", "module docstring", "layout", "relative", "moved import"],
)
def test_formatting_and_comments_do_not_change_the_digest(written, same):
    assert same != CODE
    (written / "pkg" / "core.py").write_text(CODE)
    before = digest(written, "pkg:L")
    (written / "pkg" / "core.py").write_text(same)
    assert digest(written, "pkg:L") == before


@pytest.mark.parametrize(
    "other",
    [
        CODE.replace("1.0", "1"),
        CODE.replace("1.0", "2.0"),
        CODE.replace("rate(X) + self.C", "rate(X) - self.C"),
        CODE.replace("return rate(X) + self.C", "rate(X) + self.C"),
        CODE.replace("import rate", "import slow_rate as rate"),
        CODE.replace("numpy as np", "cupy as np"),
        CODE.replace("return rate(X)", "return 'a text'\n        return rate(X)"),
    ],
)
def test_another_statement_changes_the_digest(written, other):
    assert other != CODE
    (written / "pkg" / "core.py").write_text(CODE)
    before = digest(written, "pkg:L")
    (written / "pkg" / "core.py").write_text(other)
    assert digest(written, "pkg:L") != before


def test_moving_a_definition_to_another_file_does_not_change_the_digest(written):
    (written / "pkg" / "core.py").write_text("def rate(X):\n    return 2\n\n\nclass L: pass\n")
    before = digest(written, "pkg:L")
    (written / "pkg" / "core.py").write_text("class L: pass\n")
    (written / "pkg" / "rates.py").write_text('"""Rates."""\n\n\ndef rate(X):\n    return 2\n')
    assert digest(written, "pkg:L") == before


def test_a_repeated_statement_changes_the_digest(written):
    (written / "pkg" / "core.py").write_text("RATE = 1\n")
    before = digest(written, "pkg:L")
    (written / "pkg" / "core.py").write_text("RATE = 1\nRATE = 1\n")
    assert digest(written, "pkg:L") != before


def test_an_edit_within_one_process_is_detected(written):
    script = SCRIPT + (
        "from pathlib import Path\nPath('pkg/core.py').write_text('RATE = 3')\n"
        "print(code_of(sys.argv[1], Origin('plugin', sys.argv[2], '1.0')))\n"
    )
    command = [sys.executable, "-c", expand_imports(script), "pkg:L", "nobody's"]
    first, second = subprocess.run(command, cwd=written, capture_output=True, text=True, check=True).stdout.split()
    assert first != second


def test_code_that_does_not_parse_is_digested_as_bytes(written):
    (written / "pkg" / "core.py").write_text("class L:")
    before = digest(written, "pkg:L")
    (written / "pkg" / "core.py").write_text("class M:")
    assert digest(written, "pkg:L") != before


def test_other_files_do_not_change_the_digest(written):
    before = digest(written, "pkg:L")
    (written / "pkg" / "notes.txt").write_text("later")
    (written / "pkg" / "empty.py").write_text("")
    (written / "elsewhere").mkdir()
    (written / "elsewhere" / "other.py").write_text("RATE = 2\n")
    (written / "helper.py").touch()
    assert digest(written, "pkg:L") == before


def test_the_same_code_elsewhere_has_the_same_digest(written, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "deeper"
    written.rename(other)
    first = digest(other, "pkg:L")
    second = tmp_path_factory.mktemp("again") / "z"
    other.rename(second)
    assert digest(second, "pkg:L") == first


def test_a_missing_module_still_has_a_digest(tmp_path):
    assert len(digest(tmp_path, "nowhere.to.be.found:L")) == 12


def test_an_edit_of_an_installed_distribution_changes_the_digest(tmp_path):
    """Cover every package of the distribution."""
    site = tmp_path
    (site / "learner_part").mkdir()
    (site / "learner_part" / "__init__.py").write_text("class L: pass\n")
    (site / "shared_part").mkdir()
    (site / "shared_part" / "__init__.py").write_text("RATE = 1\n")
    info = site / "third_party-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: third-party\nVersion: 1.0\n")
    (info / "RECORD").write_text("learner_part/__init__.py,,\nshared_part/__init__.py,,\n")
    before = digest(site, "learner_part:L", "third-party")
    (site / "shared_part" / "__init__.py").write_text("RATE = 2\n")
    assert digest(site, "learner_part:L", "third-party") != before


def test_learners_of_one_package_share_a_digest():
    def built_in(load):
        return code_of(load, Origin("plugin", HOST_DISTRIBUTION, "0"))

    assert built_in("harness_index.ooz:OOZ") == built_in("harness_index.ema:EMA")
    assert built_in("harness_index.ooz:OOZ") != built_in("harness_prototype.pa:PA")
