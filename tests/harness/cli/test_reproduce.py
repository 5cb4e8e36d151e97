"""`harness reproduce`: published numbers beside ours, data that is not at hand, quick versions, figures, resuming."""

import json

import pytest

from command import run_harness

PLUGIN = """
from harness import ExperimentSpec, hookimpl


@hookimpl
def harness_experiments():
    return [
        ExperimentSpec(name="mini-table", resource="mini:mini.toml", published="mini:mini.csv", summary="a small one"),
        ExperimentSpec(name="mini-lost", resource="mini:lost.toml", published="mini:mini.csv"),
    ]
"""
MINI = """
name = "mini-table"
trials = 2
curves = true
minutes = 0.5
datasets = ["digits", "rcv1"]

[absent]
web = "nobody has it"

[quick]
trials = 1
leave_out = ["rcv1"]

[[figures]]
kind = "curve"
metric = "r1"

[[figures]]
name = "steps"
kind = "sweep"

[[learners]]
name = "pa"
params = { passes = 2 }

[[learners]]
name = "perceptron"
params = { passes = 2 }
on = ["rcv1"]
"""
PUBLISHED = """dataset,learner,metric,value,interval,source
digits,pa,r1,95.0%,5%,"Mini 2026, table 1"
digits,pa,train,10h,,"Mini 2026, table 1"
rcv1,pa,r1,0.8,,"Mini 2026, table 1"
web,pa,r1,0.4,,"Mini 2026, table 1"
"""


@pytest.fixture(scope="module")
def plugins(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugins")
    package = folder / "mini"
    package.mkdir()
    (package / "__init__.py").write_text(PLUGIN)
    (package / "mini.toml").write_text(MINI)
    (package / "lost.toml").write_text('name = "mini-lost"\ndatasets = ["rcv1"]\nlearners = ["mmp"]\n')
    (package / "mini.csv").write_text(PUBLISHED)
    return folder


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("place")


@pytest.fixture(scope="module")
def reproduce(plugins, place, warm):
    """Runs `harness reproduce WORDS` in one folder for all tests: a run takes seconds."""

    def reproduce(*words):
        options = ("--plugins-dir", plugins)
        return run_harness("reproduce", *words, *options, cwd=place, env={"COLUMNS": "200"}, warm=warm)

    return reproduce


@pytest.fixture(scope="module")
def done(reproduce):
    return reproduce("mini-table")


@pytest.fixture(scope="module")
def folder(done, place):
    return place / "results" / "mini-table"


def test_published_ours_difference_and_reasons_stand_in_every_format(done, folder):
    assert done.returncode == 0, done.stderr
    rows = json.loads((folder / "published.json").read_text())["rows"]
    cells = {(row["dataset"], row["metric"]): row for row in rows}
    ours = cells["digits", "r1"]
    assert ours["published"] == pytest.approx(0.95)
    assert ours["difference"] == pytest.approx(ours["ours"] - 0.95)
    assert ours["within"] is (abs(ours["difference"]) <= 0.05)
    assert ours["n"] == 2
    assert cells["rcv1", "r1"]["ours"] is None
    for ending in ("md", "tex", "csv", "json", "html", "txt"):
        assert "Mini 2026, table 1" in (folder / f"published.{ending}").read_text()
        assert "pa" in (folder / f"table.{ending}").read_text()
    assert "data not available: harness data fetch rcv1" in done.stdout
    assert "web is not in the table of ours: nobody has it" in done.stderr
    assert "This took about 0.5 minutes" in done.stderr


def test_figures_are_drawn_and_one_that_cannot_be_is_told(done, folder):
    assert {path.name for path in folder.glob("curve.*")} == {"curve.png", "curve.svg", "curve.pdf"}
    assert "figure steps: nothing to draw:" in done.stderr


def test_the_same_command_again_runs_nothing_twice(reproduce, folder):
    records = (folder / "records.jsonl").read_text()
    again = reproduce("mini-table")
    assert "nothing left to run" in again.stderr
    assert (folder / "records.jsonl").read_text() == records


def test_the_quick_version_is_smaller_kept_apart_and_says_so(reproduce, place):
    done = reproduce("mini-table", "--quick")
    assert done.returncode == 0, done.stderr
    assert "QUICK: not to be compared" in done.stdout
    assert "rcv1" not in done.stdout  # it was left out, and is told in a line
    assert "The quick version: 1 of 2 trials each; left out: rcv1." in done.stderr
    lines = (place / "results" / "mini-table-quick" / "records.jsonl").read_text().splitlines()
    assert len(lines) == 1


def test_with_no_data_at_hand_the_published_numbers_are_shown_and_the_code_says_that_nothing_ran(reproduce):
    done = reproduce("mini-lost")
    assert done.returncode == 1
    assert "data not available: harness data fetch rcv1" in done.stdout


def test_what_there_is_can_be_listed(reproduce):
    done = reproduce("--list")
    assert done.returncode == 0
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("mini-table")]
    assert "0.5" in line
    assert "a small one" in line


def test_without_a_name_or_with_an_unknown_one_the_next_step_is_named(reproduce):
    assert "`harness reproduce --list`" in reproduce().stderr
    assert "did you mean mini-table" in reproduce("mini-tabel").stderr
    assert "no quick version" in reproduce("mini-lost", "--quick").stderr
