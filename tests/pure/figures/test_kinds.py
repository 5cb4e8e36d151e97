"""Every figure kind by name, drawn from lines and therefore never averaged across configurations."""

import pytest

from harness import MetricSpec
from harness.errors import HarnessError
from internals import FIGURE_KINDS, Diagram, FigureRequest, choose_kind, group_records
from messages import naming

METRICS = {
    "r1": MetricSpec(name="r1", compute="a:b", title="R1"),
    "train": MetricSpec(name="train", compute="a:b", direction="lower", unit="seconds"),
    "index": MetricSpec(name="index", compute="a:b", direction="lower", unit="count"),
}


@pytest.fixture
def lines(make_record):
    """Return two configurations under one label (R1 .917 and .200) on two datasets, with curves and a sweep."""
    records = []
    for dataset, classes in (("small", 10), ("large", 100)):
        for step, r1 in (("exact", 0.917), ("plain", 0.2)):
            for C in (1, 2):
                curve = [{"passes": n, "scores": {"r1": r1, "train": float(n)}} for n in (1, 2)]
                place = {"dataset": dataset, "fingerprint": dataset, "n_classes": classes, "n_train": 10 * classes}
                params = {"step": step, "C": C}
                scores = {"r1": r1, "train": 2.0 * C, "index": 5.0}
                records += [make_record("pa", seed, params=params, curve=curve, **scores, **place) for seed in range(2)]
    return group_records(records)


def draw(kind, lines, metric=None, x=None):
    chosen = choose_kind(kind, x)
    x = x or chosen.default_x
    return chosen.draw(FigureRequest(lines, METRICS[metric or chosen.metric], x, METRICS.get(x)))


def values_of(drawing):
    """Return every drawn value of R1, by the label of its series."""
    found = {}
    for panel in drawing.panels:
        for series in panel.series:
            found.setdefault(series.label, set()).update(round(y, 3) for y in series.y)
    return found


@pytest.mark.parametrize("kind", ["curve", "scaling", "pareto", "bar"])
def test_two_configurations_under_one_label_are_never_averaged(lines, kind):
    assert values_of(draw(kind, lines, metric="r1")) == {
        "pa [C=1, step='exact']": {0.917},
        "pa [C=2, step='exact']": {0.917},
        "pa [C=1, step='plain']": {0.2},
        "pa [C=2, step='plain']": {0.2},
    }


def test_a_sweep_separates_configurations_that_differ_in_other_parameters(lines):
    drawing = draw("sweep", lines)
    assert values_of(drawing) == {"pa(step=exact)": {0.917}, "pa(step=plain)": {0.2}}
    assert {series.x for panel in drawing.panels for series in panel.series} == {(1, 2)}


def test_ranks_of_two_configurations_under_one_label_are_separate(lines):
    drawing = draw("cd", lines)
    assert isinstance(drawing, Diagram)
    assert drawing.found.ranks == {
        "pa [C=1, step='exact']": 1.5,
        "pa [C=2, step='exact']": 1.5,
        "pa [C=1, step='plain']": 3.5,
        "pa [C=2, step='plain']": 3.5,
    }


def test_every_kind_has_a_help_text_and_is_tested_here():
    assert list(FIGURE_KINDS) == ["curve", "sweep", "scaling", "pareto", "cd", "bar", "coverage", "frequency", "levels"]
    assert all(kind.summary for kind in FIGURE_KINDS.values())


@pytest.mark.parametrize(
    ("kind", "options", "axes"),
    [
        ("curve", {}, ("passes", "R1")),
        ("curve", {"x": "train", "metric": "index"}, None),
        ("curve", {"x": "train"}, ("train", "R1")),
        ("sweep", {"metric": "train"}, ("C", "train")),
        ("scaling", {}, ("classes", "train")),
        ("scaling", {"x": "examples"}, ("training rows", "train")),
        ("pareto", {}, ("train", "R1")),
        ("pareto", {"x": "index"}, ("index", "R1")),
        ("bar", {"metric": "train"}, ("train", "")),
    ],
)
def test_metric_and_x_default_to_those_of_the_kind(lines, kind, options, axes):
    if axes is None:
        with pytest.raises(HarnessError, match=naming("index")):
            draw(kind, lines, **options)
        return
    panel = draw(kind, lines, **options).panels[0]
    assert (panel.x_title, panel.y_title) == axes


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (
            "pie",
            {},
            "figure of kind 'pie': expected one of curve, sweep, scaling, pareto, cd, bar, coverage, frequency, levels",
        ),
        ("bar", {"x": "train"}, "--x train: a figure of kind 'bar' has no x to choose"),
        ("scaling", {"x": "colour"}, "--x colour: expected one of classes, examples, features"),
    ],
)
def test_invalid_options_raise_an_error(lines, kind, options, message):
    with pytest.raises(HarnessError) as raised:
        draw(kind, lines, **options)
    assert str(raised.value) == message
