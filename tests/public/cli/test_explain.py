"""`harness explain` describes a learner, dataset or metric without its source."""

import pytest

from discovery_reports import BUILT_IN
from internals import (
    Docstring,
    discover,
    explain_learner,
    explain_metric,
    parameters_of,
    parse_docstring,
    read_docstring,
)


def test_a_learner_is_described_with_parameters_defaults_and_paper_values(harness):
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
        ("r5", "uses 5 ranks of each row"),
        ("p7", "Formula: P@k = |top k ∩ labels| / k, mean over rows\n"),
        ("hf", "hf (metric): hierarchical F1"),
        ("hf", "hf (dataset): "),
        ("committee", 'harness run --learners "committee(pa)"'),
        ("hsvm", "Needs: taxonomy."),
        ("vw-oaa", "Staged, not timed: writing rows as lines"),
    ],
)
def test_every_kind_of_name_is_described(harness, name, words):
    assert words in harness("explain", name).stdout


def test_a_misspelt_name_gets_the_nearest_one(harness):
    done = harness("explain", "oz")
    assert done.returncode == 2
    assert "Did you mean ooz?" in done.stderr


def test_a_misspelt_metric_gets_the_nearest_one_with_its_k(harness):
    done = harness("explain", "ndgc5")
    assert done.returncode == 2
    assert "unknown name 'ndgc5'. Did you mean ndcg5" in done.stderr


def test_every_built_in_metric_has_a_formula_and_a_use():
    catalog = discover()
    for entry in catalog.metrics:
        if entry.origin.distribution == BUILT_IN:
            lines = explain_metric(entry.spec.name, catalog)
            assert sum(line.startswith(("Formula: ", "When to use it: ")) for line in lines) == 2, entry.spec.name


def test_a_docstring_is_split_into_sections():
    parameters = "Parameters\n----------\na : one thing,\n    and more.\nb, c : others.\n"
    more = (
        "When to use\n-----------\nOften,\nor not.\n\nReferences\n----------\nA paper.\n\nFormula\n-------\na = b\n\n"
    )
    text = f"First.\n\nSecond\nline.\n\n{more}{parameters}\nNotes\n-----\nc : no\n"
    assert parse_docstring(text) == Docstring(
        ("First.", "Second line."),
        {"a": "one thing, and more.", "b": "others.", "c": "others."},
        "Often, or not.",
        "A paper.",
        "a = b",
    )


def test_types_are_not_part_of_a_description():
    text = "Parameters\n----------\na : float, default=0.1\n    Rate.\nb, c : str or int\n    Column.\n"
    assert parse_docstring(text).parameters == {"a": "Rate.", "b": "Column.", "c": "Column."}


def test_a_docstring_without_sections_is_shown_whole():
    assert parse_docstring("Only this.") == Docstring(("Only this.",))
    assert parse_docstring("") == Docstring()


def test_the_suggested_command_is_valid_and_fits_the_data():
    last = {entry.spec.name: explain_learner(entry)[-1] for entry in discover().learners}
    assert last["batches"] == 'Try it: harness run --learners "batches(pa)" --datasets digits'
    assert last["hsvm"] == "Try it: harness run --learners hsvm"
    assert last["transformer"] == 'Try it: harness run --learners "transformer(folder=...)"'


NOBODYS = {"batches"}
"""Ways of doing things that no paper has to be named for."""


def test_every_built_in_learner_is_described_completely():
    for entry in discover().learners:
        if entry.origin.distribution == BUILT_IN:
            message = parse_docstring(read_docstring(entry.spec.load))
            lines = explain_learner(entry)
            assert message.paragraphs, entry.spec.name
            assert message.use, entry.spec.name
            assert message.references or entry.spec.name in NOBODYS, entry.spec.name
            assert set(message.parameters) >= set(parameters_of(entry.spec)), entry.spec.name
            assert "Try it: harness run --learners" in lines[-1]
