"""Trial keys cover everything that determines a result and nothing else."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments import DEFAULTS, LABELS, LEARNERS, OWN, catalog_of, key, learner, trials_of
from harness import MetricSpec
from internals import MINIMUM_DEPTH, Entry, patch_internal


@given(order=st.permutations(["pa", "small=pa(C=0.1)", "ooz", "fixed", "dense(passes=2, C=3)"]))
def test_the_order_of_learners_does_not_change_keys(header, order):
    first = {
        t.label: t.key
        for t in trials_of(header, learners=["pa", "small=pa(C=0.1)", "ooz", "fixed", "dense(C=3,passes=2)"])
    }
    assert {t.label: t.key for t in trials_of(header, learners=order)} == first


DECISIVE = {
    "another learner": {"learners": "ooz"},
    "a parameter": {"learners": "pa(C=2.0)"},
    "a parameter's type": {"learners": "pa(C=1)"},
    "another parameter": {"learners": "pa(passes=1)"},
    "a fixed random_state": {"learners": "pa(random_state=9)"},
    "the seed": {"seed": 1},
    "the split": {"split": "holdout:0.1"},
    "the representation": {"representation": "tf"},
}


def test_everything_that_determines_the_result_changes_the_key(header, header_of):
    keys = {what: key(header, **raw) for what, raw in DECISIVE.items()}
    keys["nothing"] = key(header)
    keys["the version"] = key(header, catalog=catalog_of((learner("pa", replace(OWN, version="1.1")),)))
    keys["the distribution"] = key(header, catalog=catalog_of((learner("pa", replace(OWN, distribution="else")),)))
    keys["the class behind the name"] = key(header, catalog=catalog_of((learner("pa", load="else:Other"),)))
    keys["a default"] = key(header, catalog=catalog_of((learner("pa", parameters=DEFAULTS | {"C": 3.0}),)))
    keys["the data"] = key(header_of(y=LABELS[::-1]))
    assert len(set(keys.values())) == len(keys)


INDIFFERENT = {
    "a default given": {"learners": "pa(C=1.0)"},
    "all defaults given": {"learners": "pa(passes=5, C=1.0)"},
    "the seed's own random_state given": {"learners": "pa(random_state=0)"},
    "a label": {"learners": "fancy=pa"},
    "the distribution named": {"learners": "dist:pa"},
    "jobs": {"jobs": 4},
    "threads": {"threads": 2},
    "limits": {"timeout": "1s", "memory": "1GB"},
    "the experiment's name": {"name": "mine"},
    "the split in other words": {"split": "holdout:0.20"},
    "the representation named": {"representation": "tfidf"},
}


@pytest.mark.parametrize("what", INDIFFERENT)
def test_nothing_else_changes_the_key(header, what):
    assert key(header, **INDIFFERENT[what]) == key(header)


def test_other_learners_datasets_metrics_and_trials_do_not_change_a_key(header):
    metric = Entry(MetricSpec(name="m", compute="a:b", depth=MINIMUM_DEPTH), OWN)
    many = trials_of(header, learners="ooz,pa", trials=5, catalog=catalog_of(metrics=(metric,)), metrics="m")
    assert key(header) in {trial.key for trial in many}


def test_the_number_of_kept_ranks_changes_the_key_up_to_the_number_of_classes(header):
    deep, deeper = (
        catalog_of(metrics=(Entry(MetricSpec(name="m", compute="a:b", depth=depth), OWN),)) for depth in (50, 100)
    )
    assert key(header, catalog=deep) == key(header)  # ten ranks include all four classes
    many = replace(header, classes=60)
    assert len({key(many), key(many, catalog=deep), key(many, catalog=deeper)}) == 3
    assert trials_of(many, catalog=deeper)[0].depth == 60


def test_a_metric_computed_on_request_does_not_deepen_the_ranking(header):
    patient = Entry(MetricSpec(name="m", compute="a:b", depth=50, always=False), OWN)
    many, catalog = replace(header, classes=60), catalog_of(metrics=(patient,))
    assert key(many, catalog=catalog) == key(many)
    assert trials_of(many, catalog=catalog, metrics="m")[0].depth == 50


def test_the_only_given_split_has_one_key_with_or_without_its_name(header_of):
    given_header = header_of(splits={"official": (np.arange(15), np.arange(15, 20))})
    (short,), (long,) = (trials_of(given_header, split=split) for split in ("given", "given:official"))
    assert short.key == long.key
    assert str(short.split) == "given:official"


def test_a_default_that_is_an_expression_differs_from_its_text(header):
    assert key(header) != key(header, learners="pa(far=\"float('inf')\")")


def test_distinct_parameter_values_have_distinct_keys(header):
    values = ["(1, 2)", "[[1, 2]]", "{1: 2}", "{'1': 2}", "{'tuple': [1, 2]}", "'1'", "1", "true", "none", "{True: 2}"]
    keys = {value: key(header, learners=f"pa(C={value})") for value in values}
    assert len(set(keys.values())) == len(keys)
    assert key(header, learners="pa(C={1: 2, 'a': (3,)})") == key(header, learners="pa(C={'a': (3,), 1: 2})")


COMMITTEE = learner("committee", parameters={"learner": None, "members": 5, "random_state": None}, wraps="learner")
KEPT = {
    "defaults": ({}, "17d56cc36408ff58e238"),
    "another learner": ({"learners": "fixed"}, "d1d801d63574af31c182"),
    "a parameter": ({"learners": "dense(C=0.1)"}, "81ce1ae22995e01e7ebb"),
    "parameters of every type": (
        {"learners": ["pa(C=2, passes=none, far={'a': [1.5, True], 2: (1e-9, 'x')})"]},
        "dd1bc4cfd9ae52b306c7",
    ),
    "a seed": ({"seed": 7}, "702bc91e5f00c803bbd9"),
    "a learner round another": ({"learners": "committee(pa(C=2), members=3)"}, "802d8a27ca9391d0b8c0"),
    "and round that one": ({"learners": "committee(committee(ooz))"}, "c6f909c02c5769156e77"),
    "folds": ({"split": "kfold:5"}, "294a6c315def66ae74d5"),
    "strata": ({"split": "stratified:0.25"}, "de91b2dda389d9237070"),
    "the data's own split": ({"split": "given"}, "08097872f5c09e171f3f"),
    "a representation": ({"representation": "binary"}, "7c9a104dcb0b42df9287"),
    "curves": ({"curves": True}, "0e1f5993cc4ad6f008ff"),
}
"""Planned trials and the keys of their stored results."""


@pytest.mark.parametrize("what", KEPT)
def test_keys_are_stable_while_the_code_is_unchanged(header_of, what, monkeypatch):
    for name in ("resolve.code_of", "representations.code_of"):
        patch_internal(monkeypatch, name, lambda load, origin: "c0de")
    raw, kept = KEPT[what]
    splits = {"official": (np.arange(15), np.arange(15, 20))}
    header = replace(header_of(splits=splits), fingerprint="0" * 64)
    assert key(header, catalog=catalog_of((*LEARNERS, COMMITTEE)), **{"split": "holdout:0.1"} | raw) == kept


DECLARED = """
class Declared:
    def __init__(self, *, rate: float = 1.0, limit: float | None = None, count: int = 1, either=1.0):
        pass
"""


@pytest.fixture
def declared(tmp_path, monkeypatch):
    """Return a learner that declares two parameters as floats."""
    (tmp_path / "declares_floats.py").write_text(DECLARED)
    monkeypatch.syspath_prepend(tmp_path)
    return catalog_of((learner("declared", load="declares_floats:Declared", parameters=None),))


@pytest.mark.parametrize("parameter", ["rate", "limit"])
def test_an_integer_for_a_float_parameter_has_the_key_of_the_float(header, declared, parameter):
    integer, point = (
        key(header, catalog=declared, learners=f"declared({parameter}={value})") for value in ("2", "2.0")
    )
    assert integer == point


@pytest.mark.parametrize("parameter", ["count", "either"])
def test_integers_and_floats_differ_for_undeclared_parameters(header, declared, parameter):
    integer, point = (
        key(header, catalog=declared, learners=f"declared({parameter}={value})") for value in ("2", "2.0")
    )
    assert integer != point


def test_an_integer_equal_to_a_float_default_has_the_key_of_the_default(header, declared):
    assert key(header, catalog=declared, learners="declared(rate=1)") == key(
        header, catalog=declared, learners="declared"
    )
