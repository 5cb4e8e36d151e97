"""What is committed in results/: every table is the one that its records make, and every number quoted is in them."""

import csv
import json

import pytest

from harness import api
from harness.api.session import Session
from harness.groups import group_records
from harness.store import read_records
from page_file import content_of
from quotes import RESULTS, ROOT, fill, pages

SESSION = Session()
TITLE = "All that was run"
REPRODUCED = [
    RESULTS / entry.spec.name for entry in SESSION.catalog.experiments if (RESULTS / entry.spec.name).is_dir()
]


@pytest.mark.parametrize("folder", REPRODUCED, ids=lambda folder: folder.name)
def test_every_committed_table_is_the_one_that_its_records_make(folder):
    paper = api.read_paper(folder.name, SESSION.catalog)
    made = api.tables_of(api.reopen_paper(paper, folder, SESSION))
    for name, text in made.items():
        assert (folder / name).read_text(encoding="utf-8") == text, f"harness reproduce {folder.name} --redraw"


def test_the_committed_page_shows_all_committed_results_as_their_records_are(tmp_path):
    folders = api.find_folders([RESULTS])
    made = api.make_page([api.read_results([folder], SESSION) for folder in folders], title=TITLE)
    assert {folder.name for folder in REPRODUCED} <= {part.title for part in made.parts}
    committed = RESULTS / "index.html"
    assert committed.stat().st_size < 3e6, "of a size that can be sent"
    again = f'{committed.name} is old: harness page --apart results --out results/index.html --title "{TITLE}"'
    assert parts_of(committed) == parts_of(made.save(tmp_path / "index.html")), again


def parts_of(path):
    """What a page shows, without what draws it."""
    return content_of(path.read_text(encoding="utf-8"))["page"]["parts"]


def test_every_results_folder_says_what_was_run():
    for folder in RESULTS.iterdir():
        if folder.is_dir():
            assert (folder / "README.md").is_file(), folder.name


@pytest.mark.parametrize("page", [*pages()], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_number_that_is_quoted_is_the_mean_in_the_records(page):
    text = page.read_text(encoding="utf-8")
    assert fill(text) == text, "python tests/parts/quotes.py"


def test_a_quoted_number_is_written_with_the_digits_and_the_unit_that_stand_there(monkeypatch, make_record):
    records = (make_record("pa", 0, r1=0.8749, index=21_900), make_record("pa", 1, r1=0.8751, index=22_100))
    monkeypatch.setattr("quotes.records_of", lambda folder: records)
    r1, index = "<!-- x|digits|pa|r1 -->", "<!-- x|digits|pa|index -->"
    text = f"{r1}.1 {r1}0.000 {r1}1.0% {index}1k"
    plain = fill(text).replace(r1, "").replace(index, "")
    assert plain == ".9 0.875 87.5% 22k"


def test_a_number_that_no_record_has_is_named():
    with pytest.raises(ValueError, match="no record has it"):
        fill("<!-- kdd2008-table1|nobody|pa|r1 -->0.1")


@pytest.mark.parametrize("folder", REPRODUCED, ids=lambda folder: folder.name)
def test_every_record_is_whole(folder):
    lines = (folder / "records.jsonl").read_text().splitlines()
    assert len(read_records(folder)) == len({json.loads(line)["key"] for line in lines})


def test_what_suggestions_go_by_is_what_the_records_of_the_field_say(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import field

    with field.MEASURED.open(encoding="utf-8", newline="") as file:
        packed = [[row["dataset"], *(row[name] for name in field.COLUMNS[6:])] for row in csv.DictReader(file)]
    lines = group_records(read_records(field.RESULTS))
    assert packed == [[line.dataset, *field.fared(line)] for line in lines], "python benchmarks/field.py"


def test_what_the_fields_page_says_of_leaders_and_ranks_is_what_its_records_decide(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import field_page

    text = field_page.PAGE.read_text(encoding="utf-8")
    lines = group_records(read_records(field_page.RESULTS))
    assert field_page.fill(text, lines, SESSION.catalog) == text, "python benchmarks/field_page.py"


def test_a_page_without_the_marks_is_told_of(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import field_page

    lines = group_records(read_records(field_page.RESULTS))
    with pytest.raises(ValueError, match="no marks <!-- leaders -->"):
        field_page.fill("no marks", lines, SESSION.catalog)


def test_data_of_which_parts_were_run_is_not_told_to_be_absent():
    done = api.reopen_paper(api.read_paper("field", SESSION.catalog), RESULTS / "field", SESSION)
    assert any(record.dataset_source == "subsample" for record in done.results.records)
    assert not done.absent
