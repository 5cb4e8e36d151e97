"""Any importable classifier can be a learner: identified by its code, rejected with a reason."""

import pytest
from scipy.sparse import csr_array

from experiments import ROWS, SEVERAL, trials_of
from harness.errors import DataError, SpecError, UnknownName
from messages import naming


def test_a_scikit_learn_classifier_runs_without_a_plugin(header):
    from sklearn import __version__

    (trial,) = trials_of(header, learners="sklearn.naive_bayes:MultinomialNB(alpha=0.1)")
    assert (trial.label, trial.blueprint.load) == ("MultinomialNB", "sklearn.naive_bayes:MultinomialNB")
    assert (trial.learner_distribution, trial.learner_version) == ("scikit-learn", __version__)
    assert trial.params == {"alpha": 0.1}


def test_requirements_and_abilities_are_read_from_scikit_learn_tags(header_of):
    with pytest.raises(DataError, match=naming("MultinomialNB", "negative")):
        trials_of(header_of(X=csr_array(-ROWS)), learners="sklearn.naive_bayes:MultinomialNB")
    with pytest.raises(DataError, match=naming("LinearSVC")):
        trials_of(header_of(y=SEVERAL), learners="sklearn.svm:LinearSVC")
    (trial,) = trials_of(header_of(y=SEVERAL), learners="sklearn.neighbors:KNeighborsClassifier")
    assert not trial.wants_dense
    (trial,) = trials_of(header_of(), learners="sklearn.naive_bayes:GaussianNB")
    assert trial.wants_dense


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("sklearn.naive_bays:MultinomialNB", "module 'sklearn.naive_bays' cannot be imported: ModuleNotFoundError"),
        ("sklearn.naive_bayes:MultinomialND", "has no 'MultinomialND'. Did you mean MultinomialNB"),
        ("sklearn.naive_bayes:", "module 'sklearn.naive_bayes' has no ''. Its learners: "),
        ("math:Clf", "module 'math' has no 'Clf'. Its learners: none"),
        ("sklearn.linear_model:LinearRegression", "is a regressor, not a classifier"),
        ("sklearn.preprocessing:StandardScaler", "is not a classifier: expected a class with fit and predict"),
        ("sklearn.base:clone", "is not a classifier: expected a class with fit and predict"),
        ("sklearn.multiclass:OneVsRestClassifier", "needs a value for 'estimator'"),
        (":Clf", "module '' cannot be imported: ValueError: Empty module name"),
        ("manyclass:pa", "unknown learner 'manyclass:pa'. Did you mean dist:pa?"),
    ],
)
def test_objects_that_are_not_importable_classifiers_are_rejected(header, name, reason):
    with pytest.raises((UnknownName, SpecError)) as caught:
        trials_of(header, learners=[{"name": name}])
    assert reason in str(caught.value)


CLASSIFIER = (
    "class Clf:\n    def __init__(self, C=1): ...\n    def fit(self, X, y): ...\n    def predict(self, X): ...\n"
)


def test_a_users_module_is_identified_by_its_content(header, module_of):
    name = f"{module_of(CLASSIFIER)}:Clf"
    first = trials_of(header, learners=name)[0]
    assert first.learner_distribution == "imported_module.py"
    module_of(CLASSIFIER + "RATE = 2\n")
    second = trials_of(header, learners=name)[0]
    assert first.learner_version != second.learner_version
    assert first.key != second.key


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("raise RuntimeError('no luck')", "cannot be imported: RuntimeError: no luck"),
        ("raise SystemExit(3)", "cannot be imported: SystemExit: 3"),
        ("import no_such_dependency", "cannot be imported: ModuleNotFoundError: No module named 'no_such_dependency'"),
        ("None.missing", "cannot be imported: AttributeError"),
    ],
)
def test_a_module_that_fails_to_import_raises_an_error_with_the_reason(header, module_of, source, reason):
    with pytest.raises(UnknownName) as caught:
        trials_of(header, learners=f"{module_of(source)}:Clf")
    assert reason in str(caught.value)


def test_a_class_with_required_arguments_still_runs(header, module_of):
    name = module_of(CLASSIFIER.replace("C=1): ...", "C=0):\n        if not C: raise ValueError('C')"))
    assert trials_of(header, learners=f"{name}:Clf(C=2)")[0].params == {"C": 2}
