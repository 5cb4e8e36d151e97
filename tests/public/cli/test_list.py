"""`harness list` and `harness plugins` as text and as JSON, without importing a learner."""

import json

import pytest

from harness import __version__
from messages import assert_names

KINDS = ("learners", "datasets", "metrics", "experiments")


def by_name(ended):
    assert ended.returncode == 0, ended.stderr
    return {row["name"]: row for row in json.loads(ended.stdout)}


def test_learners_are_listed_with_kind_parameters_summary_and_origin(harness):
    row = by_name(harness("list", "learners", "--json"))["pa"]
    assert row["kind"] == "flat"
    assert row["parameters"]["C"] == 0.1
    assert row["parameters"]["random_state"] is None
    assert row["summary"]
    assert row["origin"] == f"manyclass-harness {__version__}"


def test_learners_are_listed_with_the_values_of_their_papers(harness):
    rows = by_name(harness("list", "learners", "--json"))
    assert rows["ema"]["paper"] == {"beta": 0.6, "delta": 7.0, "d": 25, "passes": 30}
    assert rows["mmp"]["paper"] == {}


def test_learners_are_listed_with_what_they_need_and_support(harness):
    rows = by_name(harness("list", "learners", "--json"))
    assert (rows["mmp"]["needs"], rows["mmp"]["supports"]) == ([], ["multilabel"])
    assert rows["topdown-svm"]["needs"] == ["taxonomy"]


def test_datasets_are_listed_with_parameters_representation_and_licence(harness):
    rows = by_name(harness("list", "datasets", "--json"))
    assert {"icd10cm", "digits", "topics"} <= rows.keys()
    assert rows["topics"]["parameters"]["rows"] == 2000
    assert rows["digits"]["parameters"] == {}
    assert rows["digits"]["representation"] == "tf"
    assert all(row["licence"] for row in rows.values())


def test_metrics_are_listed_with_title_unit_and_direction(harness):
    rows = by_name(harness("list", "metrics", "--json"))
    assert (rows["r1"]["title"], rows["r1"]["unit"], rows["r1"]["better"], rows["r1"]["shown"]) == (
        "R1",
        "share",
        "higher",
        True,
    )
    assert (rows["peak"]["unit"], rows["peak"]["better"], rows["peak"]["shown"]) == ("bytes", "lower", False)


def test_experiments_are_listed(harness):
    assert by_name(harness("list", "experiments", "--json"))["pa-steps"]["summary"]


def test_plugins_are_listed_with_distribution_version_and_status(harness):
    rows = by_name(harness("plugins", "--json"))
    assert {"metrics", "papers", "prototype", "synthetic", "text", "vectors"} <= rows.keys()
    assert rows["prototype"].pop("seconds") < 60
    assert rows["prototype"] == {
        "name": "prototype",
        "distribution": "manyclass-harness",
        "version": __version__,
        "status": "ok",
        "reason": "",
    }


@pytest.mark.parametrize("words", [*(("list", kind) for kind in KINDS), ("plugins",)], ids=" ".join)
def test_no_learner_and_no_heavy_module_is_imported(harness, heavy_imports, words):
    ended = harness(*words, "--json", python=["-X", "importtime"])
    assert ended.returncode == 0
    assert json.loads(ended.stdout)
    assert heavy_imports(ended.stderr) == []


HEADINGS = ["name", "kind", "needs", "supports", "parameters", "tune", "paper", "environment", "summary", "origin"]


def test_text_lists_have_the_same_content_as_json(harness):
    text = harness("list").stdout
    assert text.splitlines()[0].split() == HEADINGS
    assert "C=0.1, passes=10" in text
    assert "prototype        manyclass-harness" in harness("plugins").stdout


PLUGIN = """
from harness import LearnerSpec, hookimpl

@hookimpl
def harness_learners():
    return [
        LearnerSpec(name="odd", load="no_module_here:Odd"),
        LearnerSpec(name="sk", load="sklearn.naive_bayes:MultinomialNB"),
        LearnerSpec(name="needy", load="sklearn.multiclass:OneVsRestClassifier"),
    ]
"""


def test_plugins_of_a_folder_are_listed_with_the_broken_ones_and_their_reason(harness, heavy_imports, tmp_path):
    folder = tmp_path / "more"
    folder.mkdir()
    (folder / "working.py").write_text("print('noise')" + PLUGIN)
    (folder / "broken.py").write_text("import no_such_dependency")
    (folder / "slow.py").write_text("import time\ntime.sleep(0.6)\n")
    plugins = by_name(harness("plugins", "--json", "--plugins-dir", folder))
    assert plugins["working"]["status"] == "ok"
    assert plugins["broken"]["status"] == "broken"
    assert_names(plugins["broken"]["reason"], "no_such_dependency")
    assert plugins["broken"]["distribution"] == "broken.py"
    assert 0.6 <= plugins["slow"]["seconds"] < 60
    message = harness("plugins", "--plugins-dir", folder)
    narrow = harness("plugins", "--plugins-dir", folder, env={"COLUMNS": "80"}).stdout
    assert max(map(len, narrow.splitlines())) <= 80
    assert_names(message.stderr, "slow", "slow.py")
    assert "plugin 'working'" not in message.stderr
    unknown = harness("run", "--learners", "its-learner", "--plugins-dir", folder)
    assert unknown.returncode == 2
    assert_names(unknown.stderr, "no_such_dependency")
    ended = harness("list", "--json", "--plugins-dir", folder, python=["-X", "importtime"])
    learners = by_name(ended)
    assert learners["odd"]["parameters"] is None
    assert learners["sk"]["parameters"]["alpha"] == 1.0
    assert learners["needy"]["parameters"]["estimator"] == "(required)"
    assert heavy_imports(ended.stderr) == []
    assert_names(harness("list", "--plugins-dir", folder).stdout, "loaded")


def test_a_disabled_plugin_is_listed_without_its_contents(harness):
    assert by_name(harness("plugins", "--json", "--disable-plugin", "prototype"))["prototype"]["status"] == "disabled"
    assert "pa" not in by_name(harness("list", "--json", "--disable-plugin", "prototype"))


def test_versions_are_shown_unchanged(harness, tmp_path):
    info = tmp_path / "site" / "ten-1.10.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ten\nVersion: 1.10\n")
    (info / "entry_points.txt").write_text("[harness]\nten = ten_module\n")
    disable = ["--disable-plugin", "manyclass-harness"]
    shown = harness("plugins", *disable, env={"PYTHONPATH": str(tmp_path / "site")}).stdout
    assert " 1.10 " in shown


def test_the_version_is_printed(harness):
    assert harness("--version").stdout.strip() == f"harness, version {__version__}"


LISTS = [*(("list", kind) for kind in (*KINDS, "representations")), ("plugins",), ("data", "list"), ("env", "list")]


@pytest.mark.parametrize("words", [*LISTS, ("reproduce", "--list"), ("explain", "ooz"), ("explain", "icd10cm")])
def test_every_list_fits_eighty_columns(harness, words):
    ended = harness(*words, env={"COLUMNS": "80"})
    assert ended.returncode == 0, ended.stderr
    assert max(map(len, ended.stdout.splitlines())) <= 80


def test_a_list_names_the_columns_that_it_hides(harness):
    ended = harness("list", "learners", env={"COLUMNS": "80"})
    assert ended.stdout.splitlines()[0].split() == ["name", "kind", "environment", "summary"]
    assert ended.stderr.strip() == (
        "note: columns hidden to fit the terminal: origin, paper, tune, parameters, supports, needs. "
        "Use --json for all, or `harness explain NAME` for one."
    )
    assert "hidden" not in harness("list", "learners").stderr
