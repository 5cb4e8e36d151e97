"""The house rules, as tests: types, style, import contracts, entry points, documented hooks, files with a purpose."""

import ast
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from contracts import LAYERS, host_modules, plugin_packages, write_config
from density import density_of, sources_below, total
from harness import hooks

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = sorted(path for root in ("plugins", "datasets") for path in (ROOT / root).iterdir() if path.is_dir())
SOURCES = sorted(
    path for root in ("harness", "plugins", "datasets", "benchmarks", "tests") for path in (ROOT / root).rglob("*.py")
)
CODE = [path for path in SOURCES if path.relative_to(ROOT).parts[0] in ("harness", "plugins", "datasets")]
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


@pytest.fixture(scope="module")
def lint_imports(tmp_path_factory):
    """The command that checks contracts; who imports what is found out once for all tests."""
    return [script("lint-imports"), "--cache-dir", str(tmp_path_factory.mktemp("imports")), "--config"]


def test_imports_go_down_only(tmp_path, lint_imports):
    passes(*lint_imports, str(write_config(tmp_path / "contracts.toml")))


def test_the_contracts_notice_what_they_forbid(tmp_path, lint_imports):
    """A contract that cannot fail proves nothing: forbid what is done, and see it refused."""
    config = write_config(tmp_path / "contracts.toml")
    config.write_text(config.read_text().replace('"numba",', '"numpy",'))
    ended = subprocess.run([*lint_imports, str(config)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "numba appears only in kernels BROKEN" in ended.stdout


@pytest.mark.parametrize("root", ["harness", "plugins", "datasets"])
def test_code_is_not_too_dense(root):
    """Fewer than 6 comprehensions, ternaries, walruses and lambdas per 100 lines of code, kernels apart."""
    assert total([density_of(path) for path in sources_below(ROOT / root)]).per_hundred < 6


@pytest.mark.parametrize("path", CODE, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_is_longer_than_300_lines(path):
    assert len(path.read_text().splitlines()) <= 300


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_every_plugin_folder_has_its_entry_point(package):
    assert package.name.startswith("harness_")
    targets = PROJECT["project"]["entry-points"]["harness"].values()
    assert f"{package.name}.plugin" in targets


def test_every_module_is_in_the_layers():
    named = {name.strip() for layer in LAYERS for name in layer.split("|")}
    assert {f"harness.{name}" for name in host_modules()} == named


def test_every_plugin_is_under_the_contracts():
    assert plugin_packages() == [path.name for path in sorted(PACKAGES, key=lambda path: path.name)]


def test_source_roots_are_no_packages():
    assert not (ROOT / "plugins" / "__init__.py").exists()
    assert not (ROOT / "datasets" / "__init__.py").exists()


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_is_documented(hook):
    assert getattr(hooks, hook).__doc__
    assert f"`{hook}`" in (ROOT / "docs" / "plugins.md").read_text()


def test_there_are_five_hooks():
    assert sorted(HOOKS) == [
        *("harness_datasets", "harness_experiments", "harness_learners", "harness_metrics", "harness_representations"),
    ]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_says_what_it_is_for(path):
    assert ast.get_docstring(ast.parse(path.read_text())), f"{path} does not begin with a docstring"


def test_ci_runs_the_readmes_test_command():
    commands = [line[2:] for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("$ ")]
    (tests,) = [command for command in commands if "/bin/tox" in command]
    assert tests in (ROOT / ".ci" / "run").read_text().splitlines()
