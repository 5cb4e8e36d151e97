"""The page on data sets: every registered one is in its tables, with the counts that are registered as facts."""

import re
from pathlib import Path

import pytest

from harness.host import discover

PAGE = Path(__file__).resolve().parents[3] / "docs" / "datasets.md"
SPECS = {
    entry.spec.name: entry.spec for entry in discover().datasets if entry.origin.distribution == "manyclass-harness"
}
COUNTS = ("rows", "features", "classes", "taxonomy_depth")
"""The columns after the name in the first table."""


def rows_of(table):
    """The rows of a table of the page by the names in their first column."""
    lines = re.findall(r"^\| (`.*?)\|(.*)\|$", table, re.MULTILINE)
    return {name: cells.split("|") for names, cells in lines for name in re.findall(r"`([^`]+)`", names)}


def tables():
    section = PAGE.read_text().partition("## All data sets\n")[2]
    return [rows_of(table) for table in section.split("| set |")[1:]]


def test_every_registered_data_set_is_in_both_tables_and_no_other_one():
    counts, origins = tables()
    assert len(SPECS) > 20
    assert {name.partition("(")[0] for name in counts} == SPECS.keys()
    assert origins.keys() == SPECS.keys()


@pytest.mark.parametrize("name", [name for name, spec in SPECS.items() if spec.facts])
def test_the_counts_in_the_table_are_the_registered_facts(name):
    told = dict(zip(COUNTS, (cell.strip() for cell in tables()[0][name]), strict=False))
    facts = {count: f"{fact:,}" for count, fact in SPECS[name].facts.items() if count in COUNTS}
    assert {count: told[count] for count in facts} == facts
