"""The digest of a learner's code: an edit anywhere in it makes new trials, and nothing else does."""

import subprocess
import sys

import pytest

from harness.catalog import HOST_DISTRIBUTION, Origin
from harness.code import code_of

SCRIPT = """
import sys
from harness.catalog import Origin
from harness.code import code_of
print(code_of(sys.argv[1], Origin("plugin", sys.argv[2], "1.0")))
"""


def digest(folder, load, distribution="nobody's"):
    """The digest as a fresh process finds it, with a folder to import from."""
    command = [sys.executable, "-c", SCRIPT, load, distribution]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def written(tmp_path):
    """A folder with a module, one beside it, and a package with a part of its own."""
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
def test_an_edit_of_any_file_beside_or_within_changes_it(written, load, file):
    before = digest(written, load)
    (written / file).write_text("changed = True\n")
    assert digest(written, load) != before


def test_a_new_file_changes_it(written):
    before = digest(written, "pkg:L")
    (written / "pkg" / "more.py").write_text("")
    assert digest(written, "pkg:L") != before


def test_what_is_no_code_does_not_change_it(written):
    before = digest(written, "pkg:L")
    (written / "pkg" / "notes.txt").write_text("later")
    (written / "elsewhere").mkdir()
    (written / "elsewhere" / "other.py").write_text("")
    (written / "helper.py").touch()
    assert digest(written, "pkg:L") == before


def test_the_same_code_elsewhere_has_the_same_digest(written, tmp_path_factory):
    other = tmp_path_factory.mktemp("other") / "deeper"
    written.rename(other)
    first = digest(other, "pkg:L")
    second = tmp_path_factory.mktemp("again") / "z"
    other.rename(second)
    assert digest(second, "pkg:L") == first


def test_a_module_that_cannot_be_found_has_a_digest_all_the_same(tmp_path):
    assert len(digest(tmp_path, "nowhere.to.be.found:L")) == 12


def test_an_edit_in_place_of_an_installed_distribution_changes_it(tmp_path):
    """Whatever package of the distribution the learner's own is."""
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


def test_learners_of_one_package_share_it_and_those_of_another_do_not():
    def built_in(load):
        return code_of(load, Origin("plugin", HOST_DISTRIBUTION, "0"))

    assert built_in("harness_index.ooz:OOZ") == built_in("harness_index.ema:EMA")
    assert built_in("harness_index.ooz:OOZ") != built_in("harness_prototype.pa:PA")
