"""Learners suggested for a user's data from the bundled comparison."""

import json
import shlex

import pytest

from harness.errors import SpecError
from internals import Session, cli, environment_for, parse, read_measured, suggest
from messages import assert_names, naming
from small_titles import titles


@pytest.fixture
def titles_file(tmp_path):
    path = tmp_path / "titles.csv"
    rows = [f"{text},{code}" for text, code in zip(*titles(), strict=True)]
    path.write_text("\n".join(["title,code", *rows]) + "\n")
    return path


def test_the_bundled_comparison_names_existing_learners():
    session = Session()
    known = {entry.spec.name for entry in session.catalog.learners}
    measured = read_measured(session.catalog)
    assert measured
    assert {parse(one.learner).name for one in measured} <= known
    costs = [one.cost for one in measured if one.cost is not None]
    assert 0 < len(costs) < len(measured)
    assert all(0 <= cost.r1 <= 1 and cost.train_seconds >= 0 and cost.answer_seconds >= 0 for cost in costs)
    assert {one.facts.multilabel for one in measured} == {True, False}
    for one in measured:
        assert parse(one.expression).name == parse(one.learner).name


def test_three_learners_are_suggested_for_a_file_with_a_working_command(titles_file):
    # Without other tools: a plan is rejected if one of their environments is not built.
    found = suggest(titles_file, disabled_plugins=["peers"])
    assert (found.facts.rows, found.facts.classes) == (400, 4)
    assert found.facts.letters == pytest.approx(21, abs=5)
    assert len({proposal.learner for proposal in found.proposals}) == len(found.proposals) == 3
    assert found.command.startswith(f'harness run --learners "{found.proposals[0].expression},')
    assert found.command_seconds == pytest.approx(9 * sum(proposal.train_seconds for proposal in found.proposals))
    assert str(titles_file) in found.command
    assert cli.main([*shlex.split(found.command)[1:], "--dry-run"], standalone_mode=False) in (None, 0)


PLUGIN = """
from harness import ExperimentSpec, LearnerSpec, hookimpl


@hookimpl
def harness_experiments():
    return [ExperimentSpec(name="mine", resource="compared:mine.toml", measured="compared:measured.csv")]


@hookimpl
def harness_learners():
    return [LearnerSpec(name="outside", load="compared.outside:Outside", environment=("some-tool>=2",))]
"""
MEASURED = """dataset,rows,classes,features_a_row,letters,learner,r1,train_seconds,answer_seconds
mine,300,10,30,,shortlist(ff),0.9,0.1,1e-6
"""


@pytest.fixture(scope="module")
def plugins_dir(tmp_path_factory):
    """Return a folder with a plugin that has a comparison and a learner with its own packages."""
    folder = tmp_path_factory.mktemp("plugins")
    (folder / "compared").mkdir()
    (folder / "compared" / "__init__.py").write_text(PLUGIN)
    return folder


def suggest_by(plugins_dir, measured):
    (plugins_dir / "compared" / "measured.csv").write_text(measured)
    return suggest("topics(rows=300, classes=10)", plugins_dirs=[plugins_dir], disabled_plugins=["papers"])


def test_a_wrapper_is_suggested_as_measured(plugins_dir):
    found = suggest_by(plugins_dir, MEASURED)
    assert [proposal.learner for proposal in found.proposals] == ["shortlist(ff)"]
    assert found.command == 'harness run --learners "shortlist(ff)" --data "topics(rows=300, classes=10)" --trials 3'
    assert not found.is_guess
    assert found.command_seconds == pytest.approx(0.3)


def test_parameters_are_those_chosen_on_the_most_similar_data(plugins_dir):
    chosen = 'mine,300,10,30,,"pa",0.9,0.1,1e-6,"pa(C=0.3, passes=10)",one\n'
    found = suggest_by(plugins_dir, MEASURED.partition("\n")[0] + ",expression,labels\n" + chosen)
    assert found.proposals[0].learner == "pa"
    assert '--learners "pa(C=0.3, passes=10)"' in found.command


def test_a_suggestion_for_dissimilar_data_is_called_a_guess(plugins_dir, capsys):
    far = MEASURED.replace("mine,300,10", "mine,30000,10")
    assert suggest_by(plugins_dir, far).is_guess
    command = ["suggest", "--data", "topics(rows=300, classes=10)", "--plugins-dir", str(plugins_dir)]
    cli.main([*command, "--disable-plugin", "papers"], standalone_mode=False)
    assert "a guess" in capsys.readouterr().err


OUTSIDE = "mine,300,10,30,,outside,0.95,0.1,1e-6\n"


def test_packages_that_are_not_installed_are_noted(plugins_dir, capsys):
    found = suggest_by(plugins_dir, MEASURED + OUTSIDE)
    assert [proposal.learner for proposal in found.proposals] == ["outside", "shortlist(ff)"]
    assert found.to_build == ("outside",)
    command = ["suggest", "--data", "topics(rows=300, classes=10)", "--plugins-dir", str(plugins_dir)]
    cli.main([*command, "--disable-plugin", "papers"], standalone_mode=False)
    assert_names(capsys.readouterr().out, "outside")
    cli.main([*command, "--disable-plugin", "papers", "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["to_build"] == ["outside"]


def test_a_learner_whose_packages_cannot_be_installed_is_not_suggested(plugins_dir, tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path))
    failed = environment_for(("some-tool>=2",)).failure_file
    failed.parent.mkdir(parents=True, exist_ok=True)
    failed.write_text("some-tool: no such version\n")
    found = suggest_by(plugins_dir, MEASURED + OUTSIDE)
    assert [proposal.learner for proposal in found.proposals] == ["shortlist(ff)"]
    assert found.to_build == ()


def test_the_command_prints_the_same_suggestions(titles_file, capsys):
    expected = suggest(titles_file)
    assert cli.main(["suggest", "--data", str(titles_file)], standalone_mode=False) in (None, 0)
    message = capsys.readouterr().out
    assert expected.command in message
    assert all(proposal.learner in message and proposal.reason in message for proposal in expected.proposals)
    cli.main(["suggest", "--data", str(titles_file), "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["command"] == expected.command


def test_an_incompatible_learner_is_not_suggested():
    found = suggest("topics(rows=300, classes=10, labels=2)")
    session = Session()
    for proposal in found.proposals:
        assert "multilabel" in session.catalog.learner(parse(proposal.learner).name).spec.supports


def test_only_one_dataset_is_accepted():
    with pytest.raises(SpecError, match=naming("dataset", "time")):
        suggest(["digits", "topics"])
