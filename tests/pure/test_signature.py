"""Parameters read from source equal those that Python reports, without an import."""

import importlib
import sys
from textwrap import dedent

import pytest

from internals import (
    REQUIRED,
    Source,
    import_parameters,
    import_target,
    parse_docstring,
    read_docstring,
    read_parameters,
)


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Return a function that writes a module on sys.path."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)

    def write(source, name="described_module"):
        """Write a module on sys.path; importing it or its package is an error unless requested."""
        (tmp_path / f"{name}.py").write_text(dedent(source))
        importlib.invalidate_caches()
        return name

    yield write
    for name in set(sys.modules) - before:
        del sys.modules[name]


LEARNERS = """
    from functools import partial
    from typing import overload

    LIMIT = 5

    class Plain:
        def __init__(self, C=1.0, *, name="x", sizes=(1, 2), weights={"a": [None, True]}, negative=-3): ...

    class Odd:
        def __init__(self, *, limit=LIMIT, far=float("inf"), power=2 * 3, call=partial(int, 2)): ...

    class Needs:
        def __init__(self, estimator, C=1, *, other, more=2): ...

    class Positional:
        def __init__(self, first=1, /, second=2): ...

    class Varied:
        def __init__(self, *args, C=1): ...

    class Wide:
        def __init__(self, C=1, **others): ...

    class Inherits(Plain):
        pass

    class InheritsAgain(Inherits):
        def other(self, C=9): ...

    class FromElsewhere(partial):
        pass

    class FromTwo(Plain, Exception):
        pass

    class ElsewhereFirst(Exception, Plain):
        pass

    Circle = object

    class Circle(Circle):
        pass

    class Nothing:
        def __init__(self): ...

    class Overloaded:
        @overload
        def __init__(self, C: int) -> None: ...
        @overload
        def __init__(self, C: str) -> None: ...
        def __init__(self, C=7): ...

    class Again:
        def __init__(self, C=1): ...

    class Again:
        def __init__(self, C=2): ...

    def load(rows=10, *, seed=0, path): ...
"""
READ = {
    "Plain": {"C": 1.0, "name": "x", "sizes": (1, 2), "weights": {"a": [None, True]}, "negative": -3},
    "Inherits": {"C": 1.0, "name": "x", "sizes": (1, 2), "weights": {"a": [None, True]}, "negative": -3},
    "InheritsAgain": {"C": 1.0, "name": "x", "sizes": (1, 2), "weights": {"a": [None, True]}, "negative": -3},
    "FromTwo": {"C": 1.0, "name": "x", "sizes": (1, 2), "weights": {"a": [None, True]}, "negative": -3},
    "Needs": {"estimator": REQUIRED, "C": 1, "other": REQUIRED, "more": 2},
    "Positional": {"second": 2},
    "Varied": {"C": 1},
    "Nothing": {},
    "Overloaded": {"C": 7},
    "Again": {"C": 2},
    "load": {"rows": 10, "seed": 0, "path": REQUIRED},
}


@pytest.mark.parametrize("name", READ)
def test_parameters_from_source_equal_those_of_the_imported_object(write, name):
    target = f"{write(LEARNERS)}:{name}"
    assert read_parameters(target) == READ[name]
    assert "described_module" not in sys.modules
    assert import_parameters(target) == READ[name]


def test_a_default_that_is_no_literal_is_kept_as_text(write):
    found = read_parameters(f"{write(LEARNERS)}:Odd")
    assert found == {
        "limit": Source("LIMIT"),
        "far": Source("float('inf')"),
        "power": Source("2 * 3"),
        "call": Source("partial(int, 2)"),
    }
    assert repr(found["power"]) == "2 * 3"


@pytest.mark.parametrize("name", ["FromElsewhere", "ElsewhereFirst", "Circle", "Wide", "Absent", "LIMIT"])
def test_parameters_that_need_an_import_give_none(write, name):
    assert read_parameters(f"{write(LEARNERS)}:{name}") is None


@pytest.mark.parametrize(
    "target", ["no_such_module_at_all:X", "no_such.inside:X", "math:sqrt", "sys:path", ":X", "a..b:X"]
)
def test_a_target_without_source_gives_none(target):
    assert read_parameters(target) is None


def test_a_file_that_is_no_python_gives_none(write):
    assert read_parameters(f"{write('def def')}:X") is None


def test_neither_the_module_nor_its_packages_are_imported(tmp_path, monkeypatch):
    inner = tmp_path / "untouched_package" / "inner"
    inner.mkdir(parents=True)
    for folder in (inner.parent, inner):
        (folder / "__init__.py").write_text("raise RuntimeError('imported')")
    (inner / "learner.py").write_text("raise RuntimeError('imported')\nclass X:\n    def __init__(self, C=3): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert read_parameters("untouched_package.inner.learner:X") == {"C": 3}
    assert not [name for name in sys.modules if name.startswith("untouched_package")]


def test_built_in_learners_give_the_same_parameters_both_ways():
    for target in (
        "harness_prototype.pa:PA",
        "harness_synthetic.topics:make_topics",
        "sklearn.naive_bayes:MultinomialNB",
    ):
        assert dict(read_parameters(target)) == dict(import_parameters(target))


def test_a_target_may_be_nested(write):
    module = write("class Outer:\n    class Inner:\n        answer = 42\n")
    assert import_target(f"{module}:Outer.Inner").answer == 42


def test_a_base_class_in_another_module_gives_parameters_and_docstring(write):
    write(
        '''
        class Base:
            """A base.

            Parameters
            ----------
            C : the price of a loss.
            eta : the rate.

            Attributes
            ----------
            coef_ : the weights.
            """

            def __init__(self, *, C=1.0, eta=0.5): ...
        ''',
        "base_module",
    )
    name = write(
        '''
        from base_module import Base as Parent

        class Child(Parent):
            """A child.

            Parameters
            ----------
            eta : its own words.
            """
        '''
    )
    assert read_parameters(f"{name}:Child") == {"C": 1.0, "eta": 0.5}
    assert read_parameters(f"{name}:Parent") == {"C": 1.0, "eta": 0.5}
    message = parse_docstring(read_docstring(f"{name}:Child"))
    assert message.parameters == {"C": "the price of a loss.", "eta": "its own words."}
    assert message.paragraphs == ("A child.",)
    assert "base_module" not in sys.modules
