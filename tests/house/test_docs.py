"""Every command and example in README and docs runs, page by page, in the order in which they stand."""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
SHOWN_ONLY = ("", "text")
"""Blocks that are pictures, not examples."""


@dataclass(frozen=True)
class Block:
    page: str
    line: int
    language: str
    file: str | None
    text: str


def blocks_of(page):
    text = page.read_text()
    for match in re.finditer(r"^```(\w*)(?: file=(\S+))?\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield Block(page.name, text[: match.start()].count("\n") + 1, match[1], match[2], match[3])


README = list(blocks_of(ROOT / "README.md"))


def run(command, folder):
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False)
    assert ended.returncode == 0, f"{command}\n{ended.stdout}\n{ended.stderr}"
    return ended.stdout


printed = {}
"""What the last command of a page printed, by the folder that it ran in."""


def run_console(block, folder):
    for line in commands_of(block):
        printed[folder] = run(shlex.split(line[2:]), folder)


def commands_of(block):
    """Set-up commands make environments; the first one is run by tests/fresh, the tests' own by CI itself."""
    lines = block.text.splitlines()
    for line in lines:
        assert line.startswith("$ "), f"{block.page}:{block.line}: {line!r} is not a command"
    return [line for line in lines if ".venv/" not in line]


def run_python(block, folder):
    name = f"example_{block.line}"
    plugins = folder / f"plugins_{block.line}"
    plugins.mkdir()
    path = plugins / f"{name}.py"
    path.write_text(block.text)
    if "@hookimpl" in block.text:
        for registered in re.findall(r'Spec\(\s*name="([\w-]+)"', block.text):
            run(["harness", "check", registered, "--plugins-dir", str(plugins)], folder)
    elif "import pytest" in block.text:
        run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)], folder)
    else:
        run([sys.executable, str(path)], folder)


def run_toml(block, folder):
    path = folder / f"experiment_{block.line}.toml"
    path.write_text(block.text)
    assert "trials," in run(["harness", "run", str(path), "--dry-run"], folder)


def compare_printed(block, folder):
    """What is shown as printed was printed, but for the numbers and who is best: other machines round otherwise."""
    assert form_of(block.text) in form_of(printed[folder]), f"{block.page}:{block.line}: it prints {printed[folder]}"


def form_of(text):
    return " ".join(re.sub(r"\d[\d.,]*", "0", text).replace("*", "").split())


RUNNERS = {"console": run_console, "printed": compare_printed, "python": run_python, "toml": run_toml}


def runs_with_the_readme(block):
    """Whether these commands, word for word, are run for the README."""
    own = block.page != "README.md" and block.language == "console" and commands_of(block)
    return own and any(own == commands_of(other) for other in README if other.language == "console")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_example_of_the_page_runs(page, tmp_path):
    for block in blocks_of(page):
        if block.file:
            assert block.text == (ROOT / block.file).read_text(), f"{page.name}:{block.line} differs from {block.file}"
        elif block.language not in SHOWN_ONLY and not runs_with_the_readme(block):
            RUNNERS[block.language](block, tmp_path)


def test_the_examples_are_really_found():
    found = [block for page in PAGES for block in blocks_of(page)]
    assert {block.language for block in found} >= {"console", "python", "toml"}
    assert sum(block.language == "python" and block.file is None for block in found) >= 4
    assert [block.page for block in found if runs_with_the_readme(block)] == ["index.md"]


def test_the_readmes_table_has_the_columns_of_a_real_one(tmp_path):
    command = ["harness", "run", "--learners", "pa,perceptron,ff", "--datasets", "digits"]
    real = run([*command, "--trials", "1", "--out", str(tmp_path / "out")], tmp_path)
    heading = [line for line in real.splitlines() if line.startswith("learner ")]
    shown = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("learner ")]
    assert {*" ".join(heading).split()} == {*" ".join(shown).split()}, "in one block or in several, as numbers are wide"


def test_the_metrics_page_names_every_metric():
    import json

    rows = json.loads(run(["harness", "list", "metrics", "--json"], ROOT))
    page = (ROOT / "docs" / "metrics.md").read_text()
    for row in rows:
        if row["origin"].startswith("manyclass-harness"):
            assert f"| `{row['name']}` |" in page
