"""What is committed in results/: every table is the one that its records make, and every number quoted is in them."""

import json
import re
from pathlib import Path

import pytest

from harness import api
from harness.api.session import Session
from harness.stats import summarise
from harness.store import read_records

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "results"
SESSION = Session()
REPRODUCED = [
    RESULTS / entry.spec.name for entry in SESSION.catalog.experiments if (RESULTS / entry.spec.name).is_dir()
]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md")), *sorted(RESULTS.rglob("*.md"))]
QUOTE = re.compile(r"<!-- ([^|>]+)\|([^|>]+)\|([^|>]+)\|([^|>]+) -->([\d.,]+)(%?)")
"""A number drawn from results: <!-- folder|data set|learner|metric --> before it."""


@pytest.mark.parametrize("folder", REPRODUCED, ids=lambda folder: folder.name)
def test_every_committed_table_is_the_one_that_its_records_make(folder):
    paper = api.read_paper(folder.name, SESSION.catalog)
    made = api.tables_of(api.reopen_paper(paper, folder, SESSION))
    for name, text in made.items():
        assert (folder / name).read_text(encoding="utf-8") == text, f"harness reproduce {folder.name} --redraw"


def test_every_results_folder_says_what_was_run():
    for folder in RESULTS.iterdir():
        if folder.is_dir():
            assert (folder / "README.md").is_file(), folder.name


def quotes():
    for page in PAGES:
        for match in QUOTE.finditer(page.read_text(encoding="utf-8")):
            yield pytest.param(match, id=f"{page.relative_to(ROOT)}:{match[0]}")


@pytest.mark.parametrize("quote", [*quotes()])
def test_a_number_that_is_quoted_is_the_mean_in_the_records(quote):
    folder, dataset, learner, metric, number, percent = quote.groups()
    records = read_records(RESULTS / folder.strip())
    values = [
        record.scores[metric]
        for record in records
        if (record.dataset, record.label) == (dataset, learner) and record.status == "ok"
    ]
    summary = summarise([value for value in values if value is not None])
    assert summary is not None, "no record has it"
    decimals = len(number.partition(".")[2])
    scale = 100 if percent else 1
    assert f"{scale * summary.mean:.{decimals}f}".lstrip("0") == number.lstrip("0")


@pytest.mark.parametrize("folder", REPRODUCED, ids=lambda folder: folder.name)
def test_every_record_is_whole(folder):
    lines = (folder / "records.jsonl").read_text().splitlines()
    assert len(read_records(folder)) == len({json.loads(line)["key"] for line in lines})
