"""Plans: a key covers all that decides a result and nothing else; what cannot run is refused before any training."""

import importlib
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csr_array

from harness import Dataset, DatasetSpec, LearnerSpec, MetricSpec, Taxonomy
from harness.data import checked, keep, read_header
from harness.errors import DataError, SpecError, UnknownName
from harness.host import Catalog, Entry, Origin
from harness.plan import as_payload, plan
from harness.resolve import MINIMUM_DEPTH, resolve
from harness.signature import Source
from harness.spec import build

OWN = Origin("mine", "dist", "1.0")
DEFAULTS = {"C": 1.0, "passes": 5, "far": Source("float('inf')"), "random_state": None}


def learner(name, origin=OWN, **fields):
    return Entry(LearnerSpec(**({"name": name, "load": f"somewhere:{name}", "parameters": DEFAULTS} | fields)), origin)


LEARNERS = (
    learner("pa"),
    learner("ooz"),
    learner("fixed", parameters={"C": 1.0}),
    learner("positive", needs=frozenset({"nonnegative"})),
    learner("treelike", needs=frozenset({"taxonomy"})),
    learner("dense", needs=frozenset({"dense"})),
    learner("several", supports=frozenset({"multilabel"})),
)


def catalog_of(learners=LEARNERS, datasets=("data", "other"), metrics=()):
    sets = tuple(Entry(DatasetSpec(name=name, load="a:b", parameters={"rows": 9}), OWN) for name in datasets)
    return Catalog(learners=learners, datasets=sets, metrics=metrics)


ROWS = np.eye(20, 4, dtype=np.float32) + 1
LABELS = np.arange(20) % 4
NAMES = ("a", "b", "c", "d")


@pytest.fixture(scope="session")
def header_of(tmp_path_factory):
    """The header of a data set that is really kept: a sound one of 20 rows and 4 classes, with changes."""
    home = tmp_path_factory.mktemp("kept")

    def make(**changes):
        folder = home / f"data-{len(list(home.iterdir()))}"
        keep(checked("data", Dataset(**({"X": csr_array(ROWS), "y": LABELS, "class_names": NAMES} | changes))), folder)
        return read_header(folder)

    return make


@pytest.fixture(scope="session")
def header(header_of):
    return header_of()


def trials_of(header, catalog=None, headers=None, **raw):
    raw = {"learners": "pa", "datasets": "data", "trials": 1} | raw
    resolved = resolve(build(raw, "test"), catalog or catalog_of())
    return plan(resolved, headers or {"data": header, "other": header})


def key(header, **raw):
    (trial,) = trials_of(header, **raw)
    return trial.key


# -- keys ------------------------------------------------------------------------------------------------------------


@given(order=st.permutations(["pa", "small=pa(C=0.1)", "ooz", "fixed", "dense(passes=2, C=3)"]))
def test_the_order_of_the_learners_does_not_matter(header, order):
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
    "the split": {"split": "holdout:0.2"},
    "the representation": {"representation": "tf"},
}


def test_everything_that_decides_the_result_changes_the_key(header, header_of):
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
    "the split in other words": {"split": "holdout:0.10"},
    "the representation named": {"representation": "tfidf"},
}


@pytest.mark.parametrize("what", INDIFFERENT)
def test_nothing_else_changes_the_key(header, what):
    assert key(header, **INDIFFERENT[what]) == key(header)


def test_other_learners_data_sets_metrics_and_trials_do_not_change_a_key(header):
    metric = Entry(MetricSpec(name="m", compute="a:b", depth=MINIMUM_DEPTH), OWN)
    many = trials_of(header, learners="ooz,pa", trials=5, catalog=catalog_of(metrics=(metric,)), metrics="m")
    assert key(header) in {trial.key for trial in many}


def test_the_ranks_kept_change_the_key_up_to_the_number_of_classes(header):
    deep, deeper = (
        catalog_of(metrics=(Entry(MetricSpec(name="m", compute="a:b", depth=depth), OWN),)) for depth in (50, 100)
    )
    assert key(header, catalog=deep) == key(header)  # of four classes ten ranks say all
    many = replace(header, classes=60)
    assert len({key(many), key(many, catalog=deep), key(many, catalog=deeper)}) == 3
    assert trials_of(many, catalog=deeper)[0].depth == 60


def test_a_metric_that_waits_to_be_asked_for_deepens_no_ranking_before(header):
    patient = Entry(MetricSpec(name="m", compute="a:b", depth=50, always=False), OWN)
    many, catalog = replace(header, classes=60), catalog_of(metrics=(patient,))
    assert key(many, catalog=catalog) == key(many)
    assert trials_of(many, catalog=catalog, metrics="m")[0].depth == 50


def test_the_only_split_that_the_data_brings_is_one_split_under_either_name(header_of):
    given_header = header_of(splits={"official": (np.arange(15), np.arange(15, 20))})
    (short,), (long,) = (trials_of(given_header, split=split) for split in ("given", "given:official"))
    assert short.key == long.key
    assert short.split == "given:official"


def test_a_default_that_is_an_expression_is_not_the_text_of_it(header):
    assert key(header) != key(header, learners="pa(far=\"float('inf')\")")


def test_values_that_a_learner_can_tell_apart_have_keys_of_their_own(header):
    values = ["(1, 2)", "[[1, 2]]", "{1: 2}", "{'1': 2}", "{'tuple': [1, 2]}", "'1'", "1", "true", "none", "{True: 2}"]
    keys = {value: key(header, learners=f"pa(C={value})") for value in values}
    assert len(set(keys.values())) == len(keys)
    assert key(header, learners="pa(C={1: 2, 'a': (3,)})") == key(header, learners="pa(C={'a': (3,), 1: 2})")


def test_keys_do_not_change_from_release_to_release(header):
    assert key(replace(header, fingerprint="0" * 64)) == "0b2729d43833b57f6182"


# -- trials ----------------------------------------------------------------------------------------------------------


def test_a_trial_tells_all_that_its_process_must_know(header):
    first, second = trials_of(header, learners="x=dense(C=2)", trials=2, seed=7, datasets="data(rows=3)")
    assert (first.number, first.seed, second.number, second.seed) == (0, 7, 1, 8)
    assert first.params == {"C": 2, "random_state": 7}
    assert second.params == {"C": 2, "random_state": 8}
    assert (first.label, first.learner, first.learner_load, first.learner_version) == (
        "x",
        "dense",
        "somewhere:dense",
        "1.0",
    )
    assert (first.dataset, first.dataset_params) == ("data", {"rows": 3})
    assert (first.wants_dense, first.wants_taxonomy, first.depth) == (True, False, MINIMUM_DEPTH)
    assert (first.data_folder, first.fingerprint) == (header.folder, header.fingerprint)
    assert as_payload(first)["params"] == {"C": 2, "random_state": 7}


def test_a_learner_without_random_state_gets_none(header):
    (trial,) = trials_of(header, learners="fixed")
    assert trial.params == {}


def test_a_random_state_given_by_the_user_stays(header):
    assert [t.params["random_state"] for t in trials_of(header, learners="pa(random_state=3)", trials=2)] == [3, 3]


def test_every_combination_of_a_grid_is_a_learner_of_its_own(header):
    found = trials_of(header, learners="pa(C=[0.1, 1], passes=[2, 3])", trials=2)
    assert [t.label for t in found[:4]] == [
        "pa(C=0.1, passes=2)",
        "pa(C=0.1, passes=3)",
        "pa(C=1, passes=2)",
        "pa(C=1, passes=3)",
    ]
    assert [t.number for t in found] == [0] * 4 + [1] * 4
    assert len({t.key for t in found}) == 8


def test_a_grid_of_one_is_a_value_that_is_a_list(header):
    (trial,) = trials_of(header, learners="pa(C=[[1, 2]])")
    assert trial.params["C"] == [1, 2]


def test_parameters_may_depend_on_the_data_set(header):
    found = trials_of(header, learners="pa(C=2)", datasets="data,other", set={"pa@other": {"C": [3, 4]}})
    assert [(t.dataset, t.label, t.params["C"]) for t in found] == [
        ("data", "pa", 2),
        ("other", "pa(C=3)", 3),
        ("other", "pa(C=4)", 4),
    ]


def test_each_data_set_has_its_own_representation_and_split(header):
    datasets = [{"name": "data"}, {"name": "other", "representation": "raw", "split": "holdout:0.5"}]
    first, second = trials_of(header, datasets=datasets, representation="binary")
    assert (first.representation, first.split) == ("binary", "holdout:0.1")
    assert (second.representation, second.split) == ("raw", "holdout:0.5")


def test_ten_thousand_trials_are_planned_right(header):
    headers = {"data": header, "other": replace(header, fingerprint="x")}
    grids = "pa(C=[1,2,3,4,5]),ooz(C=[1,2,3,4,5])"
    found = trials_of(header, learners=grids, datasets="data,other", trials=500, headers=headers)
    assert len(found) == len({t.key for t in found}) == 10_000
    assert {(t.dataset, t.learner, t.params["C"], t.seed) for t in found} == {
        (d, name, C, seed)
        for d in ("data", "other") for name in ("pa", "ooz") for C in range(1, 6) for seed in range(500)
    }  # fmt: skip
    assert [t.seed for t in found[:11]] == [0] * 10 + [1]


# -- refused before any training -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "learners", ["a=pa,b=pa", "a=pa,b=pa(C=1.0)", "pa(C=[1, 1])", "pa(C=[1,2]),b=pa(C=2)", "pa,x=dist:pa"]
)
def test_the_same_learner_twice_is_refused(header, learners):
    with pytest.raises(SpecError, match=r"are the same learner with the same parameters on 'data': leave one out"):
        trials_of(header, learners=learners)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ({"learners": "paa"}, "unknown learner 'paa'; did you mean pa?"),
        ({"datasets": "dta"}, "unknown data set 'dta'; did you mean data?"),
        ({"metrics": "r9"}, "unknown metric 'r9'"),
        ({"learners": "pa(Cc=1)"}, "learner 'pa' has no parameter 'Cc'; did you mean C?"),
        ({"learners": "x=pa(zzz=1)"}, "learner 'x' has no parameter 'zzz'; it has: C, passes, far, random_state"),
        ({"datasets": "data(row=1)"}, "data set 'data' has no parameter 'row'; did you mean rows?"),
        ({"set": {"pa@data": {"pases": 1}}}, "learner 'pa' has no parameter 'pases'; did you mean passes?"),
        ({"learners": "pa(C=[])"}, "learner 'pa': the list of values for 'C' is empty"),
        ({"learners": "pa(C={1, 2})"}, "learner 'pa': C={1, 2} cannot be passed on; allowed: numbers, texts"),
        ({"learners": "pa(C={(1, 2): 3})"}, "learner 'pa': C={(1, 2): 3} cannot be passed on"),
        ({"learners": "pa(C=[1j])"}, "cannot be passed on"),
        ({"datasets": "data(rows=b'x')"}, "data set 'data': rows=b'x' cannot be passed on"),
    ],
)
def test_unknown_names_and_values_are_refused(header, raw, reason):
    with pytest.raises((UnknownName, SpecError)) as caught:
        trials_of(header, **raw)
    assert reason in str(caught.value)


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_a_bare_name_of_something_that_lies_here_is_told_how_to_be_written(header, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tx").mkdir() if kind == "folder" else (tmp_path / "tx").touch()
    with pytest.raises(UnknownName, match=rf"unknown data set 'tx'.* a {kind} of that name here.* write \./tx$"):
        trials_of(header, datasets="tx")


def test_a_parameter_without_a_default_must_be_given(header, module_of):
    name = module_of("class Needs:\n    def __init__(self, inner, C=1): ...\n")
    catalog = catalog_of((learner("needy", load=f"{name}:Needs", parameters=None),))
    with pytest.raises(SpecError, match=r"learner 'needy' needs a value for 'inner': --set NAME.inner=VALUE"):
        trials_of(header, catalog=catalog, learners="needy")
    assert trials_of(header, catalog=catalog, learners="needy(inner=2)")[0].params == {"inner": 2}


SEVERAL = csr_array(np.eye(20, 4, dtype=np.int8)[LABELS])
TREE = Taxonomy(np.array([-1, 0, 0, 0, 0]), np.arange(1, 5))


@pytest.mark.parametrize(
    ("name", "changes", "raw", "trouble"),
    [
        ("pa", {"y": SEVERAL}, {}, "has several labels a row, and the learner takes one"),
        ("positive", {"X": csr_array(-ROWS)}, {}, r"has negative values \(representation 'tfidf'\), which the learner"),
        ("positive", {"X": csr_array(-ROWS)}, {"representation": "raw"}, "has negative values"),
        ("treelike", {}, {}, "has no taxonomy, which the learner needs"),
    ],
)
def test_data_that_a_learner_cannot_take_is_refused_with_both_names(header_of, name, changes, raw, trouble):
    with pytest.raises(
        DataError, match=f"learner 'x' cannot run on data set 'data': it {trouble}.*; leave one of them out"
    ):
        trials_of(header_of(**changes), learners=f"several,x={name}" if "y" in changes else f"pa,x={name}", **raw)


@pytest.mark.parametrize(
    ("name", "changes", "raw"),
    [
        ("several", {"y": SEVERAL}, {}),
        ("positive", {"X": csr_array(-ROWS)}, {"representation": "binary"}),
        ("positive", {}, {}),
        ("treelike", {"taxonomy": TREE}, {}),
    ],
)
def test_data_that_a_learner_can_take_is_planned(header_of, name, changes, raw):
    assert len(trials_of(header_of(**changes), learners=name, **raw)) == 1


@pytest.mark.parametrize(
    ("split", "reason"),
    [
        ("holdout:0.01", "leaves the test part empty"),
        ("holdout:0.99", "leaves the training part empty"),
        ("given", "it brings: none, use holdout:SHARE"),
        ("given:official", "no split 'official'"),
    ],
)
def test_a_split_that_cannot_be_drawn_is_refused_with_the_data_set(header, split, reason):
    with pytest.raises(DataError, match=f"data set 'data': .*{reason}"):
        trials_of(header, split=split)


def test_a_training_part_of_a_single_class_is_refused(header_of):
    with pytest.raises(
        DataError, match=r"split 'holdout:0.1' with seed 0 trains on a single class, 'b': choose another"
    ):
        trials_of(header_of(y=np.ones(20, int)))
    official = {"official": (np.flatnonzero(LABELS == 2), np.flatnonzero(LABELS != 2))}
    with pytest.raises(DataError, match="'given' with seed 0 trains on a single class, 'c'"):
        trials_of(header_of(splits=official), split="given")


def test_one_class_much_larger_than_the_others_is_no_reason_to_refuse(header_of):
    y = np.zeros(400, int)
    y[:12] = 1
    large = header_of(X=csr_array(np.ones((400, 2))), y=y, class_names=("common", "rare"))
    assert len(trials_of(large, trials=20)) == 20


def test_the_single_class_of_a_later_trial_is_found_before_the_first(header_of):
    y = np.zeros(20, int)
    y[0] = 1
    rare = header_of(y=y, class_names=("common", "rare"))
    with pytest.raises(DataError, match=r"with seed \d+ trains on a single class, 'common'"):
        trials_of(rare, trials=200)


# -- any importable classifier ---------------------------------------------------------------------------------------


@pytest.fixture
def module_of(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)

    def write(source):
        (tmp_path / "imported_module.py").write_text(source)
        sys.modules.pop("imported_module", None)
        importlib.invalidate_caches()
        return "imported_module"

    yield write
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_a_scikit_learn_classifier_runs_without_a_plugin(header):
    from sklearn import __version__

    (trial,) = trials_of(header, learners="sklearn.naive_bayes:MultinomialNB(alpha=0.1)")
    assert (trial.label, trial.learner_load) == ("MultinomialNB", "sklearn.naive_bayes:MultinomialNB")
    assert (trial.learner_distribution, trial.learner_version) == ("scikit-learn", __version__)
    assert trial.params == {"alpha": 0.1}


def test_what_a_classifier_needs_and_can_do_is_read_from_its_tags(header_of):
    with pytest.raises(DataError, match=r"'MultinomialNB' cannot run .* negative values"):
        trials_of(header_of(X=csr_array(-ROWS)), learners="sklearn.naive_bayes:MultinomialNB")
    with pytest.raises(DataError, match=r"'LinearSVC' cannot run .* several labels"):
        trials_of(header_of(y=SEVERAL), learners="sklearn.svm:LinearSVC")
    (trial,) = trials_of(header_of(y=SEVERAL), learners="sklearn.neighbors:KNeighborsClassifier")
    assert not trial.wants_dense
    (trial,) = trials_of(header_of(), learners="sklearn.naive_bayes:GaussianNB")
    assert trial.wants_dense


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("sklearn.naive_bays:MultinomialNB", "module 'sklearn.naive_bays' cannot be imported: ModuleNotFoundError"),
        ("sklearn.naive_bayes:MultinomialND", "has no 'MultinomialND'; did you mean MultinomialNB"),
        ("sklearn.naive_bayes:", "module 'sklearn.naive_bayes' has no ''; its learners: "),
        ("math:Clf", "module 'math' has no 'Clf'; its learners: none"),
        ("sklearn.linear_model:LinearRegression", "is a regressor, not a classifier"),
        ("sklearn.preprocessing:StandardScaler", "is not a classifier: expected a class with fit and predict"),
        ("sklearn.base:clone", "is not a classifier: expected a class with fit and predict"),
        ("sklearn.multiclass:OneVsRestClassifier", "needs a value for 'estimator'"),
        (":Clf", "module '' cannot be imported: ValueError: Empty module name"),
        ("manyclass:pa", "unknown learner 'manyclass:pa'; did you mean dist:pa?"),
    ],
)
def test_what_is_no_importable_classifier_is_refused(header, name, reason):
    with pytest.raises((UnknownName, SpecError)) as caught:
        trials_of(header, learners=[{"name": name}])
    assert reason in str(caught.value)


CLASSIFIER = (
    "class Clf:\n    def __init__(self, C=1): ...\n    def fit(self, X, y): ...\n    def predict(self, X): ...\n"
)


def test_a_module_of_ones_own_is_known_by_its_content(header, module_of):
    name = f"{module_of(CLASSIFIER)}:Clf"
    first = trials_of(header, learners=name)[0]
    assert first.learner_distribution == "imported_module.py"
    module_of(CLASSIFIER + "# edited\n")
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
def test_a_module_that_cannot_be_imported_is_told_with_the_reason(header, module_of, source, reason):
    with pytest.raises(UnknownName) as caught:
        trials_of(header, learners=f"{module_of(source)}:Clf")
    assert reason in str(caught.value)


def test_a_class_that_cannot_be_made_without_arguments_still_runs(header, module_of):
    name = module_of(CLASSIFIER.replace("C=1): ...", "C=0):\n        if not C: raise ValueError('C')"))
    assert trials_of(header, learners=f"{name}:Clf(C=2)")[0].params == {"C": 2}


def test_a_stratified_split_of_several_labels_a_row_is_refused_before_any_training(header_of):
    several = header_of(y=csr_array(np.eye(4, dtype=np.int8)[LABELS]))
    with pytest.raises(DataError, match=r"data set 'data': split 'stratified:0.5' needs one label a row"):
        trials_of(several, learners="several", split="stratified:0.5")
