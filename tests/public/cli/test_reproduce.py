"""`harness reproduce`: published numbers next to ours, missing data, quick versions, figures, resuming."""

import json

import pytest

from command import run_harness
from internals import Session, read_paper
from messages import NOTHING_TO_RUN, assert_names

PLUGIN = """
from harness import ExperimentSpec, hookimpl


@hookimpl
def harness_experiments():
    return [
        ExperimentSpec(name="mini-table", resource="mini:mini.toml", published="mini:mini.csv", summary="a small one"),
        ExperimentSpec(name="mini-lost", resource="mini:lost.toml", published="mini:mini.csv"),
        ExperimentSpec(name="mini-parts", resource="mini:parts.toml", published="mini:parts.csv"),
        ExperimentSpec(name="mini-pair", resource="mini:pair.toml"),
    ]
"""
MINI = """
name = "mini-table"
trials = 2
curves = true
minutes = 0.5
datasets = ["digits", "rcv1"]

[absent]
web = "private data"

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
PARTS = """
name = "mini-parts"
datasets = ["few=subsample(digits, examples=400)", "some=subsample(rcv1, examples=400)"]
learners = ["pa"]

[quick]
trials = 1
"""
PAIR = """
name = "mini-pair"
trials = 1
datasets = ["few=subsample(digits, examples=400)", "more=subsample(digits, examples=500)"]
learners = ["pa"]
"""
PUBLISHED = """dataset,learner,metric,value,interval,source
digits,pa,r1,95.0%,5%,"Mini 2026, table 1"
digits,pa,train,10h,,"Mini 2026, table 1"
rcv1,pa,r1,0.8,,"Mini 2026, table 1"
web,pa,r1,0.4,,"Mini 2026, table 1"
"""
PUBLISHED_PARTS = """dataset,learner,metric,value,interval,source
few,pa,r1,95.0%,,"Mini 2026, table 2"
"""


@pytest.fixture(scope="module")
def plugins(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugins")
    package = folder / "mini"
    package.mkdir()
    (package / "__init__.py").write_text(PLUGIN)
    (package / "mini.toml").write_text(MINI)
    (package / "lost.toml").write_text('name = "mini-lost"\ndatasets = ["rcv1"]\nlearners = ["mmp"]\n')
    (package / "parts.toml").write_text(PARTS)
    (package / "pair.toml").write_text(PAIR)
    (package / "mini.csv").write_text(PUBLISHED)
    (package / "parts.csv").write_text(PUBLISHED_PARTS)
    return folder


@pytest.fixture(scope="module")
def working_folder(tmp_path_factory):
    return tmp_path_factory.mktemp("working_folder")


@pytest.fixture(scope="module")
def reproduce(plugins, working_folder, warm):
    """Return a function that runs `harness reproduce WORDS` in one folder for all tests."""

    def reproduce(*words):
        """Run `harness reproduce WORDS` in one folder for all tests, because a run takes seconds."""
        options = ("--plugins-dir", plugins)
        return run_harness("reproduce", *words, *options, cwd=working_folder, env={"COLUMNS": "200"}, warm=warm)

    return reproduce


@pytest.fixture(scope="module")
def done(reproduce):
    return reproduce("mini-table")


@pytest.fixture(scope="module")
def folder(done, working_folder):
    return working_folder / "results" / "mini-table"


def test_published_ours_difference_and_reasons_are_in_every_format(done, folder):
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
    assert_names(done.stdout, "rcv1")
    assert_names(done.stderr, "table")
    assert_names(done.stderr, "0.5")


def test_figures_are_drawn_and_failures_are_reported(done, folder):
    assert {path.name for path in folder.glob("curve.*")} == {"curve.png", "curve.svg", "curve.pdf"}
    assert_names(done.stderr, "steps")


def test_the_same_command_again_runs_nothing(reproduce, folder):
    records = (folder / "records.jsonl").read_text()
    again = reproduce("mini-table")
    assert NOTHING_TO_RUN in again.stderr
    assert (folder / "records.jsonl").read_text() == records


def test_the_quick_version_is_smaller_separate_and_marked(reproduce, working_folder):
    done = reproduce("mini-table", "--quick")
    assert done.returncode == 0, done.stderr
    assert_names(done.stdout, "QUICK")
    assert "rcv1" not in done.stdout  # it was omitted, and reported in one line
    assert_names(done.stderr, "1", "2", "rcv1")
    lines = (working_folder / "results" / "mini-table-quick" / "records.jsonl").read_text().splitlines()
    assert len(lines) == 1


def test_a_redrawn_quick_version_is_recognised_by_its_folder(reproduce):
    reproduce("mini-table", "--quick")
    done = reproduce("mini-table", "--redraw", "--out", "results/mini-table-quick")
    assert done.returncode == 0, done.stderr
    assert_names(done.stdout, "QUICK")
    assert "no results on rcv1" not in done.stderr


def test_a_full_version_is_redrawn_in_full(reproduce, folder):
    done = reproduce("mini-table", "--redraw", "--out", folder)
    assert "QUICK" not in done.stdout
    assert_names(done.stderr, "no results on rcv1", "harness data fetch rcv1")


def test_a_part_of_a_dataset_is_missing_only_if_that_has_files(reproduce, folder):
    done = reproduce("mini-parts", "--redraw", "--out", folder)
    assert_names(done.stderr, "no results on some", "harness data fetch rcv1")
    assert "few" not in done.stderr


def test_some_datasets_of_an_experiment_run_first_and_the_others_later_in_the_same_folder(reproduce, working_folder):
    records = working_folder / "results" / "mini-pair" / "records.jsonl"
    first = reproduce("mini-pair", "--datasets", "few")
    assert first.returncode == 0, first.stderr
    kept = records.read_text()
    assert [json.loads(line)["dataset"] for line in kept.splitlines()] == ["few"]
    later = reproduce("mini-pair")
    assert later.returncode == 0, later.stderr
    assert records.read_text().startswith(kept)
    assert [json.loads(line)["dataset"] for line in records.read_text().splitlines()] == ["few", "more"]
    assert_names(later.stdout, "few", "more")


def test_a_quick_version_of_some_datasets_is_redrawn_as_one(reproduce, working_folder):
    out = working_folder / "results" / "quick-few"
    assert reproduce("mini-parts", "--quick", "--datasets", "few", "--out", out).returncode == 0
    assert_names(reproduce("mini-parts", "--redraw", "--out", out).stdout, "QUICK")


def test_the_name_of_a_grid_keeps_the_members_of_a_quick_version():
    catalog = Session().catalog
    whole = read_paper("lomtree-figure", catalog, datasets=["gaussians"])
    quick = read_paper("lomtree-figure", catalog, quick=True, datasets=["gaussians"])
    largest = "gaussians(classes=10000)"
    named = read_paper("lomtree-figure", catalog, quick=True, datasets=[largest])
    assert whole.experiment.leave_out == ()
    assert quick.experiment.leave_out == (largest,)
    assert len(named.experiment.leave_out) == 3
    assert largest not in named.experiment.leave_out


def test_an_unknown_dataset_of_an_experiment_is_an_error_that_lists_them(reproduce):
    done = reproduce("mini-parts", "--datasets", "fev")
    assert done.returncode == 2
    assert_names(done.stderr, "fev", "few", "some")


def test_without_data_the_published_numbers_are_shown_and_the_exit_code_is_an_error(reproduce):
    done = reproduce("mini-lost")
    assert done.returncode == 1
    assert_names(done.stdout, "rcv1")


def test_experiments_can_be_listed(reproduce):
    done = reproduce("--list")
    assert done.returncode == 0
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("mini-table")]
    assert "0.5" in line
    assert "a small one" in line


def test_a_missing_or_unknown_name_raises_an_error_with_the_next_step(reproduce):
    assert "`harness reproduce --list`" in reproduce().stderr
    assert_names(reproduce("mini-tabel").stderr, "mini-table")
    assert "no quick version" in reproduce("mini-lost", "--quick").stderr
