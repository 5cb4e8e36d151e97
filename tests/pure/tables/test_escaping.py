"""Special characters: any label is shown literally in every format and never interpreted."""

import csv
import io
import json
import re

from hypothesis import example, given
from hypothesis import strategies as st

from harness import MetricSpec
from html_page import Page, markdown_page
from internals import Cell, ComparisonTable, Group, Row, Summary

words = st.text(st.characters(min_codepoint=32, max_codepoint=126), min_size=1, max_size=12).map(
    lambda text: f"x{text}x"  # Markdown and HTML trim surrounding spaces
).filter(lambda text: "  " not in text)  # fmt: skip


def table_with(label):
    metric = MetricSpec(name="m", compute="a:b", title=label)
    row = Row(label, "flat", "3", (Cell(Summary(0.5, None, 3), best=True),))
    return ComparisonTable((metric,), "learner", (Group(label, label, (row,)),), (label,))


@given(words)
@example("x|y")
@example("x\\|y")
@example("x<script>alert(1)</script>&amp;y")
@example("x**y**_z_ ~~w~~ $a$ `b` [c](d) ![e](f)")
def test_any_label_is_shown_literally_in_markdown(label):
    page = markdown_page(table_with(label).render("markdown"))
    assert page.texts["td"][0] == label
    assert page.texts["th"][-1] == label
    assert page.texts["h3"] == [label]
    assert [text.strip() for text in page.texts["p"]] == [label, label]
    assert page.texts["strong"] == ["0.500"]
    assert not page.texts.keys() & {"em", "code", "a", "img", "script", "del"}


@given(words)
@example("x<script>alert(1)</script>&amp;\"'y")
def test_any_label_is_shown_literally_in_html(label):
    page = Page(table_with(label).render("html"))
    assert page.texts["td"][0] == page.texts["th"][-1] == page.texts["h2"][0] == label
    assert page.texts["footer"][0].strip() == label
    assert page.texts["strong"] == ["0.500"]


LATEX = {
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textbar{}": "|",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"{[}": "[",
    r"{*}": "*",
} | {f"\\{c}": c for c in "&%$#_{}"}


@given(words)
@example("x[y]")
def test_any_label_is_escaped_in_latex(label):
    line = table_with(label).render("latex").splitlines()[-3]
    assert line.endswith(r" & flat & 3 & \textbf{0.500} \\")
    shown = line.removesuffix(r" & flat & 3 & \textbf{0.500} \\")
    tokens = re.findall("|".join(map(re.escape, LATEX)) + "|.", shown)
    assert "".join(LATEX.get(token, token) for token in tokens) == label
    assert not set(tokens) & set("\\&%$#_{}~^<>|[*")


def test_a_footnote_of_several_lines_stays_a_comment_in_latex():
    lines = table_with("x\n\\input{secrets}").render("latex").splitlines()
    assert lines[0] == "% x \\input{secrets}"
    assert not any(line.startswith("\\input") for line in lines)


@given(words)
@example('x"y,z')
def test_any_label_is_read_back_from_csv_and_json(label):
    rows = list(csv.DictReader(io.StringIO(table_with(label).render("csv"))))
    assert rows[0]["learner"] == rows[0]["group"] == label
    content = json.loads(table_with(label).render("json"))
    assert content["groups"][0]["rows"][0]["learner"] == content["footnotes"][0] == label
