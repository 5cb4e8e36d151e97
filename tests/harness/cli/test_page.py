"""`harness page`: one file of one folder, of several together or apart, or of all below one."""

import pytest
from click.testing import CliRunner

from harness import open_results
from harness.cli.page import page
from harness.cli.showing import tell_page
from harness.errors import StoreError
from harness.machine import Machine
from harness.store import open_store
from page_file import content_of


@pytest.fixture
def results(tmp_path, make_record):
    """Two results folders, one inside of another folder, and a file of records that is none of ours."""
    for place, label in (("one", "pa"), ("deep/two", "ff")):
        folder = tmp_path / "results" / place
        folder.parent.mkdir(parents=True, exist_ok=True)
        with open_store(folder) as store:
            store.describe("learners = 'pa'\n", Machine("m1", "Fast", 8))
            for seed in range(2):
                store.append(make_record(label, seed, r1=0.5 + seed / 10, train=1.0, unheard_of=3.0))
    (tmp_path / "results" / "foreign").mkdir()
    (tmp_path / "results" / "foreign" / "records.jsonl").write_text("{}\n")
    return tmp_path / "results"


def parts_of(out, *words):
    ended = CliRunner().invoke(page, [*map(str, words), "--out", str(out)], catch_exceptions=False)
    assert ended.exit_code == 0, ended.output
    assert f"wrote {out}" in ended.stderr
    return content_of(out.read_text(encoding="utf-8"))["page"]["parts"]


def test_folders_together_are_one_table(results, tmp_path):
    (part,) = parts_of(tmp_path / "new" / "report.html", results / "one", results / "deep" / "two")
    assert [line["title"] for line in part["lines"]] == ["pa", "ff"]
    assert part["title"] == "one, deep/two"


def test_folders_apart_are_to_be_chosen_from(results, tmp_path):
    parts = parts_of(tmp_path / "report.html", results, "--apart", "--title", "Both")
    assert [(part["title"], part["lines"][0]["title"]) for part in parts] == [("deep/two", "ff"), ("one", "pa")]


def test_columns_are_those_of_the_table_and_more_can_be_chosen(results, tmp_path):
    (part,) = parts_of(tmp_path / "report.html", results / "one")
    assert part["shown"] == ["r1", "train"]
    assert part["notes"][-1] == "Left out, for no plugin at hand gives them: unheard_of."


def test_a_run_says_how_to_get_it(results, capsys):
    tell_page(open_results(results / "one"))
    assert f"`harness page {results / 'one'}` makes a page" in capsys.readouterr().err


def test_a_place_without_results_is_named(tmp_path):
    with pytest.raises(StoreError, match="is not a results folder and holds none"):
        CliRunner().invoke(page, [str(tmp_path)], catch_exceptions=False)
