"""The Results class: tables, figures and comparisons from stored records, and their display."""

import pytest

import harness
from harness.errors import HarnessError, StoreError
from internals import Machine, open_store
from messages import naming

MACHINE = Machine("m1", "Fast", 8, 2**33, "Linux")


@pytest.fixture
def stored(tmp_path, make_record):
    """Write a folder with example records."""

    def keep(name, *records, incompatible=()):
        folder = tmp_path / name
        with open_store(folder) as store:
            store.describe("learners = 'pa'\n", MACHINE, incompatible)
            for record in records:
                store.append(record)
        return folder

    return keep


def several(make_record, label, r1, **fields):
    return [make_record(label, seed, r1=r1 + seed / 100, train=1.0 + seed, **fields) for seed in range(3)]


@pytest.fixture
def results(stored, make_record):
    folder = stored(
        "one", *several(make_record, "pa", 0.9), *several(make_record, "ooz", 0.8), incompatible=["x cannot run"]
    )
    return harness.open_results(folder)


def test_a_table_has_the_requested_columns_and_the_notes_of_the_run(results):
    table = results.table(metrics=["r1", "train"])
    assert [metric.name for metric in table.columns] == ["r1", "train"]
    assert table.footnotes[-1] == "x cannot run"
    assert "0.910 ± 0.010" in str(table)
    assert results.table(metrics="r1,train") == table


def test_results_are_displayed_in_text_and_html(results):
    assert str(results).endswith(f"Results in {results.folders[0]}")
    page = results._repr_html_()
    assert "<table" in page
    assert "0.910" in page
    assert len(results) == 6


def test_a_frame_has_one_row_per_trial(results):
    frame = results.frame()
    assert frame.groupby("label")["r1"].mean().round(3).to_dict() == {"pa": 0.91, "ooz": 0.81}


def test_two_folders_are_joined_and_the_first_record_of_a_trial_counts(stored, make_record):
    first = stored("one", *several(make_record, "pa", 0.9))
    second = stored("two", *several(make_record, "pa", 0.9), *several(make_record, "ooz", 0.8))
    both = harness.open_results(first, second)
    assert len(both) == 6
    assert {both.folder_of[record.key] for record in both.records if record.label == "pa"} == {first}


def test_two_configurations_under_one_label_are_separate_in_tables_and_figures(stored, make_record):
    good = [make_record("pa", seed, r1=0.917, params={"C": 1.0}) for seed in range(2)]
    bad = [make_record("pa", seed, r1=0.2, params={"C": 1e-6}) for seed in range(2)]
    results = harness.open_results(stored("one", *good, *bad))
    rows = results.table(metrics="r1").groups[0].rows
    assert sorted(cell.summary.mean for row in rows for cell in row.cells) == [0.2, 0.917]
    (panel,) = results.plot("bar").panels
    assert sorted(series.y[0] for series in panel.series) == [0.2, 0.917]


def test_figures_can_be_limited_to_learners_and_datasets(results, tmp_path):
    (panel,) = results.plot("bar", learners=["pa"]).panels
    assert [series.label for series in panel.series] == ["pa"]
    drawn = results.plot("pareto", metric="r1", x="train").save(tmp_path / "figure.svg")
    assert drawn.read_text().startswith("<?xml")
    with pytest.raises(HarnessError, match=naming("svm")):
        results.plot("bar", learners="svm")
    with pytest.raises(HarnessError, match="pie"):
        results.plot("pie")


def test_results_are_compared_with_others(stored, make_record):
    before = harness.open_results(stored("before", *several(make_record, "pa", 0.8)))
    after = harness.open_results(stored("after", *several(make_record, "pa", 0.9)))
    found = before.compare(after, metrics="r1")
    (change,) = found.changes.values
    assert change["difference"] == pytest.approx(0.1)
    assert "Settings that differ" in str(found)


def test_failures_are_listed_with_details(stored, make_record):
    failed = make_record("pa", 1, status="crash", message="ended by SIGSEGV", output="last words")
    results = harness.open_results(stored("one", make_record("pa", 0, r1=0.9), failed))
    (failure,) = results.failures()
    assert (failure.label, failure.seed, failure.status) == ("pa", 1, "crash")
    assert (failure.message, failure.output) == ("ended by SIGSEGV", "last words")


def test_a_folder_without_results_is_rejected(tmp_path):
    with pytest.raises(StoreError, match=naming("records.jsonl")):
        harness.open_results(tmp_path)
    with pytest.raises(HarnessError, match=naming("open_results")):
        harness.open_results()
