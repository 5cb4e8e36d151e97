"""The simulation behind the default tests runs, and its committed page agrees with its figures."""

import csv
import shutil

import pytest

import harness
from quotes import RESULTS, ROOT

FOLDER = RESULTS / "benchmarks" / "verdicts"


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import verdicts

    return verdicts


@pytest.fixture
def page(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import verdicts_page

    return verdicts_page


def test_a_small_simulation_measures_every_design_and_agrees_with_the_public_interface(benchmark):
    figures = list(benchmark.measure_errors("1-NN", 80, 4))
    assert {figure.design for figure in figures} == {one.name for one in (*benchmark.DESIGNS, benchmark.FIXED)}
    assert {figure.learners for figure in figures} == {3, 10}
    assert {figure.tables for figure in figures if figure.learners == 3} == {12}
    assert all(0 <= figure.told_apart <= figure.tables for figure in figures)


def test_the_default_rarely_separates_equal_learners_and_the_sign_test_often(benchmark):
    figures = list(benchmark.measure_errors("nearest mean", 200, 20))
    shares = {}
    for figure in figures:
        if (figure.learners, figure.design) == (3, "10 x 20%"):
            shares[figure.test] = figure.told_apart / figure.tables
    assert shares["ttest"] <= 0.125 < shares["sign"]


def test_equal_learners_on_a_fixed_split_are_rarely_told_apart_and_a_better_one_often(tmp_path):
    tables = 20
    results = harness.run(
        learners=["whole=part", *(f"part{number}=part(part={number})" for number in range(2))],
        datasets=[f"table{number}=equal(seed={number})" for number in range(tables)],
        plugins_dirs=[write_plugin(tmp_path)],
        split="given",
        representation="raw",
        trials=2,
        out=tmp_path / "out",
        progress=False,
    )
    values = results.matrix("r1")[0].values
    told_apart = {frozenset((row["learner"], row["against"])): set() for row in values}
    for row in values:
        if row["better"]:
            told_apart[frozenset((row["learner"], row["against"]))].add(row["dataset"])
    wrong = set().union(*(found for pair, found in told_apart.items() if "whole" not in pair))
    assert len(wrong) <= 0.15 * tables
    assert all(len(found) > 0.5 * tables for pair, found in told_apart.items() if "whole" in pair)


def write_plugin(tmp_path):
    folder = tmp_path / "plugins"
    folder.mkdir()
    shutil.copy(ROOT / "tests" / "parts" / "equal_plugin.py", folder)
    return folder


def test_the_list_of_changed_verdicts_is_made_of_the_committed_records(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import changed_verdicts

    lines = changed_verdicts.page(list(changed_verdicts.find_changes()))
    committed = (FOLDER / "changed.md").read_text(encoding="utf-8")
    assert committed == "\n".join(lines) + "\n", "python benchmarks/changed_verdicts.py"


def test_the_committed_figures_meet_the_promised_error_rates(page):
    with (FOLDER / "figures.csv").open(encoding="utf-8", newline="") as file:
        equal = [row for row in csv.DictReader(file) if row["truth"] == "equal"]
    over_trials, over_rows = page.shares(equal, test="ttest"), page.shares(equal, test="mcnemar")
    assert sum(over_trials) / len(over_trials) <= 5
    assert max(over_trials) <= 8
    assert sum(over_rows) / len(over_rows) <= 5


def test_the_committed_page_is_made_of_the_committed_figures(page):
    with (FOLDER / "figures.csv").open(encoding="utf-8", newline="") as file:
        lines = page.page(list(csv.DictReader(file)))
    assert (FOLDER / "README.md").read_text(encoding="utf-8") == "\n".join(lines) + "\n", "benchmarks/verdicts_page.py"
