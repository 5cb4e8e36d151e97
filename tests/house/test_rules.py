"""The house rules, as tests: types, style, import contracts, entry points, documented hooks, files with a purpose."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from harness import hooks

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = sorted(path for root in ("plugins", "datasets") for path in (ROOT / root).iterdir() if path.is_dir())
SOURCES = sorted(
    path for root in ("harness", "plugins", "datasets", "benchmarks", "tests") for path in (ROOT / root).rglob("*.py")
)
HOOKS = [name for name in vars(hooks) if name.startswith("harness_")]


def passes(*command):
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def script(name):
    return str(Path(sys.executable).parent / name)


def test_types_are_strict():
    passes(sys.executable, "-m", "mypy")


def test_style_is_kept():
    passes(sys.executable, "-m", "ruff", "check", ".")


def test_format_is_kept():
    passes(sys.executable, "-m", "ruff", "format", "--check", ".")


def test_imports_go_down_only():
    passes(script("lint-imports"), "--no-cache")


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_every_plugin_folder_has_its_entry_point(package):
    assert package.name.startswith("harness_")
    targets = PROJECT["project"]["entry-points"]["harness"].values()
    assert f"{package.name}.plugin" in targets


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_every_plugin_folder_is_under_types_and_contracts(package):
    assert package.name in PROJECT["tool"]["mypy"]["packages"]
    assert package.name in PROJECT["tool"]["importlinter"]["root_packages"]
    for contract in PROJECT["tool"]["importlinter"]["contracts"]:
        lists = [contract.get(key, []) for key in ("modules", "source_modules", "forbidden_modules")]
        if any("harness_metrics" in names for names in lists):
            assert any(package.name in names for names in lists), contract["name"]


def test_every_module_is_in_the_layers():
    layers = PROJECT["tool"]["importlinter"]["contracts"][0]["layers"]
    named = {name.strip() for layer in layers for name in layer.split("|")}
    modules = {f"harness.{path.stem}" for path in (ROOT / "harness").iterdir() if path.stem[0] != "_"}
    assert modules == named


def test_source_roots_are_no_packages():
    assert not (ROOT / "plugins" / "__init__.py").exists()
    assert not (ROOT / "datasets" / "__init__.py").exists()


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_is_documented(hook):
    assert getattr(hooks, hook).__doc__
    assert f"`{hook}`" in (ROOT / "docs" / "plugins.md").read_text()


def test_there_are_four_hooks():
    assert sorted(HOOKS) == ["harness_datasets", "harness_experiments", "harness_learners", "harness_metrics"]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_says_what_it_is_for(path):
    assert ast.get_docstring(ast.parse(path.read_text())), f"{path} does not begin with a docstring"


def test_ci_runs_the_readmes_test_command():
    commands = [line[2:] for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("$ ")]
    (tests,) = [command for command in commands if command.endswith("/tox")]
    assert tests in (ROOT / ".ci" / "run").read_text().splitlines()
