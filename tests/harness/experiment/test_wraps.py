"""Learners and data sets round others: with the parameter's name or without it they are one, however deep."""

from dataclasses import replace

import pytest

from experiments import LEARNERS, OWN, SEVERAL, catalog_of, learner, resolved_of, trials_of
from harness import DatasetSpec
from harness.catalog import Entry
from harness.errors import SpecError, UnknownName
from harness.experiment.pairs import tell_incompatible
from harness.expression import Expression
from harness.trials.blueprint import Blueprint

BAG = learner(
    "bag",
    parameters={"base": None, "size": 10, "random_state": None},
    wraps="base",
    supports=frozenset({"multilabel"}),
    preload=("bag_module",),
)
HEDGE = learner("hedge", parameters={"expert": None, "rate": 0.5}, wraps="expert")
WARM = learner("warm", preload=("warm_module", "shared_module"), kind="tree")
PART = Entry(DatasetSpec(name="part", load="a:b", parameters={"whole": None, "share": 1}, wraps="whole"), OWN)
CATALOG = replace(catalog_of((*LEARNERS, BAG, HEDGE, WARM)), datasets=(*catalog_of().datasets, PART))


def one_trial(header, learners):
    (trial,) = trials_of(header, CATALOG, learners=learners)
    return trial


SAME = {
    "by position": ["bag(pa)", "bag(base=pa)", "bag(base='pa')", "dist:bag(pa)", "bag(dist:pa)"],
    "with parameters inside": ["bag(pa(C=2))", "bag(base='pa(C=2)')", "bag( pa( C = 2 ) )"],
    "with parameters of both": ["bag(pa(C=2), size=3)", "bag(base='pa(C=2)', size=3)", "bag(size=3, base='pa(C=2)')"],
    "nested": ["bag(hedge(pa))", "bag(hedge(expert=pa))", "bag(base='hedge(pa)')", "bag(base='hedge(expert=pa)')"],
    "nested deeply": ["bag(bag(hedge(pa(C=2))), size=2)", "bag(base='bag(base=\"hedge(pa(C=2))\")', size=2)"],
    "round any classifier": [
        "bag(sklearn.svm:LinearSVC(C=0.5))",
        "bag(base=sklearn.svm:LinearSVC(C=0.5))",
        "bag(base='sklearn.svm:LinearSVC(C=0.5)')",
    ],
}
LABELS = {
    "by position": "bag(pa)",
    "with parameters inside": "bag(pa)",
    "with parameters of both": "bag(pa)",
    "nested": "bag(hedge(pa))",
    "nested deeply": "bag(bag(hedge(pa)))",
    "round any classifier": "bag(LinearSVC)",
}


@pytest.mark.parametrize("case", SAME)
def test_a_learner_round_another_is_one_however_it_is_written(header, case):
    trials = [one_trial(header, [text]) for text in SAME[case]]
    assert {trial.label for trial in trials} == {LABELS[case]}
    assert len({trial.key for trial in trials}) == 1
    assert len({repr(trial.blueprint) for trial in trials}) == 1


def test_other_learners_inside_and_other_parameters_are_other_learners(header):
    texts = ["bag(pa)", "bag(ooz)", "bag(pa(C=2))", "bag(pa(C=2.0))", "bag(bag(pa))", "hedge(pa)", "bag(pa, size=3)"]
    assert len({one_trial(header, [text]).key for text in texts}) == len(texts)


def test_a_default_inside_is_the_same_whether_it_is_written_or_not(header):
    assert one_trial(header, ["bag(pa)"]).key == one_trial(header, ["bag(pa(C=1.0, passes=5))"]).key


def test_the_learner_inside_is_built_with_its_own_parameters(header):
    trial = one_trial(header, ["bag(hedge(pa(C=2), rate=0.1), size=3)"])
    inside = Blueprint("somewhere:pa", {"C": 2})
    hedged = Blueprint("somewhere:hedge", {"expert": inside, "rate": 0.1})
    assert trial.blueprint == Blueprint("somewhere:bag", {"base": hedged, "size": 3, "random_state": 0})
    assert trial.params == {"base": "hedge(pa(C=2), rate=0.1)", "size": 3, "random_state": 0}


def test_a_label_of_its_own_wins(header):
    for text in ("mine=bag(pa)", "mine=bag(base=pa)"):
        assert one_trial(header, [text]).label == "mine"
    assert one_trial(header, [{"name": "bag", "params": {"base": "pa"}, "label": "mine"}]).label == "mine"
    assert one_trial(header, [{"name": "bag", "params": {"base": "pa"}}]).label == "bag(pa)"


def test_several_learners_inside_are_a_grid(header):
    trials = trials_of(header, CATALOG, learners=["bag(base=[pa, ooz, sklearn.svm:LinearSVC(C=0.5)])"])
    assert [trial.label for trial in trials] == [
        "bag(base=pa)",
        "bag(base=ooz)",
        "bag(base=sklearn.svm:LinearSVC(C=0.5))",
    ]
    assert [trial.family for trial in trials] == ["bag"] * 3
    alone = [one_trial(header, [f"bag({text})"]) for text in ("pa", "ooz", "sklearn.svm:LinearSVC(C=0.5)")]
    assert [trial.key for trial in trials] == [trial.key for trial in alone]


def test_the_learner_inside_may_depend_on_the_data_set(header):
    trials = trials_of(header, CATALOG, learners=["bag(pa)"], datasets="data,other", set={"bag@other": {"base": "ooz"}})
    loads = {trial.dataset: trial.blueprint.params["base"].load for trial in trials}
    assert loads == {"data": "somewhere:pa", "other": "somewhere:ooz"}


def test_a_grid_inside_its_own_parameters_is_labelled_by_them(header):
    trials = trials_of(header, CATALOG, learners=["bag(pa, size=[2, 3])"])
    assert [(trial.label, trial.family) for trial in trials] == [
        ("bag(pa)(size=2)", "bag(pa)"),
        ("bag(pa)(size=3)", "bag(pa)"),
    ]


def test_what_the_learner_inside_needs_counts(header):
    assert one_trial(header, ["bag(dense)"]).wants_dense
    assert one_trial(header, ["bag(warm)"]).learner_kind == "tree"
    (line,) = tell_incompatible(resolved_of(CATALOG, learners=["bag(treelike)"]), {"data": header})
    assert line.startswith("learner 'bag(treelike)' cannot run on data set 'data': it has no taxonomy")


def test_both_must_be_able_to_take_several_labels_a_row(header_of):
    several = header_of(y=SEVERAL)
    trials = trials_of(several, CATALOG, learners=["bag(several)", "bag(pa)", "hedge(several)"])
    assert [trial.label for trial in trials] == ["bag(several)"]


def test_the_modules_of_the_learner_inside_are_warm_too_and_each_once():
    resolved = resolved_of(CATALOG, learners=["bag(hedge(warm))", "warm", "a=bag(warm)"])
    assert resolved.preload == {"dist": ("bag_module", "warm_module", "shared_module")}
    alone = resolved_of(CATALOG, learners=["warm", "bag(pa)"])
    assert alone.preload == {"dist": ("warm_module", "shared_module", "bag_module")}


@pytest.mark.parametrize(
    ("learners", "told"),
    [
        ("pa(ooz)", r"learner 'pa\(ooz\)' is not built round another: cannot read 'ooz', expected parameter=value"),
        ("bag(pa, base=ooz)", r"learner 'bag\(pa\)' is given 'base' twice: as 'pa' and as 'ooz'"),
        ("bag(pa, ooz)", r"cannot read 'ooz' in 'bag\(pa, ooz\)': expected parameter=value"),
        ("bag", r"learner 'bag' is built round another: say which, as in bag\(NAME\)"),
        ("bag(pa(Cc=1))", r"learner 'pa\(Cc=1\)' has no parameter 'Cc'; did you mean C\?"),
        ("bag(bse=pa)", r"learner 'bag' has no parameter 'bse'; did you mean base\?"),
    ],
)
def test_what_cannot_be_built_is_told_with_the_reason(header, learners, told):
    with pytest.raises(SpecError, match=told):
        trials_of(header, CATALOG, learners=[learners])


def test_an_unknown_learner_inside_is_named_with_the_nearest(header):
    with pytest.raises(UnknownName, match="unknown learner 'paa'; did you mean pa"):
        trials_of(header, CATALOG, learners=["bag(paa)"])


def test_the_learner_inside_cannot_be_tuned(header):
    with pytest.raises(SpecError, match=r"tune: bag\(pa\)\.base cannot be tuned: compare the learners side by side"):
        trials_of(header, CATALOG, learners=["bag(pa)"], tune={"params": {"bag": {"base": ["pa", "ooz"]}}})


# -- data sets -------------------------------------------------------------------------------------------------------

SAME_DATA = {
    "by position": ["part(data)", "part(whole=data)", "dist:part(data)"],
    "with parameters": ["part(data(rows=3), share=2)", "part(whole='data(rows=3)', share=2)"],
    "nested": [
        "part(part(data), share=2)",
        "part(part(whole=data), share=2)",
        "part(whole='part(whole=data)', share=2)",
    ],
}
DATA_LABELS = {
    "by position": "part(data)",
    "with parameters": "part(data, share=2)",
    "nested": "part(part(data), share=2)",
}


@pytest.mark.parametrize("case", SAME_DATA)
def test_a_data_set_made_from_another_is_one_however_it_is_written(case):
    resolved = [resolved_of(CATALOG, datasets=[text]).datasets[0] for text in SAME_DATA[case]]
    bare = {dataset.name.removeprefix("dist:") for dataset in resolved}
    assert bare == {DATA_LABELS[case]}
    assert len({repr(describe(dataset)) for dataset in resolved}) == 1


def describe(dataset):
    """All that decides a data set's content, at every depth."""
    own = {name: value for name, value in dataset.params.items() if name != dataset.entry.spec.wraps}
    inside = describe(dataset.wrapped) if dataset.wrapped else None
    return dataset.entry.spec.name, own, inside


@pytest.mark.parametrize(
    ("datasets", "told"),
    [
        ("data(other)", "data set 'data(other)' is not built round another: cannot read 'other', expected parameter="),
        ("part(data, whole=other)", "data set 'part(data, whole=other)' is given 'whole' twice: as 'data' and as 'oth"),
        ("part(data, other)", "cannot read 'other' in 'part(data, other)': expected parameter=value"),
        ("part(part(dta))", "unknown data set 'dta'; did you mean data?"),
    ],
)
def test_what_cannot_be_made_from_another_is_told(datasets, told):
    with pytest.raises((SpecError, UnknownName)) as caught:
        resolved_of(CATALOG, datasets=[datasets])
    assert told in str(caught.value)


# -- estimators among the parameters ---------------------------------------------------------------------------------

OVR = "sklearn.multiclass:OneVsRestClassifier(estimator=sklearn.svm:LinearSVC(C=0.5))"


def test_an_estimator_among_the_parameters_is_built_with_the_learner(header):
    trial = one_trial(header, [OVR])
    inside = Blueprint("sklearn.svm:LinearSVC", {"C": 0.5})
    assert trial.blueprint == Blueprint("sklearn.multiclass:OneVsRestClassifier", {"estimator": inside})
    assert trial.params == {"estimator": Expression("sklearn.svm:LinearSVC", None, {"C": 0.5})}
    assert trial.label == "OneVsRestClassifier"


def test_an_estimator_among_the_parameters_is_part_of_the_key(header):
    texts = [OVR, OVR.replace("0.5", "0.6"), OVR.replace("LinearSVC", "SVC")]
    assert len({one_trial(header, [text]).key for text in texts}) == 3
    assert one_trial(header, [OVR]).key == one_trial(header, [OVR.replace("(C=0.5)", "( C = 0.5 )")]).key


def test_several_estimators_are_a_grid(header):
    first, second = trials_of(
        header, CATALOG, learners=[OVR.replace("=sklearn.svm", "=[1, sklearn.svm", 1)[:-1] + "])"]
    )
    assert first.params == {"estimator": 1}
    assert second.blueprint.params == {"estimator": Blueprint("sklearn.svm:LinearSVC", {"C": 0.5})}


def test_defaults_are_no_part_of_a_blueprint(header):
    assert one_trial(header, ["pa"]).blueprint.params == {"random_state": 0}
