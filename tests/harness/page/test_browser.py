"""The page in a real browser: what a reader sees, presses, shares and prints; no complaint, no request, ever."""

import csv
import io
from urllib.parse import quote

import numpy as np
import pytest
from selenium.webdriver.common.keys import Keys

from browser import Opened, axe_script, start_browser
from harness.figures.answers import Answers
from harness.groups import group_records
from harness.page import Page
from harness.page.content import PageGrid
from harness.sdk.by_class import ByClass, Confusion, FrequencyBin
from harness.sdk.selective import risk_curve
from harness.tables.table import make_table
from harness.tables.words import cell_words
from tabling import INDEX, MACHINES, R1, TRAIN

HOSTILE = '<img src=x onerror="window.hacked=1">\'"&🌲 שלום</script><script>window.hacked=2</script>'
METRICS = [R1, TRAIN, INDEX]


@pytest.fixture(scope="module")
def records(trials_of, make_record):
    """Learners of both kinds on two data sets, with curves and a sweep; one failed, one has a name that attacks."""
    made = []
    for dataset, classes in (("small", 10), ("large", 100)):
        place = {"dataset": dataset, "fingerprint": dataset, "n_classes": classes}
        curve = [{"passes": n, "scores": {"r1": n / 4, "train": float(n)}} for n in (1, 2, 3)]
        made += trials_of("pa(C=1)", 0.8, 2.0, params={"C": 1}, curve=curve, **place)
        made += trials_of("pa(C=2)", 0.9, 40.0, params={"C": 2}, curve=curve, **place)
        made += trials_of("tree", 0.7, 0.502, learner_kind="tree", **place)
    made += trials_of(HOSTILE, 0.6, 1.0, dataset="small", fingerprint="small", params={"why": HOSTILE})
    failed = {"dataset": "large", "fingerprint": "large", "status": "error", "message": f"no room {HOSTILE}"}
    made += [make_record("bad", seed, traceback='File "x.py"\n<b>boom</b>', **failed) for seed in range(3)]
    return made


def some_answers(record):
    """A learner whose surest rows are right, whose last one is wrong, and which takes one class for another."""
    risk = risk_curve(np.array([3.0, 2.0, 1.0]), np.array([False, False, True]))
    bins = (FrequencyBin(1, 1.0, 4, 2), FrequencyBin(8, 9.0, 4, 4))
    taken_for = record.label if record.label in ("tree", "pa(C=2)") else "other"
    return Answers(risk, ByClass(bins, (0.9, 0.8), (Confusion(HOSTILE, taken_for, 1),), {HOSTILE: 4}))


@pytest.fixture(scope="module")
def path(records, part_of, trials_of, tmp_path_factory):
    published = PageGrid("paper", ("data set", "published"), (("small", "0.912"), (HOSTILE, "0.8")), ("a note",))
    first = part_of(records, read_answers=some_answers)
    object.__setattr__(first, "published", (published,))
    second = part_of(trials_of(HOSTILE, 0.5, 1.0, dataset=HOSTILE, fingerprint="other"))
    object.__setattr__(second, "title", HOSTILE)
    return Page((first, second), title=HOSTILE).save(tmp_path_factory.mktemp("page") / "report.html")


@pytest.fixture(scope="module")
def browser():
    driver = start_browser()
    yield driver
    driver.quit()


@pytest.fixture(scope="module")
def axe(tmp_path_factory):
    return axe_script(tmp_path_factory.mktemp("axe"))


@pytest.fixture
def page(browser, path):
    """The page, freshly opened; after the test nothing was complained of, nothing asked for, and nothing run."""
    opened = Opened(browser, path)
    opened.complaints(), opened.requests()
    opened.media()
    yield opened.open()
    assert opened.complaints() == []
    assert opened.requests() == []
    assert opened.run("return window.hacked") is None


def learners(page):
    return page.texts(".results th[scope=row]")


def column(page, title):
    return page.texts(f".results td[data-label='{title}']")


# -- table -----------------------------------------------------------------------------------------------------------


def test_cells_read_as_in_the_text_table(page, records):
    table = make_table(group_records(records), METRICS, machines=MACHINES)
    expected = []
    for group in table.groups:
        for row in group.rows:
            words = [
                cell_words(cell, metric) + "★" * cell.best for cell, metric in zip(row.cells, METRICS, strict=True)
            ]
            expected.append([row.title, *words[:2]])
    found = zip(learners(page), column(page, "R1"), column(page, "train"), strict=True)
    assert [list(row) for row in found] == expected
    page.keep("table")


def test_a_column_sorts_best_first_then_worst_first_then_as_it_was(page):
    as_run = learners(page)
    page.press("R1")
    assert learners(page)[:4] == ["pa(C=2)", "pa(C=1)", "tree", HOSTILE]
    assert page.one("th[aria-sort=descending]").text.startswith("R1")
    page.press("R1")
    assert learners(page)[:4] == [HOSTILE, "tree", "pa(C=1)", "pa(C=2)"]
    assert learners(page)[-1] == "bad", "what has no value comes last, whatever the order"
    page.press("R1")
    assert learners(page) == as_run


def test_filters_leave_what_they_name(page):
    page.choose("filters", "kind", "tree")
    assert learners(page) == ["tree", "tree"]
    page.choose("filters", "data set", "large")
    assert learners(page) == ["tree"]
    page.choose("filters", "kind", "")
    page.one("#find").send_keys("PA")
    assert learners(page) == ["pa(C=1)", "pa(C=2)"]
    assert page.one("#row-count").text.startswith("2 of 8 rows.")
    assert page.run("return document.activeElement.id") == "find", "typing goes on after the table is made anew"


def test_metrics_can_be_chosen(page):
    page.one("#metrics summary").click()
    page.one("#metrics input[value=index]").click()
    page.one("#metrics input[value=train]").click()
    assert page.texts(".results thead th")[3:] == ["R1", "|I|"]
    assert column(page, "|I|")[0] == "5.50 ± 3.03k★"


def test_every_trial_can_be_seen(page):
    page.choose("filters", "show", "trials")
    assert column(page, "R1")[0].split()[:3] == ["0.800", "0.799", "0.798"]
    page.choose("filters", "show", "mean")
    assert column(page, "R1")[0] == "0.796"


@pytest.mark.parametrize("words", ["Copy as Markdown", "Copy as LaTeX", "Copy as CSV"])
def test_the_table_can_be_copied(page, words):
    page.run("Object.defineProperty(navigator, 'clipboard', {value: undefined})")  # a browser that has none
    page.choose("filters", "kind", "tree")
    page.press(words)
    text = page.one("dialog textarea").get_property("value")
    if words.endswith("CSV"):
        rows = list(csv.reader(io.StringIO(text)))
        assert rows[0] == ["data set", "learner", "kind", "trials", "R1", "train"]
        assert rows[1][:4] == ["small", "tree", "tree", "10"]
        assert float(rows[1][4]) == pytest.approx(0.6955)
    elif words.endswith("LaTeX"):
        assert r"small & tree & tree & 10 & 0.696 $\pm$ 0.003 & \textbf{525 $\pm$ 15 ms} \\" in text
    else:
        assert "| small | tree | tree | 10 | 0.696 ± 0.003 | **525 ± 15 ms** |" in text


# -- failures and learners -------------------------------------------------------------------------------------------


def test_a_failed_cell_tells_how_when_it_is_pressed(page):
    page.all(".results td .failure")[0].click()
    dialog = page.one("dialog[open]")
    assert f"no room {HOSTILE}" in page.texts("dialog")[0]
    assert page.texts("dialog pre") == ['File "x.py"\n<b>boom</b>']
    page.keep("failure")
    dialog.send_keys(Keys.ESCAPE)
    assert page.all("dialog[open]") == []
    assert "failure" in page.run("return document.activeElement.className"), "the focus goes back"


def test_failures_are_listed(page):
    assert page.texts("#failures li")[0].startswith("bad on large: error, no room")


def test_a_chosen_learner_is_lit_up_in_table_and_figure_and_told_of(page):
    assert faded(page) == 0
    page.run("document.querySelector('[data-learner=tree]').click()")
    assert len(page.all("tr.lit")) == 2
    page.wait(lambda: faded(page) > 0)
    assert page.texts("#learner summary")[:2] == ["small", "large"]
    assert "Fast, 8 cores (m1)" in page.texts("#learner dd")
    assert page.texts("#learner td")[0] == "seed 0"
    assert "learner=tree" in page.driver.current_url
    page.keep("learner")


def faded(page):
    """How many marks of the figure are pale."""
    page.wait(lambda: page.all("#chart svg"))
    return page.run("return document.querySelectorAll('#chart svg [opacity=\"0.12\"]').length")


def test_confusions_are_those_of_the_chosen_learner_or_of_the_best(page):
    assert page.texts("#classes td") == [HOSTILE, "pa(C=2)", "10 of 40", "0.250"]
    page.open("learner=tree&classes=large")
    assert page.texts("#classes td")[1] == "tree"
    page.press("Right at each level of the class tree")
    page.wait(lambda: "level of the class tree" in page.texts("#chart svg text"))
    assert "on=large" in page.driver.current_url
    page.open("part=" + quote(HOSTILE))
    assert page.texts("#classes")[0].startswith("Of all trials the ranks or the data are not at hand")


def test_names_are_shown_and_never_run(page):
    assert page.texts("h1") == [HOSTILE]
    assert HOSTILE in learners(page)
    page.choose("page-controls", "results", HOSTILE)
    assert page.texts("tr.dataset bdi") == [HOSTILE]
    page.wait(lambda: page.all("#chart svg"))
    page.keep("names")


@pytest.mark.parametrize(
    "attack",
    [
        "const s = document.createElement('script'); s.textContent = 'window.hacked = 3'; document.body.append(s)",
        "document.body.insertAdjacentHTML('beforeend', '<img src=data: onerror=\"window.hacked = 4\">')",
        "const i = new Image(); i.src = 'http://127.0.0.1:9/x'; document.body.append(i)",
    ],
)
def test_the_policy_stops_what_would_run_or_ask_all_the_same(page, attack):
    page.run(attack)
    complaints = []
    page.wait(lambda: complaints.extend(page.complaints()) or "Content Security Policy" in "".join(complaints))
    page.requests()  # what was asked for here was refused before it left, as the browser has just said


# -- figures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        ("pareto", ["pa(C=2)", "tree", "R1", "train"]),
        ("bars", ["0.796 ± 0.003", "tree"]),
        ("curve", ["passes", "pa(C=1)"]),
        ("sweep", ["C", "pa"]),
        ("scaling", ["classes", "100"]),
        ("coverage", ["accuracy", "share of rows, the surest first", "tree"]),
        ("frequency", ["R1", "training rows of the class", "tree"]),
        ("levels", ["share of rows right", "level of the class tree", "tree"]),
        ("ranks", ["average rank by R1 (1 is best)", "tree", "3.00"]),
    ],
)
def test_every_figure_is_drawn_with_its_words(page, figure, words):
    page.open(f"figure={figure}")
    page.wait(lambda: page.all("#chart svg text"))
    shown = page.texts("#chart svg text")
    assert [word for word in words if word not in shown] == []
    assert len(page.all("#chart svg path")) > 3
    page.run("document.getElementById('figures-heading').scrollIntoView()")
    page.keep(f"figure-{figure}")


def test_any_two_metrics_can_be_set_against_each_other(page):
    page.choose("figure-controls", "x", "index")
    page.choose("figure-controls", "y", "train")
    page.wait(lambda: {"|I|", "train"} <= set(page.texts("#chart svg text")))


def test_ticks_have_a_space_before_their_unit_in_every_scale(page):
    page.open("figure=pareto&x=train&y=r1")
    page.wait(lambda: "10 s" in page.texts("#chart svg text"))
    assert "500 ms" in page.texts("#chart svg text")


# -- sharing, colours, paper, phone, keyboard ------------------------------------------------------------------------


def test_an_address_shows_the_same_view(page):
    page.press("train")
    page.choose("filters", "data set", "large")
    page.choose("figure-controls", "figure", "bars")
    seen = learners(page)
    state = page.driver.current_url.partition("#")[2]
    page.open()
    assert learners(page) != seen
    page.open(state)
    assert learners(page) == seen
    assert page.one("th[aria-sort=ascending]").text.startswith("train")
    assert page.all("#figure-controls select")[0].get_property("value") == "bars"


def test_an_address_that_makes_no_sense_shows_the_page_all_the_same(page):
    page.open("part=nobody&sort=-nothing&figure=none&metrics=none&x=q&y=q&dataset=")
    assert len(learners(page)) == 8
    page.wait(lambda: page.all("#chart svg"))


def test_dark_and_light_by_system_and_by_choice(page):
    light = page.colour("body")
    page.choose("page-controls", "colours", "dark")
    dark = page.colour("body")
    assert light != dark
    page.keep("dark")
    page.media(prefers_color_scheme="dark")
    page.open()
    assert page.colour("body") == dark
    page.choose("page-controls", "colours", "light")
    assert page.colour("body") == light


def test_a_phone_shows_scores_without_moving_sideways(page):
    page.open(width=390)
    page.wait(lambda: page.all("#chart svg"))
    assert page.run("return document.documentElement.scrollWidth") <= 390
    right = page.run("return document.querySelector('td.number').getBoundingClientRect().right")
    assert right <= 390
    page.run("document.getElementById('table').scrollIntoView()")
    page.keep("phone")


def test_paper_shows_no_controls(page):
    assert page.colour("#filters", "display") == "flex"
    page.media(media="print")
    assert page.colour("#filters", "display") == "none"
    assert page.colour(".results", "display") == "table"


def test_keys_are_enough(page):
    page.run("document.querySelector('[data-sort=train]').focus()")
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert learners(page)[0] == "tree"
    assert page.run("return document.activeElement.dataset.sort") == "train", "the focus stays on the column"


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(page, theme, axe):
    page.open(f"theme={theme}&learner=tree")
    page.wait(lambda: page.all("#chart svg"))
    page.run(axe)
    found = page.driver.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
    assert found["passes"], "axe looked at something"
    serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    assert [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in serious] == []
