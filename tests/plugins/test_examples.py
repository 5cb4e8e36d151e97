"""The examples in the docstrings of learners and representations run and print what they show."""

import doctest
import os

import pytest

from internals import discover

PACKAGES = ("committee", "index", "peers", "prototype", "representations", "shortlist", "sklearn", "svm", "tree")
FOUND = discover((), ())
TARGETS = [entry.spec.load for entry in (*FOUND.learners, *FOUND.representations) if entry.origin.plugin in PACKAGES]


@pytest.fixture(autouse=True)
def own_environment():
    """Undo what an imported module sets, such as the offline mode of the Hub, for the tests that follow."""
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.parametrize("target", TARGETS)
def test_the_example_runs(target):
    module, _, name = target.partition(":")
    kind = getattr(pytest.importorskip(module, exc_type=ImportError), name)
    (example,) = doctest.DocTestFinder(recurse=False).find(kind, name, globs={})
    assert example.examples
    assert doctest.DocTestRunner().run(example).failed == 0
