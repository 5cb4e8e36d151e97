"""Specs validate their fields when created and name the wrong one."""

import re

import pytest

from harness import DatasetSpec, ExperimentSpec, LearnerSpec, MetricSpec, RawFile, RepresentationSpec
from harness.errors import SpecError

GOOD = {
    LearnerSpec: {"name": "x", "load": "a.b:C"},
    DatasetSpec: {"name": "x", "load": "a.b:c"},
    MetricSpec: {"name": "x", "compute": "a.b:c"},
    ExperimentSpec: {"name": "x", "resource": "package:folder/file.toml"},
    RepresentationSpec: {"name": "x", "load": "a.b:c"},
}
MODULE_NAME = "expected 'module:name'"
BAD = [
    (LearnerSpec, "load", "a.b", MODULE_NAME),
    (LearnerSpec, "load", "a:b c", MODULE_NAME),
    (LearnerSpec, "load", int, MODULE_NAME),
    (LearnerSpec, "load", None, MODULE_NAME),
    (LearnerSpec, "kind", "bush", "expected one of flat, tree, both, other"),
    (LearnerSpec, "summary", None, "expected a text"),
    (LearnerSpec, "wraps", None, "expected a text"),
    (LearnerSpec, "name", 3, "expected a text"),
    (LearnerSpec, "needs", {"positive"}, "expected a set of nonnegative, taxonomy, dense"),
    (LearnerSpec, "needs", "dense", "expected a set of nonnegative, taxonomy, dense"),
    (LearnerSpec, "needs", ["dense"], "expected a set of nonnegative, taxonomy, dense"),
    (LearnerSpec, "supports", {"everything"}, "expected a set of multilabel, text"),
    (LearnerSpec, "preload", "a", "expected a tuple"),
    (LearnerSpec, "parameters", ["C"], "expected a mapping"),
    (LearnerSpec, "paper_params", None, "expected a mapping"),
    (LearnerSpec, "paper_params", {1: 2}, "expected a mapping from names of parameters"),
    (DatasetSpec, "load", "b", MODULE_NAME),
    (DatasetSpec, "summary", 3, "expected a text"),
    (DatasetSpec, "licence", 3, "expected a text"),
    (DatasetSpec, "citation", None, "expected a text"),
    (DatasetSpec, "obtain", None, "expected a text"),
    (DatasetSpec, "wraps", None, "expected a text"),
    (DatasetSpec, "representation", ["tf"], "expected a text"),
    (RepresentationSpec, "takes", "texts", "expected one of text, counts"),
    (RepresentationSpec, "gives", "numbers", "expected one of counts, vectors, same"),
    (RepresentationSpec, "load", "words", "expected 'module:name'"),
    (RepresentationSpec, "parameters", ["ngrams"], "expected a mapping"),
    (DatasetSpec, "stamp", "b", MODULE_NAME),
    (DatasetSpec, "recognises", "b", MODULE_NAME),
    (DatasetSpec, "version", "2", "expected a whole number"),
    (DatasetSpec, "version", True, "expected a whole number"),
    (DatasetSpec, "parameters", ["rows"], "expected a mapping"),
    (DatasetSpec, "files", RawFile(name="a"), "expected a tuple"),
    (DatasetSpec, "opens", ".csv", "expected a tuple"),
    (DatasetSpec, "facts", {"lines": 3}, "expected numbers for rows, features, classes, nonzeros, taxonomy_depth"),
    (DatasetSpec, "facts", [3], "expected numbers for rows, features, classes, nonzeros, taxonomy_depth"),
    (MetricSpec, "compute", "b", MODULE_NAME),
    (MetricSpec, "name", None, "expected a text"),
    (MetricSpec, "title", None, "expected a text"),
    (MetricSpec, "summary", None, "expected a text"),
    (MetricSpec, "short", None, "expected a text"),
    (MetricSpec, "depth_parameter", None, "expected a text"),
    (MetricSpec, "direction", "up", "expected one of higher, lower"),
    (MetricSpec, "unit", "percent", "expected one of share, seconds, bytes, count"),
    (MetricSpec, "depth", 1.0, "expected a whole number"),
    (MetricSpec, "depth", True, "expected a whole number"),
    (MetricSpec, "timed", 1, "expected True or False"),
    (MetricSpec, "shown", "yes", "expected True or False"),
    (MetricSpec, "always", None, "expected True or False"),
    (MetricSpec, "single", 0, "expected True or False"),
    (MetricSpec, "parameters", None, "expected a mapping"),
    (ExperimentSpec, "resource", "file.toml", "expected 'package:folder/file'"),
    (ExperimentSpec, "resource", "package:", "expected 'package:folder/file'"),
    (ExperimentSpec, "resource", "", "expected 'package:folder/file'"),
    (ExperimentSpec, "summary", None, "expected a text"),
    (ExperimentSpec, "published", "numbers.csv", "expected 'package:folder/file'"),
    (ExperimentSpec, "published", None, "expected 'package:folder/file'"),
]


@pytest.mark.parametrize(
    ("kind", "field", "value", "expected"), BAD, ids=[f"{k.__name__}.{f}={v!r}" for k, f, v, _ in BAD]
)
def test_a_wrong_field_raises_an_error_with_the_expected_value(kind, field, value, expected):
    name = value if field == "name" else "x"
    with pytest.raises(SpecError, match=re.escape(f"{kind.__name__}: {name}.{field} is {value!r}, {expected}")):
        kind(**GOOD[kind] | {field: value})


@pytest.mark.parametrize("kind", [DatasetSpec, ExperimentSpec])
@pytest.mark.parametrize("name", ["My Data", "", "-x", "a:b", "a/b", None, 3])
def test_a_name_unsuitable_for_typing_or_file_names_is_rejected(kind, name):
    message = f"{kind.__name__}: the name {name!r} must be lower case letters, digits, '-', '_', '.'"
    with pytest.raises(SpecError, match=re.escape(message)):
        kind(**GOOD[kind] | {"name": name})


@pytest.mark.parametrize("kind", GOOD)
def test_optional_fields_may_be_omitted(kind):
    spec = kind(**GOOD[kind])
    assert spec.name == "x"


def test_optional_fields_may_be_none_or_empty():
    LearnerSpec(name="x", load="a:b", parameters=None, needs=set(), preload=[])
    DatasetSpec(name="x", load="a:b", stamp=None, recognises=None, parameters=None, facts={"rows": 3})
    ExperimentSpec(name="x", resource="a:b.toml", published="a:c/d.csv")


def test_a_paper_value_must_be_for_a_parameter_of_the_learner():
    LearnerSpec(name="x", load="a:b", parameters={"C": 1.0}, paper_params={"C": 0.01})
    LearnerSpec(name="x", load="a:b", paper_params={"told_by_the_source": 0.01})
    with pytest.raises(SpecError, match=re.escape("x.paper_params is {'c': 1}, expected values for C, passes")):
        LearnerSpec(name="x", load="a:b", parameters={"C": 1.0, "passes": 5}, paper_params={"c": 1})


def test_names_of_importable_learners_and_bound_metrics_need_not_be_typeable():
    assert LearnerSpec(name="sklearn.svm:LinearSVC", load="sklearn.svm:LinearSVC")
    assert MetricSpec(name="loss(costs=[1, 2])", compute="a:b")
