"""The examples in the docstrings of the harness run and print what they show."""

import doctest
import importlib
import pkgutil

import pytest

import harness

MODULES = [
    module.name for module in pkgutil.walk_packages(harness.__path__, "harness.") if "__main__" not in module.name
]


def examples_of(name):
    found = doctest.DocTestFinder().find(importlib.import_module(name), name)
    return [test for test in found if test.examples]


def test_many_docstrings_have_examples():
    assert len({name for name in MODULES if examples_of(name)}) > 20


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(name):
    for test in examples_of(name):
        assert doctest.DocTestRunner().run(test).failed == 0, test.name
