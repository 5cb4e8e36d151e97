"""The examples in the docstrings of the learners run and print what they show."""

import doctest
import importlib

import pytest

from internals import discover

PACKAGES = ("committee", "index", "prototype", "shortlist", "svm", "tree")
TARGETS = [entry.spec.load for entry in discover((), ()).learners if entry.origin.plugin in PACKAGES]


@pytest.mark.parametrize("target", TARGETS)
def test_the_example_of_a_learner_runs(target):
    module, _, name = target.partition(":")
    learner = getattr(importlib.import_module(module), name)
    (example,) = doctest.DocTestFinder(recurse=False).find(learner, name, globs={})
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0
