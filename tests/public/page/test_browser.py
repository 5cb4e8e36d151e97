"""The page in a real browser: views, controls, links and print; no console message and no request."""

import csv
import io
from urllib.parse import quote

import numpy as np
import pytest
from selenium.webdriver.common.keys import Keys

from browser import SMALLEST_CONTRAST_OF_SHAPES, Opened, axe_script, contrasts, start_browser, texts_of_low_contrast
from internals import (
    Answers,
    ByClass,
    Confusion,
    FrequencyBin,
    Page,
    PageGrid,
    cell_words,
    group_records,
    make_table,
    risk_curve,
)
from small_tables import INDEX, MACHINES, R1, TRAIN

HOSTILE = '<img src=x onerror="window.hacked=1">\'"&🌲 שלום</script><script>window.hacked=2</script>'
METRICS = [R1, TRAIN, INDEX]


@pytest.fixture(scope="module")
def records(trials_of, make_record):
    """Return learners of both kinds on two datasets with curves and a sweep; one failed, one has a hostile name."""
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
    """Return predictions with confident hits, a wrong last row, and a confusion."""
    risk = risk_curve(np.array([3.0, 2.0, 1.0]), np.array([False, False, True]))
    bins = (FrequencyBin(1, 1.0, 4, 2), FrequencyBin(8, 9.0, 4, 4))
    taken_for = record.label if record.label in ("tree", "pa(C=2)") else "other"
    return Answers(risk, ByClass(bins, (0.9, 0.8), (Confusion(HOSTILE, taken_for, 1),), {HOSTILE: 4}))


@pytest.fixture(scope="module")
def path(records, part_of, trials_of, tmp_path_factory):
    published = PageGrid("paper", ("dataset", "published"), (("small", "0.912"), (HOSTILE, "0.8")), ("a note",))
    first = part_of(records, answers_of=some_answers)
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
    """Open the page; after the test there was no console message, request or injected script."""
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


# -- answer ----------------------------------------------------------------------------------------------------------


def bottom(page, selector):
    return page.run(f"return document.querySelector({selector!r}).getBoundingClientRect().bottom")


def test_the_first_screen_shows_the_answer(page):
    page.wait(lambda: page.all("#chart svg"))
    assert page.texts(".card h3") == ["Most accurate", "Fastest within 1 point"]
    assert page.texts(".card .winner bdi") == ["pa(C=2)", "pa(C=2)"]
    assert "R1 0.89" in page.texts(".card .quality")[0]
    assert bottom(page, "#cards") <= 800
    assert bottom(page, "#chart svg") <= 800
    page.keep("answer")


def test_a_phone_shows_the_answer_first(page):
    page.open(width=390)
    assert bottom(page, "#cards") <= 800
    page.keep("phone-answer")


def test_the_chosen_dataset_decides_cards_and_figure(page):
    page.choose("answer-controls", "dataset", "large")
    page.wait(lambda: page.texts("#chart-caption")[0].startswith("large"))
    assert page.texts("#verdict")[0].endswith("bad failed in 3 of 3 trials.")
    assert "on=large" in page.driver.current_url


def test_a_learner_pressed_on_a_card_is_highlighted_everywhere(page):
    page.all(".card .name")[0].click()
    assert len(page.all(".card.lit")) == 2
    assert page.texts(".heat tr.lit th") == ["pa(C=2)"]
    assert len(page.all(".results tr.lit")) == 2
    page.all(".card .name")[0].click()
    assert page.all(".card.lit") == []


@pytest.mark.parametrize(
    "place", [".card .name", ".picks .name[data-focus^=pick]", ".heat th .name[data-focus='rank pa(C=2)']"]
)
def test_a_learner_pressed_anywhere_is_highlighted_everywhere(page, place):
    page.wait(lambda: page.all("#chart svg"))
    page.all(place)[0].click()
    assert highlighted(page) == {"pa(C=2)"}
    assert len(page.all(".picks td.lit")) == 4
    page.wait(lambda: faded(page) > 0)
    page.all(place)[0].click()
    assert highlighted(page) == set()


def test_a_point_pressed_in_the_figure_is_highlighted_everywhere(page):
    page.wait(lambda: page.all("#chart svg"))
    page.one(NAMED_POINT.format("pa(C=2)")).click()
    assert highlighted(page) == {"pa(C=2)"}


NAMED_POINT = "#chart .mark-symbol path[aria-label*='{}']"


def highlighted(page):
    """Return the learners that are highlighted in all of cards, heat map, table and details; empty if none is."""
    places = [".card.lit .name", ".heat tr.lit .name", ".results tr.lit .name"]
    found = [set(page.texts(place)) for place in places]
    chosen = page.run("return document.querySelector('#learner-controls select').value")
    return set.intersection({chosen}, *found)


def test_every_dataset_has_its_picks_in_a_row(page):
    assert page.texts(".picks thead th") == ["dataset", "Most accurate", "Fastest within 1 point"]
    assert page.texts(".picks tbody th") == ["small", "large"]
    assert page.texts(".picks tbody tr:first-child td") == ["pa(C=2)R1 0.895", "pa(C=2)train 41.8 s"]


@pytest.mark.parametrize("place", [".picks", ".heat"])
def test_a_dataset_pressed_in_an_overview_shows_its_cards_and_figure(page, place):
    page.wait(lambda: page.all("#chart svg"))
    page.press_in(place, "large")
    page.wait(lambda: page.texts("#chart-caption")[0].startswith("large"))
    assert page.one("#answer-controls select").get_property("value") == "large"


def test_a_heat_map_of_many_learners_shows_the_best_and_the_chosen_until_all_are_wanted(
    browser, part_of, trials_of, tmp_path
):
    records = []
    for dataset in ("one", "two"):
        for n in range(30):
            records += trials_of(f"learner-{n:02}", 0.9 - n / 100, 1.0, n=1, dataset=dataset, fingerprint=dataset)
    opened = Opened(browser, Page((part_of(records),)).save(tmp_path / "page.html")).open("learner=learner-27")
    assert opened.texts(".heat tbody th") == [f"learner-{n:02}" for n in (*range(20), 27)]
    opened.press("Show all 30 learners")
    assert len(opened.texts(".heat tbody th")) == 30


def test_picks_and_the_chosen_learner_are_named_in_a_crowded_figure(browser, part_of, trials_of, tmp_path):
    records = []
    for n in range(40):
        train = 2.0 if n == 0 else 1.0 + n / 100
        records += trials_of(f"learner-{n}", 0.9 - n / 10_000, train, n=1, representation=f"r{n}")
    opened = Opened(browser, Page((part_of(records),)).save(tmp_path / "page.html")).open("learner=learner-33")
    opened.wait(lambda: opened.all("#chart svg text"))
    shown = opened.texts("#chart svg .mark-text text")
    assert "learner-0" in shown
    assert "learner-33" in shown
    assert "learner-20" not in shown


def test_the_overview_ranks_learners_on_every_dataset(page):
    assert page.texts(".heat tbody th")[:3] == ["pa(C=2)", "pa(C=1)", "tree"]
    assert page.texts(".heat tbody tr:first-child td") == ["1.0", "1", "1"]
    # Four learners finished on one dataset, three on the other: the failed one is fifth and fourth.
    assert page.texts(".heat tbody tr:last-child td") == ["4.5", "-", "-"]


def test_one_dataset_has_no_overview(page):
    page.choose("page-controls", "results", HOSTILE)
    assert page.colour("#overview-section", "display") == "none"


def test_warnings_are_one_line_until_opened(page, browser, part_of, trials_of, tmp_path):
    part = part_of(
        [*trials_of("a", 0.5, 1.0), *trials_of("b", 0.6, 1.0)], notes=("warning: 3 trials may be distorted",)
    )
    opened = Opened(browser, Page((part,)).save(tmp_path / "page.html")).open()
    assert opened.texts(".notice summary") == ["1 warning about these measurements"]
    assert not opened.one(".notice p").is_displayed()
    opened.one(".notice summary").click()
    assert opened.one(".notice p").text == "warning: 3 trials may be distorted"
    opened.complaints(), opened.requests()


# -- table -----------------------------------------------------------------------------------------------------------


def test_cells_read_as_in_the_text_table(page, records):
    table = make_table(group_records(records), METRICS, machines=MACHINES, test="sign")
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


def test_a_column_sorts_best_first_then_worst_first_then_in_the_original_order(page):
    as_run = learners(page)
    page.press("R1")
    assert learners(page)[:4] == ["pa(C=2)", "pa(C=1)", "tree", HOSTILE]
    assert page.one("th[aria-sort=descending]").text.startswith("R1")
    page.press("R1")
    assert learners(page)[:4] == [HOSTILE, "tree", "pa(C=1)", "pa(C=2)"]
    assert learners(page)[-1] == "bad", "what has no value comes last, whatever the order"
    page.press("R1")
    assert learners(page) == as_run


def test_filters_keep_the_named_rows(page):
    page.choose("filters", "kind", "tree")
    assert learners(page) == ["tree", "tree"]
    page.choose("filters", "dataset", "large")
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
    assert page.texts(".results thead th")[3:] == ["R1", "index size"]
    assert column(page, "index size")[0] == "5.50 ± 3.03k★"


def test_every_trial_can_be_seen(page):
    page.choose("filters", "show", "trials")
    assert column(page, "R1")[0].split()[:3] == ["0.800", "0.799", "0.798"]
    page.choose("filters", "show", "mean")
    assert column(page, "R1")[0] == "0.796"


@pytest.mark.parametrize("words", ["Copy as Markdown", "Copy as LaTeX", "Copy as CSV"])
def test_the_table_can_be_copied(page, words):
    page.run("Object.defineProperty(navigator, 'clipboard', {value: undefined})")  # a browser without one
    page.choose("filters", "kind", "tree")
    page.press(words)
    text = page.one("dialog textarea").get_property("value")
    if words.endswith("CSV"):
        rows = list(csv.reader(io.StringIO(text)))
        assert rows[0] == ["dataset", "learner", "kind", "trials", "R1", "train"]
        assert rows[1][:4] == ["small", "tree", "tree", "10"]
        assert float(rows[1][4]) == pytest.approx(0.6955)
    elif words.endswith("LaTeX"):
        assert r"small & tree & tree & 10 & 0.696 $\pm$ 0.003 & \textbf{525 $\pm$ 15 ms} \\" in text
    else:
        assert "| small | tree | tree | 10 | 0.696 ± 0.003 | **525 ± 15 ms** |" in text


# -- failures and learners -------------------------------------------------------------------------------------------


def test_a_failed_cell_shows_the_reason_when_pressed(page):
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


def test_a_chosen_learner_is_highlighted_in_table_and_figure_and_described(page):
    assert faded(page) == 0
    page.run("document.querySelector('[data-learner=tree]').click()")
    assert len(page.all(".results tr.lit")) == 2
    page.wait(lambda: faded(page) > 0)
    assert page.texts("#learner summary")[:2] == ["small", "large"]
    assert "Fast, 8 cores (m1)" in page.texts("#learner dd")
    assert page.texts("#learner td")[0] == "seed 0"
    assert "learner=tree" in page.driver.current_url
    page.keep("learner")


def faded(page):
    """Return the number of pale marks in the figure."""
    page.wait(lambda: page.all("#chart svg"))
    return page.run("return document.querySelectorAll('#chart svg [opacity=\"0.25\"]').length")


def test_confusions_are_those_of_the_chosen_or_the_best_learner(page):
    assert page.texts("#classes td") == [HOSTILE, "pa(C=2)", "10 of 40", "0.250"]
    page.open("learner=tree&classes=large")
    assert page.texts("#classes td")[1] == "tree"
    page.press("Right at each level of the class tree")
    page.wait(lambda: "level of the class tree" in page.texts("#chart svg text"))
    assert "on=large" in page.driver.current_url
    page.open("part=" + quote(HOSTILE))
    assert page.texts("#classes")[0].startswith("No confusions and confidence curves for all trials")


def test_names_are_shown_and_never_executed(page):
    assert page.texts("h1") == [HOSTILE]
    assert HOSTILE in learners(page)
    page.choose("page-controls", "results", HOSTILE)
    assert page.texts("tr.dataset bdi") == [HOSTILE]
    page.wait(lambda: page.all("#chart svg"))
    page.keep("names")


def test_names_in_cards_and_overviews_are_text(browser, part_of, trials_of, tmp_path):
    records = []
    for dataset in (HOSTILE, f"{HOSTILE} again"):
        records += trials_of(HOSTILE, 0.9, 1.0, dataset=dataset, fingerprint=dataset)
        records += trials_of("constructor", 0.5, 2.0, dataset=dataset, fingerprint=dataset)
    opened = Opened(browser, Page((part_of(records),)).save(tmp_path / "page.html")).open()
    assert opened.texts(".card .name") == [HOSTILE, HOSTILE]
    assert opened.texts(".picks tbody th") == [HOSTILE, f"{HOSTILE} again"]
    assert opened.texts(".heat tbody th") == [HOSTILE, "constructor"]
    opened.all(".heat thead .name")[1].click()
    assert opened.texts("#answer-heading") == [f"Which learner for {HOSTILE} again?"]
    opened.all(".picks td .name")[0].click()
    opened.wait(lambda: HOSTILE[:30] in " ".join(opened.texts("#chart svg text")))
    assert opened.run("return window.hacked") is None
    assert opened.complaints() == []
    assert opened.requests() == []


@pytest.mark.parametrize(
    "attack",
    [
        "const s = document.createElement('script'); s.textContent = 'window.hacked = 3'; document.body.append(s)",
        "document.body.insertAdjacentHTML('beforeend', '<img src=data: onerror=\"window.hacked = 4\">')",
        "const i = new Image(); i.src = 'http://127.0.0.1:9/x'; document.body.append(i)",
    ],
)
def test_the_content_policy_blocks_scripts_and_requests(page, attack):
    page.run(attack)
    complaints = []
    page.wait(lambda: complaints.extend(page.complaints()) or "Content Security Policy" in "".join(complaints))
    page.requests()  # the browser has blocked and reported these requests


# -- figures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("figure", "words"),
    [
        ("pareto", ["pa(C=2)", "tree", "R1", "train"]),
        ("bars", ["0.796 ± 0.003", "tree"]),
        ("curve", ["passes", "pa(C=1)"]),
        ("sweep", ["C", "pa"]),
        ("scaling", ["classes", "100"]),
        ("coverage", ["accuracy", "share of rows, most confident first", "tree"]),
        ("frequency", ["R1", "training rows of the class", "tree"]),
        ("levels", ["share of rows right", "level of the class tree", "tree"]),
        ("ranks", ["average rank by R1 (1 is best)", "tree", "3.00"]),
    ],
)
def test_every_figure_is_drawn_with_its_description(page, figure, words):
    page.open(f"figure={figure}")
    page.wait(lambda: page.all("#chart svg text"))
    shown = page.texts("#chart svg text")
    assert [word for word in words if word not in shown] == []
    assert len(page.all("#chart svg path")) > 3
    page.run("document.getElementById('figures-heading').scrollIntoView()")
    page.keep(f"figure-{figure}")


@pytest.mark.parametrize("figure", ["pareto", "sweep"])
def test_names_of_javascript_do_not_disturb_a_figure(browser, trials_of, part_of, tmp_path, figure):
    records = []
    for dataset, classes in (("__proto__", 10), ("constructor", 100)):
        place = {"dataset": dataset, "dataset_family": "d", "fingerprint": dataset, "n_classes": classes}
        curve = [{"passes": n, "scores": {"r1": n / 4, "train": float(n)}} for n in (1, 2, 3)]
        for n, name in enumerate(("__proto__", "constructor", "toString")):
            records += trials_of(name, 0.6 + n / 10, 1.0 + n, curve=curve, params={"__proto__": n}, family="f", **place)
    opened = Opened(browser, Page((part_of(records),), title="names").save(tmp_path / "report.html"))
    opened.open(f"figure={figure}&sort=__proto__")
    opened.wait(lambda: opened.all("#chart svg text"))
    assert opened.complaints() == []
    assert opened.run("return document.querySelector('#chart svg').getBoundingClientRect().height") < 2000


def test_any_two_metrics_can_be_plotted_against_each_other(page):
    page.choose("figure-controls", "x", "index")
    page.choose("figure-controls", "y", "train")
    page.wait(lambda: {"index size", "train"} <= set(page.texts("#chart svg text")))


def test_ticks_have_a_space_before_their_unit_in_every_scale(page):
    page.open("figure=pareto&x=train&y=r1")
    page.wait(lambda: "10 s" in page.texts("#chart svg text"))
    assert "500 ms" in page.texts("#chart svg text")


# -- sharing, colours, paper, phone, keyboard ------------------------------------------------------------------------


def test_a_link_restores_the_view(page):
    page.press("train")
    page.choose("filters", "dataset", "large")
    page.choose("figure-controls", "figure", "bars")
    seen = learners(page)
    state = page.driver.current_url.partition("#")[2]
    page.open()
    assert learners(page) != seen
    page.open(state)
    assert learners(page) == seen
    assert page.one("th[aria-sort=ascending]").text.startswith("train")
    assert page.all("#figure-controls select")[0].get_property("value") == "bars"


def test_an_invalid_link_shows_the_page(page):
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


def test_a_phone_shows_scores_without_horizontal_scrolling(page):
    page.open(width=390)
    page.wait(lambda: page.all("#chart svg"))
    assert page.run("return document.documentElement.scrollWidth") <= 390
    right = page.run("return document.querySelector('.results td.number').getBoundingClientRect().right")
    assert right <= 390
    page.run("document.getElementById('table').scrollIntoView()")
    page.keep("phone")


def test_a_dark_page_is_printed_dark_on_white_with_its_figure(page):
    page.open("theme=dark")
    page.wait(lambda: page.all("#chart svg"))
    page.media(media="print")
    assert page.colour("body") == "rgba(255, 255, 255, 1)"
    assert contrasts(page, "#chart svg text", "fill") == []
    assert "small" in page.one("#answer-heading").text, "print has no list with the chosen dataset"


def test_print_shows_no_controls(page):
    assert page.colour("#filters", "display") == "flex"
    page.media(media="print")
    assert page.colour("#filters", "display") == "none"
    assert page.colour(".results", "display") == "table"


def test_the_keyboard_is_sufficient(page):
    page.run("document.querySelector('[data-sort=train]').focus()")
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert learners(page)[0] == "tree"
    assert page.run("return document.activeElement.dataset.sort") == "train", "the focus stays on the column"
    page.run("document.querySelector('.card .name').focus()")
    page.driver.switch_to.active_element.send_keys(Keys.ENTER)
    assert highlighted(page) == {"pa(C=2)"}
    assert page.run("return document.activeElement.dataset.focus") == "card Most accurate"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("state", ["", "learner=pa(C=2)", "learner=bad"])
def test_text_has_the_contrast_of_wcag_aa(page, theme, state):
    page.open(f"theme={theme}&{state}")
    page.wait(lambda: page.all("#chart svg text"))
    page.run("document.querySelectorAll('details').forEach(one => { one.open = true })")
    assert texts_of_low_contrast(page) == []
    page.all(".results td .failure")[0].click()
    assert texts_of_low_contrast(page) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_controls_and_figures_have_the_contrast_of_wcag_aa(page, theme):
    page.open(f"theme={theme}")
    page.wait(lambda: page.all("#chart svg text"))
    assert contrasts(page, "#chart svg text", "fill") == []
    assert contrasts(page, "#chart .mark-symbol path", "fill", SMALLEST_CONTRAST_OF_SHAPES) == []
    controls = "select, input, .controls button"
    assert contrasts(page, controls, "borderTopColor", SMALLEST_CONTRAST_OF_SHAPES) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_serious(page, theme, axe):
    page.open(f"theme={theme}&learner=tree")
    page.wait(lambda: page.all("#chart svg"))
    page.run(axe)
    found = page.driver.execute_async_script("axe.run().then(arguments[arguments.length - 1])")
    assert found["passes"], "axe looked at something"
    serious = [one for one in found["violations"] if one["impact"] in ("serious", "critical")]
    assert [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in serious] == []
