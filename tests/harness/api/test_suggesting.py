"""Learners proposed for data of one's own, from the comparison that is packed along."""

import json
import shlex

import pytest

from harness import api
from harness.api.session import Session
from harness.api.suggesting import read_measured
from harness.cli import cli
from harness.environments.environment import environment_for
from harness.errors import SpecError
from harness.expression import parse
from small_titles import titles


@pytest.fixture
def titles_file(tmp_path):
    path = tmp_path / "titles.csv"
    rows = [f"{text},{code}" for text, code in zip(*titles(), strict=True)]
    path.write_text("\n".join(["title,code", *rows]) + "\n")
    return path


def test_what_is_packed_along_names_learners_that_there_are():
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


def test_three_learners_are_suggested_for_a_file_with_a_command_that_can_be_run(titles_file):
    # Without other tools, since a plan is refused where the environment of one of them is not built.
    found = api.suggest(titles_file, disabled_plugins=["peers"])
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
    """A folder with one plugin, which brings a comparison and a learner with packages of its own."""
    folder = tmp_path_factory.mktemp("plugins")
    (folder / "compared").mkdir()
    (folder / "compared" / "__init__.py").write_text(PLUGIN)
    return folder


def suggest_by(plugins_dir, measured):
    (plugins_dir / "compared" / "measured.csv").write_text(measured)
    return api.suggest("topics(rows=300, classes=10)", plugins_dirs=[plugins_dir], disabled_plugins=["papers"])


def test_what_is_built_round_another_learner_is_suggested_as_it_was_measured(plugins_dir):
    found = suggest_by(plugins_dir, MEASURED)
    assert [proposal.learner for proposal in found.proposals] == ["shortlist(ff)"]
    assert found.command == 'harness run --learners "shortlist(ff)" --data "topics(rows=300, classes=10)" --trials 3'
    assert not found.is_guess
    assert found.command_seconds == pytest.approx(0.3)


def test_parameters_are_those_that_were_chosen_on_the_data_most_like_it(plugins_dir):
    chosen = 'mine,300,10,30,,"pa",0.9,0.1,1e-6,"pa(C=0.3, passes=10)",one\n'
    found = suggest_by(plugins_dir, MEASURED.partition("\n")[0] + ",expression,labels\n" + chosen)
    assert found.proposals[0].learner == "pa"
    assert '--learners "pa(C=0.3, passes=10)"' in found.command


def test_data_unlike_all_that_was_measured_is_told_to_be_a_guess(plugins_dir, capsys):
    far = MEASURED.replace("mine,300,10", "mine,30000,10")
    assert suggest_by(plugins_dir, far).is_guess
    command = ["suggest", "--data", "topics(rows=300, classes=10)", "--plugins-dir", str(plugins_dir)]
    cli.main([*command, "--disable-plugin", "papers"], standalone_mode=False)
    assert "a guess" in capsys.readouterr().out


OUTSIDE = "mine,300,10,30,,outside,0.95,0.1,1e-6\n"


def test_whose_packages_are_not_installed_yet_is_said(plugins_dir, capsys):
    found = suggest_by(plugins_dir, MEASURED + OUTSIDE)
    assert [proposal.learner for proposal in found.proposals] == ["outside", "shortlist(ff)"]
    assert found.to_build == ("outside",)
    command = ["suggest", "--data", "topics(rows=300, classes=10)", "--plugins-dir", str(plugins_dir)]
    cli.main([*command, "--disable-plugin", "papers"], standalone_mode=False)
    assert "in environments of their own: outside\n" in capsys.readouterr().out
    cli.main([*command, "--disable-plugin", "papers", "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["to_build"] == ["outside"]


def test_whose_packages_could_not_be_installed_is_not_suggested(plugins_dir, tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_DATA_HOME", str(tmp_path))
    failed = environment_for(("some-tool>=2",)).failure_file
    failed.parent.mkdir(parents=True, exist_ok=True)
    failed.write_text("some-tool: no such version\n")
    found = suggest_by(plugins_dir, MEASURED + OUTSIDE)
    assert [proposal.learner for proposal in found.proposals] == ["shortlist(ff)"]
    assert found.to_build == ()


def test_the_command_says_the_same(titles_file, capsys):
    expected = api.suggest(titles_file)
    assert cli.main(["suggest", "--data", str(titles_file)], standalone_mode=False) in (None, 0)
    told = capsys.readouterr().out
    assert expected.command in told
    assert all(proposal.learner in told and proposal.reason in told for proposal in expected.proposals)
    cli.main(["suggest", "--data", str(titles_file), "--json"], standalone_mode=False)
    assert json.loads(capsys.readouterr().out)["command"] == expected.command


def test_who_cannot_take_the_data_is_not_suggested():
    found = api.suggest("topics(rows=300, classes=10, labels=2)")
    session = Session()
    for proposal in found.proposals:
        assert "multilabel" in session.catalog.learner(parse(proposal.learner).name).spec.supports


def test_one_data_set_at_a_time():
    with pytest.raises(SpecError, match="one data set at a time"):
        api.suggest(["digits", "topics"])
