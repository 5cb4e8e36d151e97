"""Plans contain every trial; combinations that cannot run are reported or rejected before training."""

import re
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from experiments import LABELS, ROWS, SEVERAL, catalog_of, learner, resolved_of, trials_of
from harness import Taxonomy
from harness.errors import DataError, SpecError, UnknownName
from internals import MINIMUM_DEPTH, Blueprint, parse_split, plan
from messages import assert_names, naming


def test_a_trial_has_all_that_its_process_needs(header):
    first, second = trials_of(header, learners="x=dense(C=2)", trials=2, seed=7, datasets="data(rows=3)")
    assert (first.number, first.seed, second.number, second.seed) == (0, 7, 1, 8)
    assert first.params == {"C": 2, "random_state": 7}
    assert second.params == {"C": 2, "random_state": 8}
    assert (first.label, first.learner, first.blueprint.load, first.learner_version) == (
        "x",
        "dense",
        "somewhere:dense",
        "1.0",
    )
    assert (first.dataset, first.dataset_params) == ("data", {"rows": 3})
    assert (first.wants_dense, first.wants_taxonomy, first.depth) == (True, False, MINIMUM_DEPTH)
    assert (first.data_folder, first.fingerprint) == (header.folder, header.fingerprint)
    assert first.blueprint == Blueprint("somewhere:dense", {"C": 2, "random_state": 7})
    assert (first.family, first.dataset_family, first.dataset_source) == ("x", "data", "data")


def test_a_learner_without_random_state_gets_no_seed(header):
    (trial,) = trials_of(header, learners="fixed")
    assert trial.params == {}


def test_a_random_state_given_by_the_user_is_kept(header):
    assert [t.params["random_state"] for t in trials_of(header, learners="pa(random_state=3)", trials=2)] == [3, 3]


def test_every_combination_of_a_grid_is_a_separate_learner(header):
    found = trials_of(header, learners="pa(C=[0.1, 1], passes=[2, 3])", trials=2)
    assert [t.label for t in found[:4]] == [
        "pa(C=0.1, passes=2)",
        "pa(C=0.1, passes=3)",
        "pa(C=1, passes=2)",
        "pa(C=1, passes=3)",
    ]
    assert [t.number for t in found] == [0] * 4 + [1] * 4
    assert len({t.key for t in found}) == 8


def test_a_nested_list_of_one_is_a_value_that_is_a_list(header):
    (trial,) = trials_of(header, learners="pa(C=[[1, 2]])")
    assert trial.params["C"] == [1, 2]


def test_parameters_may_depend_on_the_dataset(header):
    found = trials_of(header, learners="pa(C=2)", datasets="data,other", set={"pa@other": {"C": [3, 4]}})
    assert [(t.dataset, t.label, t.params["C"]) for t in found] == [
        ("data", "pa", 2),
        ("other", "pa(C=3)", 3),
        ("other", "pa(C=4)", 4),
    ]


def test_each_dataset_has_its_own_representation_and_split(header):
    datasets = [{"name": "data"}, {"name": "other", "representation": "raw", "split": "holdout:0.5"}]
    first, second = trials_of(header, datasets=datasets, representation="binary")
    assert (first.representation, first.split) == ("binary", parse_split("holdout:0.2"))
    assert (second.representation, second.split) == ("raw", parse_split("holdout:0.5"))


def test_ten_thousand_trials_are_planned_correctly(header):
    headers = {"data": header, "other": replace(header, fingerprint="x")}
    grids = "pa(C=[1,2,3,4,5]),ooz(C=[1,2,3,4,5])"
    found = trials_of(header, learners=grids, datasets="data,other", trials=500, headers=headers)
    assert len(found) == len({t.key for t in found}) == 10_000
    assert {(t.dataset, t.learner, t.params["C"], t.seed) for t in found} == {
        (d, name, C, seed)
        for d in ("data", "other") for name in ("pa", "ooz") for C in range(1, 6) for seed in range(500)
    }  # fmt: skip
    assert [t.seed for t in found[:11]] == [0] * 10 + [1]


@pytest.mark.parametrize(
    "learners", ["a=pa,b=pa", "a=pa,b=pa(C=1.0)", "pa(C=[1, 1])", "pa(C=[1,2]),b=pa(C=2)", "pa,x=dist:pa"]
)
def test_a_duplicate_learner_is_rejected(header, learners):
    with pytest.raises(SpecError, match=naming("data")):
        trials_of(header, learners=learners)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        ({"learners": "paa"}, "unknown learner 'paa'. Did you mean pa?"),
        ({"datasets": "dta"}, "unknown dataset 'dta'. Did you mean data?"),
        ({"metrics": "r9"}, "unknown metric 'r9'"),
        ({"learners": "pa(Cc=1)"}, "learner 'pa' has no parameter 'Cc'. Did you mean C?"),
        ({"learners": "x=pa(zzz=1)"}, "learner 'x' has no parameter 'zzz'. It has: C, passes, far, random_state"),
        ({"datasets": "data(row=1)"}, "dataset 'data' has no parameter 'row'. Did you mean rows?"),
        ({"set": {"pa@data": {"pases": 1}}}, "learner 'pa' has no parameter 'pases'. Did you mean passes?"),
        ({"learners": "pa(C=[])"}, "learner 'pa': the list of values for 'C' is empty"),
        ({"learners": "pa(C={1, 2})"}, "learner 'pa': C={1, 2} cannot be passed on; allowed: numbers, texts"),
        ({"learners": "pa(C={(1, 2): 3})"}, "learner 'pa': C={(1, 2): 3} cannot be passed on"),
        ({"learners": "pa(C=[1j])"}, "cannot be passed on"),
        ({"datasets": "data(rows=b'x')"}, "dataset 'data': rows=b'x' cannot be passed on"),
    ],
)
def test_unknown_names_and_values_are_rejected(header, raw, reason):
    with pytest.raises((UnknownName, SpecError)) as caught:
        trials_of(header, **raw)
    assert reason in str(caught.value)


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_an_unknown_name_of_a_local_file_raises_an_error_with_the_right_notation(header, kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tx").mkdir() if kind == "folder" else (tmp_path / "tx").touch()
    with pytest.raises(UnknownName, match=naming("tx", f"{kind}", "/tx")):
        trials_of(header, datasets="tx")


def test_a_missing_required_parameter_is_rejected(header, module_of):
    name = module_of("class Needs:\n    def __init__(self, inner, C=1): ...\n")
    catalog = catalog_of((learner("needy", load=f"{name}:Needs", parameters=None),))
    with pytest.raises(SpecError, match=naming("needy", "inner", "--set", "needy.inner=VALUE")):
        trials_of(header, catalog=catalog, learners="needy")
    assert trials_of(header, catalog=catalog, learners="needy(inner=2)")[0].params == {"inner": 2}


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
def test_an_incompatible_learner_is_reported_and_the_others_are_planned(header_of, name, changes, raw, trouble):
    header, able = header_of(**changes), "several" if "y" in changes else "ooz"
    message = f"learner 'x' cannot run on dataset 'data': it {trouble}.*. Leave one of them out, or .* on = "
    raw = {"learners": f"{able},x={name}", "datasets": "data"} | raw
    assert [trial.label for trial in trials_of(header, **raw)] == [able]
    (line,) = plan(resolved_of(**raw), {"data": header}).incompatible
    assert re.match(message, line)
    with pytest.raises(DataError, match=message):  # there is nothing else to run
        trials_of(header, **(raw | {"learners": f"x={name}"}))


def test_a_learner_incompatible_with_several_datasets_is_reported_once(header, header_of):
    resolved = resolved_of(learners="pa,treelike", datasets="data,other")
    other = header_of(X=csr_array(2 * ROWS))
    (line,) = plan(resolved, {"data": header, "other": other}).incompatible
    assert_names(line, "treelike", "data", "other", "taxonomy")


def test_learners_incompatible_for_one_reason_are_reported_in_one_line(header_of):
    resolved = resolved_of(learners="pa,ooz,several", datasets="data")
    (line,) = plan(resolved, {"data": header_of(y=SEVERAL)}).incompatible
    assert_names(line, "pa", "ooz", "data")


def test_a_pair_excluded_by_on_is_not_incompatible(header_of):
    headers = {"data": header_of(taxonomy=TREE), "other": header_of(X=csr_array(2 * ROWS))}
    raw = {"learners": ["pa", {"name": "treelike", "on": ["data"]}], "datasets": "data,other"}
    assert plan(resolved_of(**raw), headers).incompatible == ()


def test_two_files_of_the_same_content_are_rejected_by_name(header):
    with pytest.raises(SpecError, match=naming("a", "other")):
        trials_of(header, datasets="a=data,other", headers={"a": header, "other": header})


@pytest.mark.parametrize(
    ("name", "changes", "raw"),
    [
        ("several", {"y": SEVERAL}, {}),
        ("positive", {"X": csr_array(-ROWS)}, {"representation": "binary"}),
        ("positive", {}, {}),
        ("treelike", {"taxonomy": TREE}, {}),
    ],
)
def test_compatible_data_are_planned(header_of, name, changes, raw):
    assert len(trials_of(header_of(**changes), learners=name, **raw)) == 1


@pytest.mark.parametrize(
    ("split", "reason"),
    [
        ("holdout:0.01", "leaves the test part empty"),
        ("holdout:0.99", "leaves the training part empty"),
        ("given", "Use holdout:SHARE"),
        ("given:official", "no split 'official'"),
    ],
)
def test_a_split_that_cannot_be_drawn_is_rejected_with_its_dataset(header, split, reason):
    with pytest.raises(DataError, match=f"dataset 'data': .*{reason}"):
        trials_of(header, split=split)


def test_a_training_set_of_a_single_class_is_rejected(header_of):
    with pytest.raises(DataError, match=naming("holdout:0.2", "b")):
        trials_of(header_of(y=np.ones(20, int)))
    official = {"official": (np.flatnonzero(LABELS == 2), np.flatnonzero(LABELS != 2))}
    with pytest.raises(DataError, match=naming("given", "0", "c")):
        trials_of(header_of(splits=official), split="given")


def test_one_dominant_class_is_accepted(header_of):
    y = np.zeros(400, int)
    y[:12] = 1
    large = header_of(X=csr_array(np.ones((400, 2))), y=y, class_names=("common", "rare"))
    assert len(trials_of(large, trials=20)) == 20


def test_a_single_class_in_a_later_trial_is_found_before_the_first_trial(header_of):
    y = np.zeros(20, int)
    y[0] = 1
    rare = header_of(y=y, class_names=("common", "rare"))
    with pytest.raises(DataError, match=naming("common")):
        trials_of(rare, trials=200)


def test_a_stratified_split_of_several_labels_per_row_is_rejected_before_training(header_of):
    several = header_of(y=csr_array(np.eye(4, dtype=np.int8)[LABELS]))
    for split in ("stratified:0.5", "stratified-kfold:2"):
        with pytest.raises(DataError, match=naming("data", f"{split}")):
            trials_of(several, learners="several", split=split)
