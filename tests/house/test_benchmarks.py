"""Scripts in benchmarks/ can be imported and print their usage, and their committed reports match their data."""

import subprocess
import sys
from pathlib import Path

import pytest

from internals import Cost, Facts

ROOT = Path(__file__).resolve().parents[2]
BENCHMARKS = ROOT / "benchmarks"
REDRAW = "python benchmarks/report.py"
CALL_HELP = """
import contextlib, io, runpy, sys, traceback

for path in sys.argv[1:]:
    sys.argv = [path, "--help"]
    output = io.StringIO()
    code = "no exit"
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            runpy.run_path(path, run_name="__main__")
    except SystemExit as ended:
        code = ended.code
    except BaseException:
        code = traceback.format_exc()
    if "usage:" not in output.getvalue().lower() or code != 0:
        print(path, code, output.getvalue())
"""
"""One process for all scripts, since their imports take longest."""


def run(*words):
    command = [sys.executable, *map(str, words)]
    done = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def scripts():
    return [path for path in sorted(BENCHMARKS.glob("*.py")) if '\nif __name__ == "__main__":\n' in path.read_text()]


def test_every_script_prints_its_usage_and_does_nothing_else():
    assert len(scripts()) > 20
    assert run("-c", CALL_HELP, *scripts()) == ""


def test_the_readme_lists_every_script_and_none_twice():
    text = (BENCHMARKS / "README.md").read_text()
    rows = [line.split("`")[1] for line in text.splitlines() if line.startswith("| `")]
    assert sorted(rows) == sorted(set(rows))
    assert [path.name for path in scripts() if f"`{path.name}`" not in text] == []


def test_shared_modules_can_be_imported():
    shared = [path.stem for path in sorted(BENCHMARKS.glob("*.py")) if path not in scripts()]
    run("-c", f"import {', '.join(shared)}")


@pytest.fixture
def report(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import report

    return report


def test_every_report_is_drawn_from_its_figures(report):
    texts = report.read_texts()
    assert len(texts) >= 15
    for name, text in texts.items():
        page = report.BENCHMARKS / name / "README.md"
        assert page.read_text(encoding="utf-8") == report.draw(report.read_sections(name), text), REDRAW
    assert (report.BENCHMARKS / "README.md").read_text(encoding="utf-8") == report.draw_index(), REDRAW


def test_a_finding_quotes_the_measurement_with_its_unit(report):
    columns = [report.Column("learner"), report.Column("classes"), report.Column("train", "s", 1)]
    table = report.Table(columns, [["pa", 10, 1.25], ["pa", 1000, 12.0]])
    sections = [report.Section("Small", []), report.Section("Training", [table])]
    assert report.fill("{Train|pa|train}, then {Training|pa / 1,000|train}", sections) == "1.2 s, then 12.0 s"


def test_a_finding_without_a_measurement_is_an_error(report):
    sections = [report.Section("Training", [report.facts(("wall time", 3.14159, "s"))])]
    assert report.fill("{|wall time|value}", sections) == "3.14 s"
    with pytest.raises(ValueError, match="no section has this row and column"):
        report.fill("{Training|ooz|value}", sections)


def test_a_section_that_is_measured_again_replaces_only_itself(report, tmp_path, monkeypatch):
    text = {"title": "T", "question": "Q?", "answer": "A.", "setup": [], "findings": [], "command": "c"}
    monkeypatch.setattr(report, "BENCHMARKS", tmp_path)
    monkeypatch.setattr(report, "read_texts", lambda: {"speed": text})
    for title, value in (("First", 1.0), ("Second", 2.0), ("First", 3.0)):
        report.save_section("speed", report.Section(title, [report.facts(("time", value, "s"))], machine="m"))
    assert [(s.title, s.tables[0].rows[0][1]) for s in report.read_sections("speed")] == [("First", 3), ("Second", 2)]


def test_the_scaling_pages_are_drawn_from_the_records(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    import scaling

    by_learner, page = scaling.read_by_learner(), scaling.PAGE.read_text(encoding="utf-8")
    assert page == scaling.redraw(page, by_learner), "python benchmarks/scaling.py"
    assert scaling.DETAILS_PAGE.read_text(encoding="utf-8") == scaling.draw_details(by_learner)


def test_the_documentation_quotes_the_measured_share_of_good_suggestions(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import suggest

    share = suggest.share_of_good(suggest.loss_rows(suggest.read_measurements(suggest.MEASURED)))
    text = (ROOT / "docs" / "how-to" / "choose-a-learner.md").read_text(encoding="utf-8")
    assert f"on {share}\n(`python benchmarks/suggest.py`)" in text


def test_a_suggestion_is_measured_without_relatives_of_the_dataset(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    import suggest

    assert {suggest.source_of(name) for name in ("icd10cm", "subsample(icd10cm, classes=60)")} == {"icd10cm"}
    assert {suggest.source_of(name) for name in ("reuters52", "reuters90")} == {"reuters"}
    one, other = (suggest.Measurement(name, facts(), "pa", "pa", cost(r1)) for name, r1 in (("a", 0.9), ("b", 0.5)))
    best = suggest.Measurement("b", facts(), "best", "best", cost(0.7))
    row = suggest.loss_row("b", [one, other, best])
    assert (row["best"], row["proposed"], row["loss"]) == ("best", "pa", "20.0")


def facts():
    return Facts(rows=100, classes=10, features_a_row=5.0, letters=None)


def cost(r1):
    return Cost(r1, train_seconds=1.0, answer_seconds=1e-6)
