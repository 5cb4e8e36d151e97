"""`harness page`: one file from one folder, from several joined or separate, or from all below a folder."""

import pytest
from click.testing import CliRunner

from harness import open_results
from harness.errors import StoreError
from internals import Machine, open_store, page, show_page_hint
from messages import assert_names, naming
from page_file import content_of


@pytest.fixture
def results(tmp_path, make_record):
    """Return two results folders, one nested, and a foreign file of records."""
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


def test_joined_folders_are_one_table(results, tmp_path):
    (part,) = parts_of(tmp_path / "new" / "report.html", results / "one", results / "deep" / "two")
    assert [line["title"] for line in part["lines"]] == ["pa", "ff"]
    assert part["title"] == "one, deep/two"


def test_separate_folders_can_be_selected(results, tmp_path):
    parts = parts_of(tmp_path / "report.html", results, "--apart", "--title", "Both")
    assert [(part["title"], part["lines"][0]["title"]) for part in parts] == [("deep/two", "ff"), ("one", "pa")]


def test_columns_are_those_of_the_table_and_more_can_be_chosen(results, tmp_path):
    (part,) = parts_of(tmp_path / "report.html", results / "one")
    assert part["shown"] == ["r1", "train"]
    assert_names(part["notes"][-1], "unheard_of")


def test_a_run_prints_the_page_command(results, capsys):
    show_page_hint(open_results(results / "one"))
    assert_names(capsys.readouterr().err, f"harness page {results / 'one'}")


def test_a_path_without_results_raises_an_error_that_names_it(tmp_path):
    with pytest.raises(StoreError, match=naming("results", "folder")):
        CliRunner().invoke(page, [str(tmp_path)], catch_exceptions=False)
