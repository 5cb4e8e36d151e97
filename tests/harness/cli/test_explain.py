"""`harness explain`: a newcomer learns what a thing is without reading its source."""

import pytest

from discovered import BUILT_IN
from harness.cli.explain import explain_learner
from harness.docstring import Docstring, parse_docstring
from harness.host import discover
from harness.signature import parameters_of, read_docstring


def test_a_learner_is_told_with_its_parameters_defaults_and_the_papers_values(harness):
    done = harness("explain", "ooz")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "ooz (learner, flat): weight shifting in a sparse index: rivals lose what the true class gains"
    assert any(line.split()[:3] == ["beta", "0.003", "0.1"] for line in lines)
    assert any(line.startswith("When to use it: Many classes, sparse rows") for line in lines)
    assert any(line.startswith("Paper: Madani and Huang, On updates that constrain") for line in lines)
    assert "harness run --learners ooz --datasets digits" in lines[-1]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("digits", "Licence: CC BY 4.0."),
        ("r5", "reads 5 ranks a row"),
        ("committee", 'harness run --learners "committee(pa)"'),
        ("hsvm", "Needs: taxonomy."),
    ],
)
def test_whatever_has_a_name_is_explained(harness, name, words):
    assert words in harness("explain", name).stdout


def test_a_misspelt_name_gets_the_nearest(harness):
    done = harness("explain", "oz")
    assert done.returncode == 2
    assert "did you mean ooz?" in done.stderr


def test_a_docstring_is_taken_apart():
    parameters = "Parameters\n----------\na : one thing,\n    and more.\nb, c : others.\n"
    more = "When to use\n-----------\nOften,\nor not.\n\nReferences\n----------\nA paper.\n\n"
    text = f"First.\n\nSecond\nline.\n\n{more}{parameters}\nNotes\n-----\nc : no\n"
    assert parse_docstring(text) == Docstring(
        ("First.", "Second line."),
        {"a": "one thing, and more.", "b": "others.", "c": "others."},
        "Often, or not.",
        "A paper.",
    )


def test_a_docstring_without_sections_is_its_words():
    assert parse_docstring("Only this.") == Docstring(("Only this.",))
    assert parse_docstring("") == Docstring()


def test_what_to_try_is_a_command_that_a_shell_takes_and_the_data_fits():
    last = {entry.spec.name: explain_learner(entry)[-1] for entry in discover().learners}
    assert last["batches"] == 'Try it: harness run --learners "batches(pa)" --datasets digits'
    assert last["hsvm"] == "Try it: harness run --learners hsvm"
    assert last["transformer"] == 'Try it: harness run --learners "transformer(folder=...)"'


NOBODYS = {"batches"}
"""Ways of doing things that no paper has to be named for."""


def test_every_learner_of_ours_is_explained_whole():
    for entry in discover().learners:
        if entry.origin.distribution == BUILT_IN:
            told = parse_docstring(read_docstring(entry.spec.load))
            lines = explain_learner(entry)
            assert told.paragraphs, entry.spec.name
            assert told.use, entry.spec.name
            assert told.references or entry.spec.name in NOBODYS, entry.spec.name
            assert set(told.parameters) >= set(parameters_of(entry.spec)), entry.spec.name
            assert "Try it: harness run --learners" in lines[-1]
