"""Every command and example in README and docs runs, page by page, in order."""

import os
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from doc_data import write_doc_data
from warm_command import WarmCommand

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHOWN_ONLY = ("", "text")
"""Blocks that are pictures, not examples."""
MOST_PAGES, MOST_WORDS = 30, 26_000
"""Of docs/ with the README: if one page grows, another gets shorter."""


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
        yield Block(str(page.relative_to(ROOT)), text[: match.start()].count("\n") + 1, match[1], match[2], match[3])


FIRST_RUN = list(blocks_of(ROOT / "docs" / "tutorials" / "first-run.md"))


processes = {}
"""By name, the process that forks `harness` commands."""


@pytest.fixture(scope="module", autouse=True)
def warm(tmp_path_factory):
    """Fork all `harness` commands from one process, which imports the command line once."""
    processes["warm"] = WarmCommand(tmp_path_factory.mktemp("warm"))
    yield
    processes.pop("warm").close()


def run(command, folder):
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    if command[0] == "harness":
        ended = processes["warm"].run(command[1:], folder, environment)
    else:
        ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment, check=False)
    assert ended.returncode == 0, f"{command}\n{ended.stdout}\n{ended.stderr}"
    messages[folder] = ended.stderr
    return ended.stdout


printed = {}
"""Output of a page's last command, by working folder."""
messages = {}
"""The text on standard error."""


def run_console(block, folder):
    for line in commands_of(block):
        printed[folder] = run(shlex.split(line[2:]), folder)


def commands_of(block):
    """Return the commands of a block, except those that create `.venv`: `.ci/run` runs them."""
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
    """Compare printed output except numbers and the best mark, which vary between machines."""
    found = printed[folder] + messages[folder]
    assert form_of(block.text) in form_of(found), f"{block.page}:{block.line}: it prints {found}"


def form_of(text):
    return " ".join(re.sub(r"\d[\d.,]*", "0", text).replace("*", "").split())


RUNNERS = {"console": run_console, "printed": compare_printed, "python": run_python, "toml": run_toml}


def runs_in_the_tutorial(block):
    """Return whether these are commands of the README that the first tutorial runs too."""
    own = block.page == "README.md" and block.language == "console" and commands_of(block)
    return own and any(own == commands_of(other) for other in FIRST_RUN if other.language == "console")


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_example_of_the_page_runs(page, tmp_path):
    write_doc_data(tmp_path, str(page.relative_to(ROOT)))
    for block in blocks_of(page):
        if block.file:
            assert block.text == (ROOT / block.file).read_text(), f"{page.name}:{block.line} differs from {block.file}"
        elif block.language not in SHOWN_ONLY and not runs_in_the_tutorial(block):
            RUNNERS[block.language](block, tmp_path)


def test_examples_are_found_on_the_pages():
    found = [block for page in PAGES for block in blocks_of(page)]
    assert {block.language for block in found} >= {"console", "python", "toml"}
    assert sum(block.language == "python" and block.file is None for block in found) >= 4
    assert [block.page for block in found if runs_in_the_tutorial(block)] == ["README.md"]


def test_the_readme_table_has_the_columns_of_a_real_one(tmp_path):
    command = ["harness", "run", "--learners", "ooz,pa,lomtree", "--datasets", "digits"]
    real = run([*command, "--trials", "1", "--out", str(tmp_path / "out")], tmp_path)
    heading = [line for line in real.splitlines() if line.startswith("learner ")]
    shown = [line for line in (ROOT / "README.md").read_text().splitlines() if line.startswith("learner ")]
    headings, expected = ({*" ".join(lines).split()} for lines in (heading, shown))
    assert headings | {"tree", "loss"} == expected, "in one block or in several; digits has no taxonomy"


def test_generated_pages_match_the_code():
    """Compare with the output of `python docs/generate.py`."""
    run([sys.executable, str(ROOT / "docs" / "generate.py"), "--check"], ROOT)


def test_the_documentation_stays_short():
    pages = [page for page in PAGES if page.name != "CONTRIBUTING.md"]
    assert len(pages) <= MOST_PAGES
    assert sum(len(page.read_text().split()) for page in pages) <= MOST_WORDS
