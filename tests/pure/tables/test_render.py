"""Renderers: exact output in snapshots/, special characters, a page that parses and loads nothing.

HARNESS_UPDATE_SNAPSHOTS=1 rewrites the snapshots; review the diff before a commit.
"""

import csv
import io
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import MetricSpec
from harness.errors import HarnessError
from html_page import Page
from internals import FORMATS, Grid, Machine, Summary, format_value, group_records, make_table, table_to_terminal
from messages import naming

SNAPSHOTS = Path(__file__).parent / "snapshots"
COLUMNS = [
    MetricSpec(name="r1", compute="a:b", title="R1"),
    MetricSpec(name="train", compute="a:b", direction="lower", unit="seconds", depth=0, timed=True),
    MetricSpec(name="index", compute="a:b", title="index size", direction="lower", unit="count", depth=0),
    MetricSpec(name="size", compute="a:b", title="index bytes", direction="lower", unit="bytes", depth=0),
]
MACHINES = {"m1": Machine("m1", "Fast & Co. Model_1", 8), "m2": Machine("m2", "Slow", 2)}


# -- scenes ----------------------------------------------------------------------------------------------------------


class Scenes:
    """Example records, one method per scene; each returns the records and the table options."""

    def __init__(self, make):
        self.make = make

    def run(self, label, r1, train=1.5, index=2000.0, size=8e6, **fields):
        return [
            self.make(label, seed, r1=value, train=train + seed / 10, index=index, size=size, **fields)
            for seed, value in enumerate(r1)
        ]

    def whole(self):
        """Two datasets, flat and tree learners, enough trials for a test."""
        more = {
            "dataset": "icd10cm",
            "fingerprint": "beef",
            "n_train": 53505,
            "n_test": 5945,
            "representation": "tfidf",
        }
        wins = [0.90, 0.91, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97]
        return [
            *self.run("lomtree", [0.5] * 8, train=0.0021, index=812, learner_kind="tree"),
            *self.run("pa", wins, train=75, index=226_412),
            *self.run("ooz", [value - 0.005 for value in wins], train=7.25e-6, index=3.2e6),
            *self.run("pa", [0.896] * 8, train=5400, index=1.1e9, size=123, **more),
            *self.run("ooz", [0.896] * 7 + [0.9], train=1.5, index=0, size=4.5e9, **more),
        ], {}

    def failures(self):
        """One learner that always failed, one that failed in part, one without failures."""
        return [
            *self.run("good", [0.9, 0.8, 0.85]),
            *self.run("partly", [0.7, 0.6]),
            self.make("partly", 2, status="memory", message="killed during fit: 4000 MiB resident, limit 3815 MiB"),
            self.make("never", 0, status="timeout", message="killed during fit: over the limit of 10 s"),
            self.make("never", 1, status="timeout", message="killed during fit: over the limit of 10 s"),
            self.make("never", 2, status="crash", message="ended by SIGSEGV during rank"),
        ], {}

    def special(self):
        """Labels, datasets and messages with special characters of Markdown, LaTeX and HTML."""
        return [
            *self.run("a|b*c_d`e`[f](g)", [0.9] * 3, dataset="<b>&data</b>"),
            *self.run("50%_$x$#{y}~^\\z", [0.8] * 3, dataset="<b>&data</b>"),
            *self.run("[first]", [0.8] * 3, dataset="<b>&data</b>", dataset_params={"path_name": "a*b*|c"}),
            self.make(
                "*star*", 0, status="error", dataset="<b>&data</b>", message="ValueError: x_1 | <script>\n100% &"
            ),
        ], {}

    def single(self):
        """One learner, one trial."""
        return self.run("pa", [0.9]), {}

    def missing(self):
        """A metric without a value for one learner, and one without any value."""
        return [
            *self.run("pa", [0.9, 0.8]),
            *[self.make("knn", seed, r1=0.7, train=0.5, index=None) for seed in range(2)],
        ], {}

    def two_set_ups(self):
        """One label with two parameter sets."""
        return [
            *self.run("pa", [0.9, 0.8], params={"C": 0.1, "step": "exact"}),
            *self.run("pa", [0.7, 0.8], params={"C": 10}),
        ], {}

    def jobs(self):
        """Trials that shared the machine."""
        return [*self.run("pa", [0.9, 0.8], jobs=4), *self.run("ooz", [0.7, 0.8], jobs=4)], {}

    def mixed_left_out(self):
        """Two machines, without the flag."""
        return [*self.run("pa", [0.9, 0.8]), *self.run("ooz", [0.7, 0.8], machine="m2")], {}

    def mixed_shown(self):
        """Two machines, with the flag."""
        return self.mixed_left_out()[0], {"mixed_machines": True}

    def by_learner(self):
        """The scene `whole`, grouped by learner."""
        return self.whole()[0], {"by": "learner"}


@pytest.fixture(scope="session")
def table_of(make_record):
    def make(scene):
        records, options = getattr(Scenes(make_record), scene)()
        return make_table(group_records(records), COLUMNS, machines=MACHINES, test="sign", **options)

    return make


def assert_snapshot(name, text):
    path = SNAPSHOTS / f"{name}.txt"
    if os.environ.get("HARNESS_UPDATE_SNAPSHOTS"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("scene", ["whole", "failures", "special"])
def test_every_format_matches_its_snapshot(table_of, scene, form):
    assert_snapshot(f"{scene}-{form}", table_of(scene).render(form))


@pytest.mark.parametrize(
    "scene", ["single", "missing", "two_set_ups", "jobs", "mixed_left_out", "mixed_shown", "by_learner"]
)
def test_terminal_output_matches_its_snapshot(table_of, scene):
    assert_snapshot(f"{scene}-terminal", table_of(scene).render())


GRID = Grid(
    "a|b <script>",
    ("learner", "R1", "50%_$x$"),
    (("pa", "0.900 ± 0.010", "<b>&*"), ("[ooz]", "-", "~^\\z")),
    (
        {"learner": "pa", "r1": 0.9, "within": True, "note": "<b>&*"},
        {"learner": "[ooz]", "r1": None, "within": None, "note": "~^\\z"},
    ),
    ("Foot: 100% & <more>.", "Second line."),
)


@pytest.mark.parametrize("form", FORMATS)
def test_every_format_of_a_grid_matches_its_snapshot(form):
    assert_snapshot(f"grid-{form}", GRID.render(form))


def test_an_empty_grid_can_be_written_in_every_format():
    empty = Grid("none", ("setting", "first"), (), (), ("All the same.",))
    for form in FORMATS:
        assert ("All the same." in empty.render(form)) == (form != "csv")


def test_no_snapshot_is_unused():
    source = Path(__file__).read_text(encoding="utf-8")
    for path in SNAPSHOTS.iterdir():
        scene, _, form = path.stem.rpartition("-")
        assert f'"{scene}"' in source or f'f"{scene}-' in source
        assert form in FORMATS


def test_a_colour_terminal_shows_bold_and_the_star(table_of):
    plain, coloured = table_to_terminal(table_of("whole")), table_to_terminal(table_of("whole"), colour=True)
    assert "\033" not in plain
    assert coloured.count("\033[1m") == coloured.count(" *\033[0m") == plain.count("*")
    assert coloured.replace("\033[1m", "").replace("\033[0m", "") == plain


# -- numbers ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("unit", "mean", "sd", "text"),
    [
        ("share", 0.8625, 0.0041, "0.863 ± 0.004"),
        ("share", 1.0, None, "1.000"),
        ("seconds", 5400.0, None, "1.50 h"),
        ("seconds", 1860.0, 60.0, "31.0 ± 1.0 min"),
        ("seconds", 59.9, None, "59.9 s"),
        ("seconds", 1.5, 0.25, "1.50 ± 0.25 s"),
        ("seconds", 0.0123, None, "12.3 ms"),
        ("seconds", 4.5e-6, None, "4.50 µs"),
        ("seconds", 2e-9, None, "2.00 ns"),
        ("seconds", 0.0, None, "0.00 ns"),
        ("count", 226_412.0, None, "226k"),
        ("count", 226_412.0, 1200.0, "226 ± 1k"),
        ("count", 3.2e6, 1e5, "3.20 ± 0.10M"),
        ("count", 1.1e9, None, "1.10G"),
        ("count", 12.0, None, "12.0"),
        ("count", 0.0, 0.0, "0.00 ± 0.00"),
        ("bytes", 123.0, None, "123 B"),
        ("bytes", 1.5e3, None, "1.50 kB"),
        ("bytes", 1.5e6, None, "1.50 MB"),
        ("bytes", 1.5e9, None, "1.50 GB"),
        ("bytes", 4.5e9, None, "4.50 GB"),
        ("seconds", 3600.0, None, "1.00 h"),
        ("seconds", 60.0, None, "1.00 min"),
        ("seconds", 1e-3, None, "1.00 ms"),
        ("count", 1000.0, None, "1.00k"),
        ("count", 100.0, None, "100"),
        ("count", 1.0, None, "1.00"),
        ("count", 0.5, None, "0.500"),
    ],
)
def test_numbers_have_few_digits_and_units(unit, mean, sd, text):
    metric = MetricSpec(name="m", compute="a:b", unit=unit)
    assert format_value(Summary(mean, sd, 3), metric) == text


@given(st.sampled_from(["share", "seconds", "count", "bytes"]), st.floats(0, 1e15), st.none() | st.floats(0, 1e15))
def test_any_number_can_be_written(unit, mean, sd):
    assert format_value(Summary(mean, sd, 2), MetricSpec(name="m", compute="a:b", unit=unit))


def test_a_footnote_cannot_leave_its_latex_comment(table_of):
    for line in table_of("special").render("latex").splitlines():
        assert "ValueError" not in line or line.startswith("% ")


# -- formats for programs --------------------------------------------------------------------------------------------


def test_csv_has_full_precision_and_failures(table_of):
    rows = {row["learner"]: row for row in csv.DictReader(io.StringIO(table_of("failures").render("csv")))}
    assert float(rows["good"]["r1"]) == pytest.approx(0.85, abs=1e-15)
    assert (rows["good"]["r1_n"], rows["good"]["r1_best"]) == ("3", "1")
    assert (rows["never"]["r1"], rows["never"]["r1_sd"], rows["never"]["r1_n"]) == ("TIMEOUT 2/3, CRASH 1/3", "", "0")
    assert rows["partly"]["trials"] == "2/3, MEMORY 1/3"


def test_json_is_strict_json(table_of):
    def refuse(constant):
        raise AssertionError(constant)

    for scene in ("whole", "failures", "missing"):
        assert json.loads(table_of(scene).render("json"), parse_constant=refuse)["groups"]


# -- the page --------------------------------------------------------------------------------------------------------


def test_the_page_parses_and_loads_nothing(table_of):
    text = table_of("special").render("html")
    page = Page(text)
    assert page.texts.keys() <= {
        *("html", "head", "title", "style", "body", "h2", "p", "table", "thead", "tbody", "tr", "th", "td", "strong"),
        "footer",
    }
    assert {name for _, name, _ in page.attributes} == {"lang", "charset", "name", "content", "class"}
    assert not re.search(r"https?:|@import|url\(|javascript", text)


def test_a_browser_shows_the_table(table_of, tmp_path):
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("no chromium on PATH")
    (tmp_path / "page.html").write_text(table_of("special").render("html"), encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}", "--dump-dom"]
    command = [browser, *options, (tmp_path / "page.html").as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    page = Page(shown.partition("<html")[1] + shown.partition("<html")[2])
    assert page.texts["td"][0] == "a|b*c_d`e`[f](g)"
    assert "ERROR 1/1" in page.texts["td"]
    assert "script" not in page.texts


# -- tables that show themselves -------------------------------------------------------------------------------------


def test_tables_and_grids_print_as_in_a_terminal(table_of):
    assert str(table_of("whole")) == table_of("whole").render("terminal")
    assert str(GRID) == GRID.render("terminal")


@pytest.mark.parametrize("name", ["harness-table", "harness-grid"])
def test_in_a_notebook_tables_are_escaped_html_fragments_with_classes(table_of, name):
    shown = {"harness-table": table_of("special"), "harness-grid": GRID}[name]
    fragment = shown._repr_html_()
    page = Page(fragment)
    assert page.attributes[0] == ("div", "class", name)
    assert not page.texts.keys() & {"html", "head", "body", "style", "script"}
    inner = fragment.removeprefix(f'<div class="{name}">\n').removesuffix("\n</div>")
    assert f"<body>\n{inner}\n</body>" in shown.render("html")


def test_failures_in_a_notebook_have_a_css_class(table_of):
    assert ("td", "class", "failed") in Page(table_of("failures")._repr_html_()).attributes


def test_a_table_becomes_a_frame_with_full_precision(table_of):
    frame = table_of("failures").to_frame().set_index("learner")
    assert frame.loc["good", "r1"] == pytest.approx(0.85, abs=1e-15)
    assert (frame.loc["good", "r1_n"], bool(frame.loc["good", "r1_best"])) == (3, True)
    assert frame["r1"].isna().to_dict() == {"good": False, "partly": False, "never": True}
    assert list(frame["trials"]) == ["3", "2/3, MEMORY 1/3", "0/3"]


def test_a_grid_becomes_a_frame_of_plain_values():
    assert GRID.to_frame().to_dict("list")["learner"] == ["pa", "[ooz]"]


def test_an_unknown_format_is_rejected_with_the_list_of_formats(table_of):
    for shown in (table_of("single"), GRID):
        with pytest.raises(HarnessError, match=naming("word")):
            shown.render("word")


def test_every_format_has_a_distinct_extension():
    endings = [form.ending for form in FORMATS.values()]
    assert endings == ["txt", "md", "tex", "csv", "json", "html"]
    assert [name for name, form in FORMATS.items() if form.for_programs] == ["csv", "json"]
