"""Metric names: registered ones, members of families in any notation, and errors."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness import MetricSpec
from harness.errors import SpecError, UnknownName
from internals import Catalog, Entry, MetricCall, Origin, bind, call_of, discover, find_metric

OWN = Origin("p", "dist", "1.0")
RK = MetricSpec(
    name="rk", compute="m:rk", title="R{k}", always=False, parameters={"k": 1}, short="r{k}", depth_parameter="k"
)
LOSS = MetricSpec(name="loss", compute="m:loss", title="loss", direction="lower", parameters={"costs": 0.5, "up": True})
PLAIN = MetricSpec(name="r5", compute="m:r5", title="R5", depth=5)
CATALOG = Catalog(metrics=tuple(Entry(spec, OWN) for spec in (PLAIN, RK, LOSS)))


def find(text):
    return find_metric(text, CATALOG).spec


def test_a_registered_name_is_that_metric():
    assert find("r5") is PLAIN
    assert find("dist:r5") is PLAIN


@given(st.integers(1, 10_000).filter(lambda k: k != 5))
def test_a_short_name_and_the_full_expression_are_one_metric(k):
    short, long = find(f"r{k}"), find(f"rk(k={k})")
    assert short == long
    assert (short.name, short.title, short.depth) == (f"r{k}", f"R{k}", k)
    assert call_of(short) == MetricCall(f"r{k}", "m:rk", {"k": k}, depth=k)


def test_a_family_member_registered_by_name_is_that_metric():
    assert find("rk(k=5)") is PLAIN


def test_a_family_without_arguments_has_its_defaults():
    assert call_of(find("rk")) == MetricCall("r1", "m:rk", {"k": 1})
    assert (find("loss").name, find("loss").title) == ("loss", "loss")


def test_arguments_appear_in_the_name_and_the_title():
    changed = find("loss(costs=[1, 2])")
    assert changed.name == "loss(costs=[1, 2])"
    assert changed.title == "loss(costs=[1, 2])"
    assert call_of(changed).params == {"costs": [1, 2], "up": True}
    assert changed.direction == "lower"


def test_parameter_order_and_explicit_defaults_change_nothing():
    assert find("loss(up=false, costs=1)").name == find("loss(costs=1, up=false)").name
    assert find("loss(costs=0.5)").name == "loss"


def test_a_label_is_the_name():
    labelled = find("mine=loss(costs=2)")
    assert (labelled.name, labelled.title) == ("mine", "mine")


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("r0", UnknownName, "unknown metric 'r0'"),
        ("r1.5", UnknownName, "unknown metric"),
        ("rk(j=3)", SpecError, "metric 'rk' has no parameter 'j'. It has: k"),
        ("loss(cost=3)", SpecError, "Did you mean costs?"),
        ("rk(k=0)", SpecError, "k=0, expected a whole number from 1"),
        ("rk(k=true)", SpecError, "k=True, expected a whole number from 1"),
        ("r5(k=1)", SpecError, "metric 'r5' has no parameter 'k'. It has: none"),
    ],
)
def test_an_unknown_metric_raises_an_error_that_names_it(text, error, words):
    with pytest.raises(error) as raised:
        find(text)
    assert words in str(raised.value)


def test_binding_leaves_the_family_unchanged():
    before = dict(RK.parameters)
    bind(RK, {"k": 7})
    assert RK.parameters == before


@pytest.mark.parametrize(
    ("text", "near"), [("ndgc5", "Did you mean ndcg5"), ("P@5", "Did you mean p5?"), ("nDCG@3", "Did you mean ndcg3?")]
)
def test_a_misspelt_short_name_and_a_heading_get_the_name_with_the_same_k(text, near):
    with pytest.raises(UnknownName) as raised:
        find_metric(text, discover())
    assert f"unknown metric {text!r}" in str(raised.value)
    assert near in str(raised.value)
