"""The expression language: literals round-trip, and nothing is ever evaluated."""

import contextlib
import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from harness.errors import SpecError
from internals import Expression, parse, parse_value, split_list
from messages import naming

plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
literals = st.recursive(
    plain,
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text() | st.integers(), inner),
    max_leaves=8,
)
names = st.from_regex(r"[a-zA-Z_][a-zA-Z0-9_]{0,8}", fullmatch=True)


@given(literals)
@example('it\'s "both" \\')
@example({"a,b": [")", "(", (1,)]})
def test_every_literal_round_trips(value):
    assert parse_value(repr(value)) == value
    assert type(parse_value(repr(value))) is type(value)


@given(names, st.dictionaries(names, literals, max_size=4))
@example("pa", {"text": "a\\'b),(", "C": 0.1})
def test_every_parameter_round_trips(name, params):
    text = f"{name}({', '.join(f'{key}={value!r}' for key, value in params.items())})"
    assert parse(text) == Expression(name, None, params)
    assert split_list(f"first,{text} , last") == ["first", text, "last"]


@given(st.text(max_size=40))
def test_any_text_is_parsed_or_rejected_with_a_spec_error(text):
    for read in (parse, parse_value, split_list):
        with contextlib.suppress(SpecError):
            read(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pa", Expression("pa")),
        (" pa ", Expression("pa")),
        ("pa()", Expression("pa")),
        ("pa(C=0.1)", Expression("pa", None, {"C": 0.1})),
        ("pa( C = 0.1 , passes = 3 )", Expression("pa", None, {"C": 0.1, "passes": 3})),
        ("small=pa(C=0.1)", Expression("pa", "small", {"C": 0.1})),
        ("small = pa", Expression("pa", "small")),
        ("a-b|c*=pa", Expression("pa", "a-b|c*")),
        ("dist-name:pa", Expression("dist-name:pa")),
        ("~/in/titles.csv(text=a+b)", Expression("~/in/titles.csv", None, {"text": "a+b"})),
        ("t.csv(features=a, b,c_d, n=1)", Expression("t.csv", None, {"features": "a,b,c_d", "n": 1})),
        ("t='my titles.csv'(n=1)", Expression("my titles.csv", "t", {"n": 1})),
        ("committee(pa(C=1), n=2)", Expression("committee", None, {"n": 2}, ("pa(C=1)",))),
        ("x(in/a.csv)", Expression("x", None, {}, ("in/a.csv",))),
        ("x('a b.csv'(n=1))", Expression("x", None, {}, ("'a b.csv'(n=1)",))),
        ("my.py:pa", Expression("my.py:pa")),
        ("nb=sklearn.x:NB(alpha=1e-3)", Expression("sklearn.x:NB", "nb", {"alpha": 1e-3})),
        ("pa(C=[0.1, 1], step=exact)", Expression("pa", None, {"C": [0.1, 1], "step": "exact"})),
        ("pa(step=[printed,exact])", Expression("pa", None, {"step": ["printed", "exact"]})),
        ("x(a=True, b=false, c=NONE)", Expression("x", None, {"a": True, "b": False, "c": None})),
        ("x(a='true', b=PA-II, c=l1.5)", Expression("x", None, {"a": "true", "b": "PA-II", "c": "l1.5"})),
        ("x(a='=,)', b={'k': (1, 2)})", Expression("x", None, {"a": "=,)", "b": {"k": (1, 2)}})),
    ],
)
def test_expressions_are_parsed(text, expected):
    assert parse(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        'pa(C=__import__("os"))',
        "pa(C=().__class__)",
        "pa(C=1+1)",
        "pa(C=2**9)",
        "pa(C=lambda: 1)",
        "pa(C=[x for x in (1,)])",
        "pa(C=f'{1}')",
        "pa(C=open('/etc/passwd'))",
        "pa(C=a if b else c)",
        "pa(C=[__import__('os')])",
        "pa(C=1.2.3)",
        "pa(C=0.1x)",
    ],
)
def test_code_is_rejected_and_never_run(text):
    with pytest.raises(SpecError, match=naming("value")):
        parse(text)


@pytest.mark.parametrize(
    ("text", "culprit"),
    [
        ("", "''"),
        ("pa(", "'pa('"),
        ("pa(C=1", "'pa(C=1'"),
        ("pa)C(", "'pa)C('"),
        ("pa(C=1))", "unbalanced"),
        ("pa('C=1)", "unbalanced"),
        ("pa(0.1)", "'0.1' in 'pa(0.1)': expected parameter=value"),
        ("pa(C-1=2)", "'C-1=2'"),
        ("pa(C=)", "the value ''"),
        ("pa(C={[]: 1})", "the value '{[]: 1}'"),
        ("pa(C=1, C=2)", "parameter 'C' is given twice in 'pa(C=1, C=2)'"),
        ("a=b=pa", "'a=b=pa'"),
        ("two words", "'two words'"),
    ],
)
def test_malformed_expressions_raise_an_error_that_names_the_place(text, culprit):
    with pytest.raises(SpecError) as caught:
        parse(text)
    assert culprit in str(caught.value)


def test_lists_are_split_outside_brackets_and_quotes_only():
    assert split_list("a,b(c,d),'e,f',[g,{h,i}],") == ["a", "b(c,d)", "'e,f'", "[g,{h,i}]"]
    assert split_list(" , ,") == []


@pytest.mark.parametrize("text", ["a(b", "a]", "'a", '"a', "(a,b"])
def test_unbalanced_lists_are_rejected(text):
    with pytest.raises(SpecError, match=naming("unbalanced")):
        split_list(text)


def test_positional_arguments_are_kept_in_order():
    assert parse("mix(pa, ooz(d=5), n=3)").positional == ("pa", "ooz(d=5)")
    assert parse("mix(pa, ooz(d=5), n=3)").params == {"n": 3}


def test_a_positional_argument_cannot_follow_a_named_one():
    with pytest.raises(SpecError, match=naming("pa", "mix(n=3, pa)", "parameter=value")):
        parse("mix(n=3, pa)")


def test_an_estimator_may_be_a_value():
    outer = parse("sklearn.multiclass:OneVsRestClassifier(estimator=sklearn.svm:LinearSVC(C=0.1))")
    assert outer.params == {"estimator": Expression("sklearn.svm:LinearSVC", None, {"C": 0.1})}


def test_lists_and_tuples_may_contain_estimators_and_infinity():
    svc = Expression("sklearn.svm:LinearSVC", None, {"C": 0.1})
    text = "sklearn.svm:LinearSVC(C=0.1)"
    assert parse_value(f"(('a', {text}), ('b', inf))") == (("a", svc), ("b", math.inf))
    assert parse_value(f"({text},)") == (svc,)
    assert parse_value(f"[({text}, 1), 2]") == [(svc, 1), 2]
    assert parse_value(f"[{text}, -inf]") == [svc, -math.inf]
    with pytest.raises(SpecError):
        parse_value(f"({text})")


def test_a_nested_class_is_an_estimator_too():
    assert parse_value("m.n:Outer.Inner(C=1)") == Expression("m.n:Outer.Inner", None, {"C": 1})


@pytest.mark.parametrize(
    "name", ["my titles.csv", "a=b.csv", "a,b.csv", "it's (1).csv", 'say "a".csv', "in/a.csv", "größe"]
)
def test_any_file_name_round_trips(name):
    for expression in (Expression(name), Expression(name, "t", {"n": 1})):
        assert parse(str(expression)) == expression
        assert split_list(f"pa,{expression},ooz") == ["pa", str(expression), "ooz"]


@pytest.mark.parametrize(("text", "value"), [("inf", math.inf), ("-inf", -math.inf), ("INF", math.inf)])
def test_infinity_is_a_number(text, value):
    assert parse_value(text) == value


@given(names, st.dictionaries(names, literals, max_size=3))
@example("pa", {"C": math.inf})
def test_the_text_of_an_expression_parses_to_the_same_expression(name, params):
    inside = Expression("m:C", None, params)
    among = {"list": [inside, 1], "tuple": (inside, ("a", inside))}
    for written in (
        Expression(name, None, params),
        Expression(name, "label", {"inside": inside}, ("other",)),
        Expression(name, None, among),
    ):
        assert parse(str(written)) == written
