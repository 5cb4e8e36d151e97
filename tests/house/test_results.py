"""Committed results: records reproduce every table and contain every number that a page quotes."""

import csv
import json
import subprocess
import warnings

import pytest

from browser import Opened, start_browser, texts_of_low_contrast
from harness.errors import StoreError
from internals import (
    Session,
    code_of,
    find_folders,
    group_records,
    make_page,
    read_paper,
    read_records,
    read_results,
    read_same_code,
    reopen_paper,
    tables_of,
)
from page_file import content_of
from quotes import RESULTS, ROOT, committed_folders, fill, pages

SESSION = Session()
TITLE = "All results"
COMMITTED = committed_folders()
EXPERIMENTS = {entry.spec.name for entry in SESSION.catalog.experiments}
STATEMENTS = [path for folder in COMMITTED for path in sorted(folder.rglob("same_code.json"))]
REPRODUCED = [folder for folder in COMMITTED if folder.name in EXPERIMENTS]


@pytest.mark.parametrize("folder", REPRODUCED, ids=lambda folder: folder.name)
def test_every_committed_table_is_reproduced_from_its_records(folder):
    paper = read_paper(folder.name, SESSION.catalog)
    made = tables_of(reopen_paper(paper, folder, SESSION))
    for name, text in made.items():
        assert (folder / name).read_text(encoding="utf-8") == text, f"harness reproduce {folder.name} --redraw"


def test_the_committed_page_shows_all_committed_results(tmp_path):
    folders = [folder for folder in find_folders([RESULTS]) if committed_part(folder) in COMMITTED]
    made = make_page([read_results([folder], SESSION) for folder in folders], title=TITLE)
    assert {folder.name for folder in REPRODUCED} <= {part.title for part in made.parts}
    committed = RESULTS / "page.html"
    assert committed.stat().st_size < 3e6, "of a size that can be sent"
    again = f'{committed.name} is old: harness page --apart results --out results/page.html --title "{TITLE}"'
    assert parts_of(committed) == parts_of(made.save(tmp_path / "page.html")), again


def test_the_front_page_is_drawn_from_the_readmes(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import front_page

    assert front_page.FRONT.read_text(encoding="utf-8") == front_page.draw(), "python benchmarks/front_page.py"
    listed = front_page.FRONT.read_text(encoding="utf-8")
    for folder in COMMITTED:
        assert f'href="{folder.name}/README.md"' in listed, f"results/README.md has no line on {folder.name}"


def test_names_on_the_front_page_are_text_and_never_markup(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import front_page

    assert front_page.inline("a <b> & `c<d>`") == "a &lt;b&gt; &amp; <code>c&lt;d&gt;</code>"


@pytest.fixture(scope="module")
def front():
    driver = start_browser()
    yield Opened(driver, RESULTS / "index.html")
    driver.quit()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_front_page_opens_with_the_answer_and_can_be_read(front, theme):
    front.media(prefers_color_scheme=theme)
    front.resize(1280, 800)
    front.driver.get(front.address)
    assert front.run("return document.querySelector('.front tbody tr').getBoundingClientRect().bottom") < 300
    assert texts_of_low_contrast(front) == []
    assert front.complaints() == []
    front.keep(f"front-{theme}")


def test_the_front_page_fits_a_phone(front):
    front.resize(390, 844)
    front.media(prefers_color_scheme="light")
    front.driver.get(front.address)
    assert front.run("return document.documentElement.scrollWidth") <= 390
    tables = "return [...document.querySelectorAll('.wide')].filter(one => one.scrollWidth > one.clientWidth).length"
    assert front.run(tables) == 0, "no table is wider than the screen"
    assert front.run("return document.querySelector('.front tbody tr').getBoundingClientRect().bottom") <= 844
    front.keep("front-phone")


def test_a_dataset_on_the_front_page_leads_to_its_answer(front):
    front.driver.get(front.address)
    link = front.run("return document.querySelectorAll('.front a')[0].getAttribute('href')")
    name = front.texts(".front tbody tr:first-child td:first-child")[0]
    answer = Opened(front.driver, RESULTS / "page.html").open(link.partition("#")[2])
    assert answer.one("#answer-controls select").get_property("value") == name
    assert answer.all("#page-controls select")[0].get_property("value") == "field"


def committed_part(folder):
    """Return the folder directly below results/ that contains this one."""
    return RESULTS / folder.relative_to(RESULTS).parts[0]


def parts_of(path):
    """Return the data shown by a page, without scripts and styles."""
    return content_of(path.read_text(encoding="utf-8"))["page"]["parts"]


def test_every_results_folder_has_an_experiment_file():
    for folder in COMMITTED:
        assert (folder / "README.md").is_file(), folder.name


def test_a_users_run_is_not_a_committed_result(tmp_path, monkeypatch):
    for name in ("committed", "own"):
        (tmp_path / "results" / name).mkdir(parents=True)
        (tmp_path / "results" / name / "records.jsonl").touch()
    monkeypatch.setattr("quotes.ROOT", tmp_path)
    monkeypatch.setattr("quotes.RESULTS", tmp_path / "results")
    find = committed_folders.__wrapped__
    assert [folder.name for folder in find()] == ["committed", "own"], "outside a git checkout"
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "results/committed"], cwd=tmp_path, check=True)
    assert [folder.name for folder in find()] == ["committed"]


def test_every_file_of_records_contains_records_only():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for path in (path for folder in COMMITTED for path in folder.rglob("records.jsonl")):
            assert read_records(path.parent)


def test_every_statement_of_same_code_is_about_records_of_its_folder():
    for path in STATEMENTS:
        recorded = {(one.learner, one.representation, one.code) for one in read_records(path.parent)}
        for one in read_same_code(path.parent):
            assert (one.learner, one.representation, one.recorded) in recorded, path
            assert one.evidence, path


@pytest.mark.parametrize("path", STATEMENTS, ids=lambda path: path.parent.name)
def test_every_statement_of_same_code_is_about_the_present_code_of_its_learner(path):
    """A wrapper's digest is followed by that of the learner inside, which a statement does not name."""
    present = {}
    for entry in SESSION.catalog.learners:
        present[entry.spec.name] = code_of(entry.spec.load, entry.origin)
    for one in read_same_code(path.parent):
        own, *inner = one.present.split("+")
        is_present = own == present[one.learner] and set(inner) <= set(present.values())
        assert is_present, f"{one.learner} has changed since {path} was written: python benchmarks/same_code.py"


def test_the_measurements_behind_the_defaults_are_no_results_folder():
    with pytest.raises(StoreError, match=r"defaults is not a results folder: it has no records\.jsonl"):
        read_records(RESULTS / "defaults")


@pytest.mark.parametrize("page", [*pages()], ids=lambda page: str(page.relative_to(ROOT)))
def test_every_quoted_number_is_the_mean_in_the_records(page):
    text = page.read_text(encoding="utf-8")
    assert fill(text) == text, "python tests/parts/quotes.py"


def test_a_quoted_number_has_the_stated_digits_and_unit(monkeypatch, make_record):
    records = (make_record("pa", 0, r1=0.8749, index=21_900), make_record("pa", 1, r1=0.8751, index=22_100))
    monkeypatch.setattr("quotes.records_of", lambda folder: records)
    r1, index = "<!-- x|digits|pa|r1 -->", "<!-- x|digits|pa|index -->"
    text = f"{r1}.1 {r1}0.000 {r1}1.0% {index}1k"
    plain = fill(text).replace(r1, "").replace(index, "")
    assert plain == ".9 0.875 87.5% 22k"


def test_a_number_without_a_record_is_named():
    with pytest.raises(ValueError, match="no record has it"):
        fill("<!-- kdd2008-table1|nobody|pa|r1 -->0.1")


@pytest.mark.parametrize("folder", REPRODUCED, ids=lambda folder: folder.name)
def test_every_record_is_complete(folder):
    lines = (folder / "records.jsonl").read_text().splitlines()
    assert len(read_records(folder)) == len({json.loads(line)["key"] for line in lines})


def test_the_data_behind_suggestions_match_the_field_records(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import field

    with field.MEASURED.open(encoding="utf-8", newline="") as file:
        packed = [[row["dataset"], *(row[name] for name in field.COLUMNS[6:])] for row in csv.DictReader(file)]
    lines = group_records(read_records(field.RESULTS))
    assert packed == [[line.dataset, *field.outcome(line)] for line in lines], "python benchmarks/field.py"


def test_leaders_and_ranks_on_the_field_page_match_its_records(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import field

    text = field.PAGE.read_text(encoding="utf-8")
    lines = group_records(read_records(field.RESULTS))
    assert field.fill(text, lines, SESSION.catalog) == text, "python benchmarks/field.py"


def test_a_page_without_the_markers_raises_an_error(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import field

    lines = group_records(read_records(field.RESULTS))
    with pytest.raises(ValueError, match="no marks <!-- leaders -->"):
        field.fill("no marks", lines, SESSION.catalog)


def test_partly_run_data_is_not_reported_as_missing():
    done = reopen_paper(read_paper("field", SESSION.catalog), RESULTS / "field", SESSION)
    assert any(record.dataset_source == "subsample" for record in done.results.records)
    assert not done.absent
