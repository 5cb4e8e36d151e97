"""Python estimators in an experiment: described as expressions and rebuilt with the same parameters."""

import math
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import RandomForestClassifier, StackingClassifier, VotingClassifier
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.svm import LinearSVC

import harness
from harness.errors import SpecError
from harness_committee import Committee
from harness_index import OOZ
from harness_prototype import PA
from internals import (
    blueprint_of,
    build,
    build_estimator,
    dataset_groups,
    describe_estimator,
    describe_learners,
    discover,
    expand_imports,
    find_target,
    learner_refs,
    parse,
    resolve_learner,
)
from messages import assert_names, naming


@pytest.fixture(scope="module")
def catalog():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("HARNESS_STRICT_PLUGINS", raising=False)
        yield discover()


def rebuilt(text, catalog):
    """Return the estimator that a trial would build from an expression."""
    experiment = build({"learners": [text], "datasets": "digits"}, "test", catalog)
    (ref,) = learner_refs(experiment, dataset_groups(experiment))
    resolved = resolve_learner(ref, catalog)
    return build_estimator(blueprint_of(resolved, resolved.ref.params))


def params_of(estimator):
    """Return class and parameters as text, including nested estimators."""
    params = {name: repr(value) for name, value in estimator.get_params(deep=True).items()}
    return type(estimator), params


DESCRIBED = [
    (PA(), "pa"),
    (PA(C=0.3), "pa(C=0.3)"),
    (PA(C=math.inf), "pa(C=inf)"),
    (LogisticRegression(), "sklearn.linear_model:LogisticRegression()"),
    (LogisticRegression(C=2, class_weight="balanced"), None),
    (LogisticRegression(class_weight={0: 1.0, 1: 2.5}), None),
    (SGDClassifier(early_stopping=True, learning_rate="adaptive", eta0=0.1), None),
    (MLPClassifier(hidden_layer_sizes=(20, 10)), None),
    (MLPClassifier(hidden_layer_sizes=(20,)), None),
    (RandomForestClassifier(max_depth=3, max_features=None), None),
    (MultinomialNB(class_prior=(0.25, 0.75)), None),
    (KNeighborsClassifier(3), "sklearn.neighbors:KNeighborsClassifier(n_neighbors=3)"),
    (
        OneVsRestClassifier(LinearSVC(C=0.5)),
        "sklearn.multiclass:OneVsRestClassifier(estimator=sklearn.svm:LinearSVC(C=0.5), n_jobs=None, verbose=0)",
    ),
    (OneVsRestClassifier(CalibratedClassifierCV(LinearSVC(C=0.5, dual=False), cv=2)), None),
    (OneVsRestClassifier(PA(C=0.3)), None),
    (OneVsRestClassifier(Committee(PA(C=0.3), members=2)), None),
    (VotingClassifier((("a", LinearSVC(C=0.5)), ("b", PA()))), None),
    (StackingClassifier((("a", LinearSVC(C=0.5)),), final_estimator=LogisticRegression(C=3)), None),
    (Committee(PA()), "committee(pa)"),
    (Committee(PA(C=0.5), members=2), "committee(pa(C=0.5), members=2)"),
    (Committee(LinearSVC(C=0.5)), "committee(sklearn.svm:LinearSVC(C=0.5))"),
    (Committee(Committee(OOZ(d=5))), "committee(committee(ooz(d=5)))"),
]


@pytest.mark.parametrize(("estimator", "text"), DESCRIBED, ids=[repr(estimator) for estimator, _ in DESCRIBED])
def test_an_estimator_is_described_and_rebuilt(catalog, estimator, text):
    described = describe_estimator(estimator, catalog)
    if text is not None:
        assert str(described) == text
    assert parse(str(described)) == described
    again = rebuilt(str(described), catalog)
    assert params_of(again) == params_of(estimator)


def test_numpy_numbers_are_described_as_numbers(catalog):
    estimator = PA(C=np.float64(0.3), passes=np.int64(2), step=np.str_("exact"))
    assert_names(str(describe_estimator(estimator, catalog)), "pa(C=0.3", "passes=2", "step=", "exact")


finite = st.floats(min_value=1e-6, max_value=1e6)


@given(
    C=finite, weights=st.none() | st.dictionaries(st.integers(0, 5), finite, max_size=3), solver=st.text(max_size=20)
)
def test_any_number_or_text_parameter_round_trips(catalog, C, weights, solver):
    estimator = LogisticRegression(C=C, class_weight=weights, solver=solver)
    written = str(describe_estimator(estimator, catalog))
    assert LogisticRegression(**parse(written).params).get_params() == estimator.get_params()


def test_learners_are_described_in_order_and_expressions_are_kept(catalog):
    assert describe_learners("pa,small=pa(C=0.1)", catalog) == "pa,small=pa(C=0.1)"
    described = describe_learners(["small=pa(C=0.1)", PA(C=2.0)], catalog)
    assert [parse(text) for text in described] == [parse("small=pa(C=0.1)"), parse("pa(C=2.0)")]
    assert describe_learners((PA(),), catalog) == ["pa"]
    assert describe_learners(PA(), catalog) == ["pa"]


def test_the_keys_of_a_dictionary_are_labels(catalog):
    described = describe_learners({"small": PA(C=0.3), "other": "ooz(d=5)"}, catalog)
    assert [parse(text) for text in described] == [parse("small=pa(C=0.3)"), parse("other=ooz(d=5)")]


# -- where classes are imported from ---------------------------------------------------------------------------------


def test_a_class_is_named_by_the_shortest_public_module_that_has_it():
    assert find_target(LogisticRegression) == "sklearn.linear_model:LogisticRegression"
    assert find_target(PA) == "harness_prototype:PA"


def refusal(estimator, catalog):
    with pytest.raises(SpecError) as caught:
        describe_estimator(estimator, catalog)
    return caught.value


def test_a_class_defined_in_a_function_is_rejected_with_the_next_step(catalog):
    class Inside(LogisticRegression):
        pass

    error = refusal(Inside(), catalog)
    assert_names(error.trouble, "Inside", "function")
    assert_names(error.next_step, "my_learners.py", "from my_learners import Inside")


SCRIPT = """
    from sklearn.linear_model import LogisticRegression
    from internals import Catalog, describe_estimator
    from harness.errors import SpecError

    class Mine(LogisticRegression):
        pass

    try:
        describe_estimator(Mine(), Catalog())
    except SpecError as error:
        print(error)
"""


def test_a_class_defined_in_the_script_is_rejected_with_the_next_step():
    ended = subprocess.run(
        [sys.executable, "-c", expand_imports(textwrap.dedent(SCRIPT))],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )
    assert_names(ended.stdout, "my_learners.py", "from my_learners import Mine")


@pytest.fixture
def module_of(tmp_path, monkeypatch):
    """Write a user's module on the path."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(source):
        (tmp_path / "my_learners.py").write_text(textwrap.dedent(source))
        sys.modules.pop("my_learners", None)
        import my_learners

        return my_learners

    yield write
    sys.modules.pop("my_learners", None)


MINE = """
    from sklearn.linear_model import LogisticRegression

    class Mine(LogisticRegression):
        pass
"""


def test_a_class_in_a_users_file_is_a_learner(catalog, module_of):
    mine = module_of(MINE)
    assert str(describe_estimator(mine.Mine(C=2), catalog)).startswith("my_learners:Mine(C=2")
    again = rebuilt(str(describe_estimator(mine.Mine(C=2), catalog)), catalog)
    assert params_of(again) == params_of(mine.Mine(C=2))


@pytest.mark.parametrize("now", [None, LogisticRegression], ids=["gone", "another"])
def test_a_class_removed_from_its_module_is_rejected(catalog, module_of, now):
    mine = module_of(MINE)
    estimator = mine.Mine()
    mine.Mine = now
    assert_names(str(refusal(estimator, catalog)), "my_learners")


def test_a_class_with_required_arguments_is_described_with_all_of_them(catalog, module_of):
    mine = module_of("""
        from sklearn.linear_model import LogisticRegression

        class Mine(LogisticRegression):
            def __init__(self, C=None):
                if C is None:
                    raise ValueError("C must be given")
                super().__init__(C=C)
    """)
    assert str(describe_estimator(mine.Mine(C=2), catalog)) == "my_learners:Mine(C=2)"


# -- what cannot be passed on ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("estimator", "where", "kind"),
    [
        (LogisticRegression(class_weight=np.ones(3)), "LogisticRegression(class_weight=...)", "ndarray"),
        (LogisticRegression(random_state=np.random.RandomState(0)), "LogisticRegression(random_state=...)", "RandomSt"),
        (KNeighborsClassifier(metric=len), "KNeighborsClassifier(metric=...)", "builtin_function_or_method"),
        (OneVsRestClassifier(KNeighborsClassifier(metric=len)), "KNeighborsClassifier(metric=...)", "builtin_function"),
        (LogisticRegression(class_weight={0: object()}), "LogisticRegression(class_weight=...)", "object"),
        (MLPClassifier(hidden_layer_sizes=(len,)), "MLPClassifier(hidden_layer_sizes=...)", "builtin_function"),
        (VotingClassifier([("a", PA())]), "VotingClassifier(estimators=...)", "list"),
        (LogisticRegression(tol=math.nan), "LogisticRegression(tol=...)", "nan"),
    ],
    ids=lambda value: None if isinstance(value, str) else type(value).__name__,
)
def test_a_value_without_a_notation_is_rejected_with_parameter_and_type(catalog, estimator, where, kind):
    error = refusal(estimator, catalog)
    assert error.trouble.startswith(f"{where}: {kind}")
    assert_names(error.trouble, "passed")
    assert error.next_step


@pytest.mark.parametrize(
    ("learner", "message"),
    [
        (LogisticRegression, "LogisticRegression is a class. Give an estimator, LogisticRegression()"),
        (3, "3 is not a learner: expected a name, or an estimator with get_params and fit"),
        (None, "None is not a learner"),
    ],
)
def test_an_object_that_is_no_estimator_is_rejected(catalog, learner, message):
    assert message in str(refusal(learner, catalog))


def test_a_text_that_is_no_expression_is_rejected():
    with pytest.raises(SpecError, match=naming("learners[0]", "pa(")):
        harness.run(learners=["pa("], data="digits", out="never")
