"""Project rules as tests: types, style, import contracts, entry points, documented hooks, module docstrings."""

import ast
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

from compile_kernels import kernel_modules
from contracts import LAYERS, host_modules, plugin_packages, write_config
from density import density_of, sources_below, total
from internals import hooks
from repeated_code import find_repeated

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PACKAGES = sorted(path for root in ("plugins", "datasets") for path in (ROOT / root).iterdir() if path.is_dir())
SOURCES = sorted(
    path for root in ("harness", "plugins", "datasets", "benchmarks", "tests") for path in (ROOT / root).rglob("*.py")
)
CODE = [path for path in SOURCES if path.relative_to(ROOT).parts[0] in ("harness", "plugins", "datasets")]
NAMES_IN_ING = {
    "harness/report/figures/drawing.py": "a drawing is the thing: a figure as data",
    "harness/sdk/reading": "the folder of all readers of files, a public name that plugins import",
    "harness/sdk/saving.py": "a public name that plugins import",
    "plugins/harness_metrics/ranking.py": "a ranking is the thing: these metrics are computed from one",
}
"""Modules and folders whose names end in -ing, each with the reason why it is not a gerund for an action."""
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
    """Return the command that checks import contracts; its cache is shared by all tests."""
    return [script("lint-imports"), "--cache-dir", str(tmp_path_factory.mktemp("imports")), "--config"]


def test_imports_go_down_only(tmp_path, lint_imports):
    passes(*lint_imports, str(write_config(tmp_path / "contracts.toml")))


def test_the_contracts_detect_a_forbidden_import(tmp_path, lint_imports):
    """Forbid an import that exists: a contract that cannot fail proves nothing."""
    config = write_config(tmp_path / "contracts.toml")
    config.write_text(config.read_text().replace('"numba",', '"numpy",'))
    ended = subprocess.run([*lint_imports, str(config)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "numba appears only in kernels BROKEN" in ended.stdout


@pytest.mark.parametrize("root", ["harness", "plugins", "datasets"])
def test_comprehensions_and_ternaries_are_few(root):
    """Allow fewer than 6.5 comprehensions, ternaries, walruses and lambdas per 100 lines of code outside kernels."""
    assert total([density_of(path) for path in sources_below(ROOT / root)]).per_hundred < 6.5


def test_no_file_is_longer_than_600_lines():
    sources = [*CODE, *(ROOT / "tests").rglob("*.py")]
    lengths = {path: len(path.read_text().splitlines()) for path in sources}
    assert [path for path, length in lengths.items() if length > 600] == []


def test_all_kernels_are_compiled_before_the_tests():
    kernels = {path for path in CODE if path.parent.name == "kernels" and path.stem != "__init__"}
    assert {Path(find_spec(module).origin).name for module in kernel_modules()} == {path.name for path in kernels}
    assert len(kernel_modules()) == len(kernels)


def test_plugins_and_datasets_repeat_little_code():
    """Allow fewer than 10 pairs of places, kernels included.

    The hooks in `plugin.py` are lists of specs, which are alike on purpose.
    """
    paths = [path for path in CODE if path.is_relative_to(ROOT / "plugins") or path.is_relative_to(ROOT / "datasets")]
    repeated = find_repeated([path for path in paths if path.name != "plugin.py"])
    assert len(repeated) < 10, "\n".join(repeated)


def test_repeated_code_is_found_although_a_name_differs(tmp_path):
    lines = [f"total[{number}] = scale * scores[{number}] + offset" for number in range(6)]
    (tmp_path / "one.py").write_text("\n".join(['"""One."""', "import numpy", *lines]))
    (tmp_path / "two.py").write_text("\n".join(lines).replace("scale", "factor"))
    (tmp_path / "three.py").write_text("\n".join(lines[:5]))
    paths = [tmp_path / name for name in ("one.py", "two.py", "three.py")]
    assert find_repeated(paths) == [f"{paths[0]}:3-8 ~ {paths[1]}:1-6"]


def test_the_host_has_at_most_170_modules_and_8_of_them_at_its_top():
    host = ROOT / "harness"
    assert len([*host.rglob("*.py")]) <= 170, "merge a module into the one that it belongs to"
    assert len([*host.glob("*.py")]) <= 8


def test_names_that_end_in_ing_have_a_reason():
    """Allow such a name for a thing, like a drawing, and not for an action: see "How to write" in CONTRIBUTING.md."""
    places = {place for path in CODE for place in (path, *path.parents) if place.is_relative_to(ROOT)}
    found = {str(place.relative_to(ROOT)) for place in places if place.stem.endswith("ing")}
    assert found == NAMES_IN_ING.keys()
    assert len(found) < 15


@pytest.mark.parametrize("package", PACKAGES, ids=lambda path: path.name)
def test_every_plugin_folder_has_its_entry_point(package):
    assert package.name.startswith("harness_")
    targets = PROJECT["project"]["entry-points"]["harness"].values()
    assert f"{package.name}.plugin" in targets


@pytest.mark.parametrize("package", [ROOT / "harness", *PACKAGES], ids=lambda path: path.name)
def test_every_package_has_a_py_typed_marker(package):
    assert (package / "py.typed").is_file()


def test_every_module_is_in_the_layers():
    named = {name.strip() for layer in LAYERS for name in layer.split("|")}
    assert {f"harness.{name}" for name in host_modules()} == named


def test_every_plugin_is_in_the_import_contracts():
    assert plugin_packages() == [path.name for path in sorted(PACKAGES, key=lambda path: path.name)]


def test_source_roots_are_no_packages():
    assert not (ROOT / "plugins" / "__init__.py").exists()
    assert not (ROOT / "datasets" / "__init__.py").exists()


@pytest.mark.parametrize("hook", HOOKS)
def test_every_hook_is_documented(hook):
    assert getattr(hooks, hook).__doc__
    assert f"`{hook}`" in (ROOT / "docs" / "how-to" / "write-a-plugin.md").read_text()


def test_there_are_five_hooks():
    assert sorted(HOOKS) == [
        *("harness_datasets", "harness_experiments", "harness_learners", "harness_metrics", "harness_representations"),
    ]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_has_a_module_docstring(path):
    assert ast.get_docstring(ast.parse(path.read_text())), f"{path} does not begin with a docstring"


def test_tests_import_internal_modules_through_one_module():
    public = {"harness", "harness.errors", "harness.sdk", "harness.sdk.saving", "harness.sdk.rules"}
    found = {}
    for path in (ROOT / "tests").rglob("*.py"):
        internal = modules_of_harness(path) - public
        if internal:
            found[str(path.relative_to(ROOT))] = sorted(internal)
    assert found == {}


def modules_of_harness(path):
    """Return the modules of harness that a file imports; `from harness import hooks` imports harness.hooks."""
    modules = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            modules |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.add(node.module)
            modules |= {name for alias in node.names if is_module(name := f"{node.module}.{alias.name}")}
    return {module for module in modules if module.partition(".")[0] == "harness"}


def is_module(name):
    path = ROOT.joinpath(*name.split("."))
    return path.with_suffix(".py").exists() or path.is_dir()


def test_only_files_atomic_renames_publishes_and_locks():
    """Check that calls which replace files or take locks appear in files/atomic only."""
    found = {}
    for path in CODE:
        if path != ROOT / "harness" / "files" / "atomic.py":
            calls = publishing_calls(path)
            if calls:
                found[str(path.relative_to(ROOT))] = calls
    assert found == {}


def test_the_rule_detects_renamed_or_locked_files(tmp_path):
    lines = [
        "os.replace(a, b)",
        "os.rename(a, b)",
        "os.link(a, b)",
        "Path(a).rename(b)",
        "shutil.move(a, b)",
        "fcntl.flock(a, 1)",
        "fcntl.lockf(a, 1)",
        "tempfile.mkstemp()",
        "tempfile.mkdtemp()",
        "tempfile.NamedTemporaryFile(delete=False)",
        "path.with_name(b).replace(a)",
    ]
    (tmp_path / "bad.py").write_text("\n".join(lines))
    assert publishing_calls(tmp_path / "bad.py") == [f"{line}: {text}" for line, text in enumerate(lines, start=1)]
    (tmp_path / "good.py").write_text("text.replace('a', 'b')\ntempfile.NamedTemporaryFile()\nreplace(record, a=1)\n")
    assert publishing_calls(tmp_path / "good.py") == []


PUBLISHING = {"rename", "renames", "link", "hardlink_to", "move", "flock", "lockf", "mkstemp", "mkdtemp"}


def publishing_calls(path):
    """Return the calls in a file that rename, publish or lock, each with its line."""
    calls = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call) and is_publishing(node):
            calls.append(f"{node.lineno}: {ast.unparse(node)}")
    return sorted(calls, key=lambda call: int(call.partition(":")[0]))


def is_publishing(call):
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in ("replace", "rename"):  # `str.replace` has two arguments, `Path.replace` has one
        of_os = ast.unparse(call.func).startswith("os.")
        return of_os or (isinstance(call.func, ast.Attribute) and len(call.args) == 1 and not call.keywords)
    if name == "NamedTemporaryFile":
        return any(keyword.arg == "delete" for keyword in call.keywords)
    return isinstance(call.func, ast.Attribute) and name in PUBLISHING


def test_ci_runs_the_first_command_of_the_readme_and_then_its_test_command():
    commands = [line[2:] for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("$ ")]
    (tests,) = [command for command in commands if "/bin/tox" in command]
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    assert lines.index(commands[0]) < lines.index(tests)
