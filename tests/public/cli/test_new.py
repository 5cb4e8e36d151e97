"""`harness new`: typed packages that build, install and pass their own CI; nothing is overwritten."""

import os
import subprocess
import sys

import pytest

from harness import LearnerSpec
from harness.errors import HarnessError
from internals import KINDS_OF_PACKAGES, Catalog, Entry, Origin, new_package
from messages import assert_names, naming


def test_every_kind_builds_installs_and_passes_its_own_tests(harness, tmp_path):
    pytest.importorskip("hatchling")  # the build backend of the packages
    site = tmp_path / "site"
    folders = []
    for kind in KINDS_OF_PACKAGES:
        new_package(kind, f"new-{kind}", tmp_path / f"new-{kind}")
        folders.append(str(tmp_path / f"new-{kind}"))
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-index", "--target", str(site)]
    run(["-m", "pip", "install", *options, *folders])

    run(["-m", "ruff", "check", "--quiet", *folders])
    run(["-m", "ruff", "format", "--check", "--quiet", *folders])
    modules = [f"{folder}/new_{kind}" for folder, kind in zip(folders, KINDS_OF_PACKAGES, strict=True)]
    run(["-m", "mypy", "--config-file", f"{folders[0]}/pyproject.toml", *modules])
    environment = {"PYTHONPATH": str(site)}
    tests = [f"{folder}/tests" for folder in folders]
    message = run(["-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", *tests], environment)
    assert " passed" in message
    assert "failed" not in message
    ended = harness("check", "new-learner", env=environment)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert_names(ended.stdout, "0.1")


def run(words, environment=None):
    variables = os.environ | {"PIP_DISABLE_PIP_VERSION_CHECK": "1"} | (environment or {})
    ended = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, env=variables, check=False, timeout=300
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


@pytest.mark.parametrize("kind", KINDS_OF_PACKAGES)
def test_the_files_contain_no_placeholder(tmp_path, kind):
    written = new_package(kind, "my-own", tmp_path / "here")
    places = {str(path.relative_to(tmp_path / "here")) for path in written}
    begin = KINDS_OF_PACKAGES[kind].file
    assert places == {
        "pyproject.toml",
        "README.md",
        ".github/workflows/tests.yml",
        "my_own/__init__.py",
        f"my_own/{begin}",
        "tests/test_my_own.py",
    }
    for path in written:
        text = path.read_text()
        assert "_module_" not in text
        assert "$" not in text.replace("${{ matrix.python }}", "")
        if path.suffix == ".py":
            compile(text, path, "exec")


@pytest.mark.parametrize("name", ["", "My-own", "my_own", "-own", "own-", "a--b", "1st", "über", "a b", "../own"])
def test_an_invalid_name_is_rejected(tmp_path, name):
    with pytest.raises(HarnessError, match=naming("my-own")):
        new_package("learner", name, tmp_path / "here")
    assert not (tmp_path / "here").exists()


@pytest.mark.parametrize("name", ["json", "class", "harness", "harness-own"])
def test_the_name_of_an_existing_module_is_rejected(tmp_path, name):
    with pytest.raises(HarnessError, match=naming("Python", "module")):
        new_package("metric", name, tmp_path / "here")


def test_a_name_registered_by_a_plugin_is_rejected_for_the_same_kind(tmp_path):
    taken = Catalog(learners=(Entry(LearnerSpec(name="taken", load="a:B"), Origin("p", "dist", "2.0")),))
    with pytest.raises(HarnessError, match=naming("taken", "2.0")):
        new_package("learner", "taken", tmp_path / "here", taken)
    assert new_package("metric", "taken", tmp_path / "there", taken)


def test_the_command_writes_the_folder_and_prints_the_next_step(harness, tmp_path):
    ended = harness("new", "metric", "my-own")
    assert_names(ended.stdout, "--plugins-dir", "my-own/README.md")
    assert (tmp_path / "my-own" / "my_own" / "computing.py").is_file()


def test_nothing_is_overwritten(harness, tmp_path):
    (tmp_path / "mine").mkdir()
    ended = harness("new", "learner", "my-own", "--out", "mine")
    assert ended.returncode == 2
    assert_names(ended.stderr, "--out")
    assert list((tmp_path / "mine").iterdir()) == []
