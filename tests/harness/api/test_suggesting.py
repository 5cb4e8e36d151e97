"""Learners proposed for data of one's own, from the comparison that is packed along."""

import json
import shlex

import pytest

from harness import api
from harness.api.session import Session
from harness.api.suggesting import read_measured
from harness.cli import cli
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
    assert all(0 <= one.r1 <= 1 and one.train_seconds >= 0 and one.answer_seconds >= 0 for one in measured)


def test_three_learners_are_suggested_for_a_file_with_a_command_that_can_be_run(titles_file):
    # Without other tools, since a plan is refused where the environment of one of them is not built.
    found = api.suggest(titles_file, disabled_plugins=["peers"])
    assert (found.facts.rows, found.facts.classes) == (400, 4)
    assert found.facts.letters == pytest.approx(21, abs=5)
    assert len({proposal.learner for proposal in found.proposals}) == len(found.proposals) == 3
    assert found.command.startswith(f'harness run --learners "{found.proposals[0].learner},')
    assert str(titles_file) in found.command
    assert cli.main([*shlex.split(found.command)[1:], "--dry-run"], standalone_mode=False) in (None, 0)


PLUGIN = """
from harness import ExperimentSpec, hookimpl


@hookimpl
def harness_experiments():
    return [ExperimentSpec(name="mine", resource="compared:mine.toml", measured="compared:measured.csv")]
"""
MEASURED = """dataset,rows,classes,features_a_row,letters,learner,r1,train_seconds,answer_seconds
mine,300,10,30,,shortlist(ff),0.9,0.1,1e-6
"""


def test_what_is_built_round_another_learner_is_suggested_as_it_was_measured(tmp_path):
    package = tmp_path / "compared"
    package.mkdir()
    (package / "__init__.py").write_text(PLUGIN)
    (package / "measured.csv").write_text(MEASURED)
    found = api.suggest("topics(rows=300, classes=10)", plugins_dirs=[tmp_path], disabled_plugins=["papers"])
    assert [proposal.learner for proposal in found.proposals] == ["shortlist(ff)"]
    assert found.command == 'harness run --learners "shortlist(ff)" --data "topics(rows=300, classes=10)"'


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
        assert "multilabel" in session.catalog.learner(proposal.learner).spec.supports


def test_one_data_set_at_a_time():
    with pytest.raises(SpecError, match="one data set at a time"):
        api.suggest(["digits", "topics"])
