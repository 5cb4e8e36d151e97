"""Wrappers around learners and datasets: nested expressions are equal with or without the parameter name."""

from dataclasses import replace

import pytest

from experiments import LEARNERS, OWN, SEVERAL, catalog_of, learner, resolved_of, trials_of
from harness import DatasetSpec
from harness.errors import SpecError, UnknownName
from internals import Blueprint, Entry, Expression, plan
from messages import assert_names, naming

BAG = learner(
    "bag",
    parameters={"base": None, "size": 10, "random_state": None},
    wraps="base",
    supports=frozenset({"multilabel"}),
    preload=("bag_module",),
)
HEDGE = learner("hedge", parameters={"expert": None, "rate": 0.5}, wraps="expert")
MIX = learner("mix", parameters={"members": "pa, warm", "size": 10}, kind="both", wraps="members", wraps_several=True)
WARM = learner("warm", preload=("warm_module", "shared_module"), kind="tree")
PART = Entry(DatasetSpec(name="part", load="a:b", parameters={"whole": None, "share": 1}, wraps="whole"), OWN)
CATALOG = replace(catalog_of((*LEARNERS, BAG, HEDGE, MIX, WARM)), datasets=(*catalog_of().datasets, PART))


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
def test_a_wrapper_is_the_same_in_every_notation(header, case):
    trials = [one_trial(header, [text]) for text in SAME[case]]
    assert {trial.label for trial in trials} == {LABELS[case]}
    assert len({trial.key for trial in trials}) == 1
    assert len({repr(trial.blueprint) for trial in trials}) == 1


def test_other_inner_learners_and_parameters_give_other_learners(header):
    texts = ["bag(pa)", "bag(ooz)", "bag(pa(C=2))", "bag(pa(C=2.0))", "bag(bag(pa))", "hedge(pa)", "bag(pa, size=3)"]
    assert len({one_trial(header, [text]).key for text in texts}) == len(texts)


def test_an_explicit_inner_default_equals_an_omitted_one(header):
    assert one_trial(header, ["bag(pa)"]).key == one_trial(header, ["bag(pa(C=1.0, passes=5))"]).key


def test_the_inner_learner_is_built_with_its_own_parameters(header):
    trial = one_trial(header, ["bag(hedge(pa(C=2), rate=0.1), size=3)"])
    inside = Blueprint("somewhere:pa", {"C": 2})
    hedged = Blueprint("somewhere:hedge", {"expert": inside, "rate": 0.1})
    assert trial.blueprint == Blueprint("somewhere:bag", {"base": hedged, "size": 3, "random_state": 0})
    assert trial.params == {"base": "hedge(pa(C=2), rate=0.1)", "size": 3, "random_state": 0}


def test_an_explicit_label_takes_precedence(header):
    for text in ("mine=bag(pa)", "mine=bag(base=pa)"):
        assert one_trial(header, [text]).label == "mine"
    assert one_trial(header, [{"name": "bag", "params": {"base": "pa"}, "label": "mine"}]).label == "mine"
    assert one_trial(header, [{"name": "bag", "params": {"base": "pa"}}]).label == "bag(pa)"


def test_several_inner_learners_make_a_grid(header):
    trials = trials_of(header, CATALOG, learners=["bag(base=[pa, ooz, sklearn.svm:LinearSVC(C=0.5)])"])
    assert [trial.label for trial in trials] == [
        "bag(base=pa)",
        "bag(base=ooz)",
        "bag(base=sklearn.svm:LinearSVC(C=0.5))",
    ]
    assert [trial.family for trial in trials] == ["bag"] * 3
    alone = [one_trial(header, [f"bag({text})"]) for text in ("pa", "ooz", "sklearn.svm:LinearSVC(C=0.5)")]
    assert [trial.key for trial in trials] == [trial.key for trial in alone]


def test_the_inner_learner_may_depend_on_the_dataset(header):
    trials = trials_of(header, CATALOG, learners=["bag(pa)"], datasets="data,other", set={"bag@other": {"base": "ooz"}})
    loads = {trial.dataset: trial.blueprint.params["base"].load for trial in trials}
    assert loads == {"data": "somewhere:pa", "other": "somewhere:ooz"}


def test_a_grid_of_inner_parameters_is_labelled_by_them(header):
    trials = trials_of(header, CATALOG, learners=["bag(pa, size=[2, 3])"])
    assert [(trial.label, trial.family) for trial in trials] == [
        ("bag(pa)(size=2)", "bag(pa)"),
        ("bag(pa)(size=3)", "bag(pa)"),
    ]


def test_requirements_of_the_inner_learner_apply_to_the_wrapper(header):
    assert one_trial(header, ["bag(dense)"]).wants_dense
    assert one_trial(header, ["bag(warm)"]).learner_kind == "tree"
    (line,) = plan(resolved_of(CATALOG, learners=["bag(treelike)"]), {"data": header}).incompatible
    assert_names(line, "bag(treelike)", "data", "taxonomy")


def test_wrapper_and_inner_learner_must_both_accept_several_labels(header_of):
    several = header_of(y=SEVERAL)
    trials = trials_of(several, CATALOG, learners=["bag(several)", "bag(pa)", "hedge(several)"])
    assert [trial.label for trial in trials] == ["bag(several)"]


def test_the_modules_of_the_inner_learner_are_preloaded_once():
    resolved = resolved_of(CATALOG, learners=["bag(hedge(warm))", "warm", "a=bag(warm)"])
    assert resolved.preload == {"dist": ("bag_module", "warm_module", "shared_module")}
    alone = resolved_of(CATALOG, learners=["warm", "bag(pa)"])
    assert alone.preload == {"dist": ("warm_module", "shared_module", "bag_module")}


@pytest.mark.parametrize(
    ("learners", "message"),
    [
        ("pa(ooz)", r"learner 'pa\(ooz\)' wraps nothing: cannot read 'ooz', expected parameter=value"),
        ("bag(pa, base=ooz)", r"learner 'bag\(pa\)' is given 'base' twice: as 'pa' and as 'ooz'"),
        ("bag(pa, ooz)", r"learner 'bag\(pa\+ooz\)' wraps one learner: cannot read 'ooz', expected parameter=value"),
        ("mix(pa)", r"learner 'mix\(pa\)' takes two or more learners, got 'pa'. Write mix\(pa, NAME\)"),
        ("bag", r"learner 'bag' wraps another learner. Name it, as in bag\(NAME\)"),
        ("bag(pa(Cc=1))", r"learner 'pa\(Cc=1\)' has no parameter 'Cc'. Did you mean C\?"),
        ("bag(bse=pa)", r"learner 'bag' has no parameter 'bse'. Did you mean base\?"),
    ],
)
def test_an_invalid_wrapper_raises_an_error_with_the_reason(header, learners, message):
    with pytest.raises(SpecError, match=message):
        trials_of(header, CATALOG, learners=[learners])


def test_an_unknown_inner_learner_raises_an_error_with_the_nearest_name(header):
    with pytest.raises(UnknownName, match=naming("paa")):
        trials_of(header, CATALOG, learners=["bag(paa)"])


def test_the_inner_learner_cannot_be_tuned(header):
    with pytest.raises(SpecError, match=naming("bag(pa).base")):
        trials_of(header, CATALOG, learners=["bag(pa)"], tune={"params": {"bag": {"base": ["pa", "ooz"]}}})


# -- several learners inside -----------------------------------------------------------------------------------------


def test_several_inner_learners_are_built_as_a_list(header):
    trial = one_trial(header, ["mix(pa(C=2), hedge(warm), size=3)"])
    hedged = Blueprint("somewhere:hedge", {"expert": Blueprint("somewhere:warm", {})})
    members = [Blueprint("somewhere:pa", {"C": 2}), hedged]
    assert trial.blueprint == Blueprint("somewhere:mix", {"members": members, "size": 3})
    assert trial.label == "mix(pa+hedge(warm))"


def test_default_inner_learners_equal_the_same_ones_by_name(header):
    trials = [one_trial(header, [text]) for text in ("mix", "mix(pa, warm)", "mix(members='pa, warm')")]
    assert len({trial.key for trial in trials}) == 1
    others = ["mix(warm, pa)", "mix(pa, hedge(warm))", "mix(pa(C=2), warm)", "mix(pa, warm, ooz)"]
    assert len({one_trial(header, [text]).key for text in ("mix", *others)}) == 5
    assert trials[0].label == "mix"


def test_the_kind_of_several_is_their_own_if_they_agree(header):
    kinds = [one_trial(header, [text]).learner_kind for text in ("mix", "mix(pa, ooz)", "bag(mix)")]
    assert kinds == ["both", "other", "both"]


def test_the_modules_of_all_inner_learners_are_preloaded():
    resolved = resolved_of(CATALOG, learners=["mix(hedge(warm), bag(pa))"])
    assert resolved.preload == {"dist": ("warm_module", "shared_module", "bag_module")}


# -- datasets -------------------------------------------------------------------------------------------------------

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
def test_a_derived_dataset_is_the_same_in_every_notation(case):
    resolved = [resolved_of(CATALOG, datasets=[text]).datasets[0] for text in SAME_DATA[case]]
    bare = {dataset.name.removeprefix("dist:") for dataset in resolved}
    assert bare == {DATA_LABELS[case]}
    assert len({repr(describe(dataset)) for dataset in resolved}) == 1


def describe(dataset):
    """Return all that determines a dataset's content, at every depth."""
    own = {name: value for name, value in dataset.params.items() if name != dataset.entry.spec.wraps}
    inside = describe(dataset.wrapped) if dataset.wrapped else None
    return dataset.entry.spec.name, own, inside


@pytest.mark.parametrize(
    ("datasets", "message"),
    [
        ("data(other)", "dataset 'data(other)' wraps nothing: cannot read 'other', expected parameter="),
        ("part(data, whole=other)", "dataset 'part(data, whole=other)' is given 'whole' twice: as 'data' and as 'oth"),
        ("part(data, other)", "cannot read 'other' in 'part(data, other)': expected parameter=value"),
        ("part(part(dta))", "unknown dataset 'dta'. Did you mean data?"),
    ],
)
def test_an_invalid_derived_dataset_raises_an_error(datasets, message):
    with pytest.raises((SpecError, UnknownName)) as caught:
        resolved_of(CATALOG, datasets=[datasets])
    assert message in str(caught.value)


# -- estimators among the parameters ---------------------------------------------------------------------------------

OVR = "sklearn.multiclass:OneVsRestClassifier(estimator=sklearn.svm:LinearSVC(C=0.5))"


def test_an_estimator_parameter_is_built_with_the_learner(header):
    trial = one_trial(header, [OVR])
    inside = Blueprint("sklearn.svm:LinearSVC", {"C": 0.5})
    assert trial.blueprint == Blueprint("sklearn.multiclass:OneVsRestClassifier", {"estimator": inside})
    assert trial.params == {"estimator": Expression("sklearn.svm:LinearSVC", None, {"C": 0.5})}
    assert trial.label == "OneVsRestClassifier"


def test_an_estimator_parameter_is_part_of_the_key(header):
    texts = [OVR, OVR.replace("0.5", "0.6"), OVR.replace("LinearSVC", "SVC")]
    assert len({one_trial(header, [text]).key for text in texts}) == 3
    assert one_trial(header, [OVR]).key == one_trial(header, [OVR.replace("(C=0.5)", "( C = 0.5 )")]).key


def test_several_estimators_make_a_grid(header):
    first, second = trials_of(
        header, CATALOG, learners=[OVR.replace("=sklearn.svm", "=[1, sklearn.svm", 1)[:-1] + "])"]
    )
    assert first.params == {"estimator": 1}
    assert second.blueprint.params == {"estimator": Blueprint("sklearn.svm:LinearSVC", {"C": 0.5})}


def test_defaults_are_not_part_of_a_blueprint(header):
    assert one_trial(header, ["pa"]).blueprint.params == {"random_state": 0}
