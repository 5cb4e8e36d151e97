"""Experiments: files and flags are equivalent, lists may be text, quick versions override the full one."""

import pytest

from experiments import datasets_of, learners_of
from harness.errors import SpecError
from internals import DatasetRef, Label, LearnerRef, build, describe_left_out, parse_split, plain_label, quick_version
from messages import assert_names, naming


def test_learners_alone_make_an_experiment(from_flags):
    experiment = from_flags(learners="pa")
    assert learners_of(experiment) == (LearnerRef("pa", "pa"),)
    assert datasets_of(experiment) == (DatasetRef("icd10cm", plain_label("icd10cm")),)
    assert (experiment.trials, experiment.seed, experiment.threads, experiment.jobs) == (10, 0, 1, 1)
    assert (experiment.timeout, experiment.memory, experiment.metrics) == (None, None, None)
    assert (str(experiment.split), experiment.curves, experiment.tune) == ("holdout:0.2", False, None)


WHOLE = """
learners = ["pa(C=[0.1, 1])", "small=pa(C=0.01, step=exact)"]
datasets = ["icd10cm", "topics(rows=500)"]
metrics = ["r1", "train"]
trials = 5
seed = 7
jobs = 2
threads = 3
timeout = "10m"
memory = "4GB"
split = "holdout:0.20"
representation = "tf"

[set]
small.passes = 2
"pa@topics".passes = 9
topics.classes = 20
"""


def test_a_file_and_flags_give_the_same_experiment(from_file, from_flags):
    by_flags = from_flags(
        learners="pa(C=[0.1,1]),small=pa(C=0.01,step=exact)",
        datasets="icd10cm,topics(rows=500)",
        metrics="r1,train",
        trials=5,
        seed=7,
        jobs=2,
        threads=3,
        timeout="10m",
        memory="4GB",
        split="holdout:0.2",
        representation="tf",
        settings=("small.passes=2", "pa@topics.passes=9", "topics.classes=20"),
    )
    assert from_file(WHOLE) == by_flags
    assert learners_of(by_flags) == (
        LearnerRef("pa", "pa", {"C": [0.1, 1]}, by_dataset={"topics": {"passes": 9}}),
        LearnerRef("pa", "small", {"C": 0.01, "step": "exact", "passes": 2}),
    )
    assert datasets_of(by_flags) == (
        DatasetRef("icd10cm", plain_label("icd10cm"), {}, representations=("tf",)),
        DatasetRef("topics", plain_label("topics"), {"rows": 500, "classes": 20}, representations=("tf",)),
    )
    assert (by_flags.trials, by_flags.seed, by_flags.threads, by_flags.jobs) == (5, 7, 3, 2)
    assert (by_flags.timeout, by_flags.memory) == (600.0, 4 * 10**9)
    assert (by_flags.metrics, by_flags.split) == (("r1", "train"), parse_split("holdout:0.2"))


def test_toml_tables_and_expressions_give_the_same_experiment(from_file):
    experiment = from_file("""
    [[learners]]
    name = "pa"
    label = "small"
    params = { C = 0.1 }
    datasets.topics = { C = 1 }

    [[datasets]]
    name = "topics"
    params = { rows = 500 }
    representation = "binary"
    split = "given:official"
    """)
    assert learners_of(experiment) == (LearnerRef("pa", "small", {"C": 0.1}, by_dataset={"topics": {"C": 1}}),)
    assert datasets_of(experiment) == (
        DatasetRef(
            "topics", plain_label("topics"), {"rows": 500}, None, ("binary",), split=parse_split("given:official")
        ),
    )


def test_lists_may_be_comma_separated_text(from_file):
    assert from_file('learners = "pa,b=pa(C=[1,2])"\ndatasets = "digits, topics"') == from_file(
        'learners = ["pa", "b=pa(C=[1, 2])"]\ndatasets = ["digits", "topics"]'
    )


def test_flags_override_the_file(from_file):
    text = 'learners = "pa(C=3)"\ntrials = 9\n[set]\npa.C = 4\npa.passes = 1'
    found = from_file(text, trials=1, settings=("pa.C=5",), timeout="1s")
    assert (found.trials, found.timeout) == (1, 1.0)
    assert learners_of(found)[0].params == {"C": 5, "passes": 1}


def test_a_registered_experiment_is_loaded_from_its_file(read, catalog):
    raw = read("pa-steps")
    assert raw.source.endswith("pa-steps.toml")
    refs = learners_of(build(raw.table, raw.source, catalog))
    assert [ref.label for ref in refs] == ["pa-printed", "pa-exact"]


def test_an_experiment_is_immutable(from_flags):
    experiment = from_flags(learners="pa")
    with pytest.raises(ValueError, match="frozen"):
        experiment.trials = 4


# -- datasets -------------------------------------------------------------------------------------------------------


def test_datasets_may_have_labels(from_flags):
    experiment = from_flags(learners="pa", datasets="few=topics(rows=500)", settings=("few.classes=9",))
    assert datasets_of(experiment) == (DatasetRef("topics", plain_label("few"), {"rows": 500, "classes": 9}),)


def test_a_file_is_labelled_by_its_stem(from_flags, from_file):
    flags = {"datasets": "in/titles.csv.gz(text=title)", "settings": ("titles.label=y",)}
    (chosen,) = datasets_of(from_flags(learners="pa", **flags))
    assert chosen == DatasetRef("in/titles.csv.gz", plain_label("titles"), {"text": "title", "label": "y"})
    table = "learners = 'pa'\n[[datasets]]\npath = 'in/titles.csv.gz'\nparams = {text = 'title', label = 'y'}"
    assert datasets_of(from_file(table)) == (chosen,)


def test_a_table_may_name_the_format_of_its_file(from_file):
    text = "learners = 'pa'\n[[datasets]]\nname = 'svmlight'\npath = 'a.txt'\n"
    (labelled,) = datasets_of(from_file(text + "label = 'mine'"))
    assert labelled == DatasetRef("svmlight", plain_label("mine"), {"path": "a.txt"})
    (plain,) = datasets_of(from_file(text))
    assert plain.label == plain_label("a")


def test_a_path_key_in_a_table_needs_no_slash(from_file):
    (chosen,) = datasets_of(from_file("learners = 'pa'\n[[datasets]]\npath = 'texts'"))
    assert (chosen.label, chosen.source) == (plain_label("texts"), "./texts")


def test_a_list_value_makes_a_grid_of_datasets(from_flags):
    grids = "subsample(icd10cm, classes=[10, 100], seed=1),curve=topics(rows=[5,6])"
    refs = datasets_of(from_flags(learners="pa", datasets=grids))
    assert [(ref.label.text, dict(ref.params), ref.wrapped, ref.source) for ref in refs] == [
        ("subsample(icd10cm, classes=10, seed=1)", {"classes": 10, "seed": 1}, "icd10cm", "subsample"),
        ("subsample(icd10cm, classes=100, seed=1)", {"classes": 100, "seed": 1}, "icd10cm", "subsample"),
        ("curve(rows=5)", {"rows": 5}, None, "topics"),
        ("curve(rows=6)", {"rows": 6}, None, "topics"),
    ]
    assert [ref.label.family for ref in refs[2:]] == ["curve", "curve"]


def test_a_list_of_source_datasets_makes_one_dataset_each(from_flags):
    refs = datasets_of(from_flags(learners="pa", datasets="subsample(dataset=[digits, in/a.csv], classes=3)"))
    assert [(ref.label, ref.params["dataset"]) for ref in refs] == [
        (Label("subsample(dataset=digits)", "subsample"), "digits"),
        (Label("subsample(dataset=in/a.csv)", "subsample"), "in/a.csv"),
    ]


@pytest.mark.parametrize(
    ("left_out", "kept"),
    [
        ([], ["digits", "curve(rows=5)", "curve(rows=6)"]),
        (["digits"], ["curve(rows=5)", "curve(rows=6)"]),
        (["curve"], ["digits"]),
        (["curve(rows=6)"], ["digits", "curve(rows=5)"]),
    ],
)
def test_datasets_and_grids_can_be_excluded_by_name(catalog, left_out, kept):
    raw = {"learners": "pa", "datasets": "digits,curve=topics(rows=[5, 6])", "leave_out": left_out}
    assert [ref.label.text for ref in datasets_of(build(raw, "test", catalog))] == kept


@pytest.mark.parametrize(
    ("left_out", "message"),
    [
        (["digit"], r"^test: leave_out: there is no dataset 'digit' here: digits, topics$"),
        (["digits", "topics"], "^test: leave_out leaves no dataset$"),
    ],
)
def test_excluding_an_absent_dataset_or_all_of_them_is_rejected(catalog, left_out, message):
    raw = {"learners": "pa", "datasets": "digits,topics", "leave_out": left_out}
    with pytest.raises(SpecError, match=message):
        build(raw, "test", catalog)


# -- trials ----------------------------------------------------------------------------------------------------------


def test_a_kfold_split_defaults_to_one_trial_per_fold(from_flags):
    assert from_flags(learners="pa", split="kfold:7").trials == 7
    assert from_flags(learners="pa", split="kfold:7", trials=2, seed=14).trials == 2
    assert from_flags(learners="pa", split="kfold:7", trials=3).trials == 3  # the default number, given explicitly


# -- quick versions --------------------------------------------------------------------------------------------------

LONG = {
    "learners": "pa",
    "datasets": "digits,curve=topics(rows=[5, 6, 7, 8, 9, 10])",
    "trials": 10,
    "set": {"pa": {"C": 1, "passes": 5}},
    "quick": {"trials": 2, "leave_out": ["digits"], "set": {"pa": {"passes": 1}}},
}


def test_a_quick_version_overrides_the_full_one_table_by_table():
    quick = quick_version(LONG, "file.toml")
    assert (quick["trials"], quick["leave_out"], quick["datasets"]) == (2, ["digits"], LONG["datasets"])
    assert quick["set"] == {"pa": {"C": 1, "passes": 1}}
    assert "quick" not in quick
    assert LONG["set"] == {"pa": {"C": 1, "passes": 5}}


def test_an_experiment_without_a_quick_version_raises_an_error_that_names_it():
    with pytest.raises(SpecError, match=naming("file.toml")):
        quick_version({"learners": "pa"}, "file.toml")


@pytest.mark.parametrize(
    ("quick", "message"),
    [
        ({"trials": 2}, "2 of 10 trials each"),
        ({"leave_out": ["digits"]}, "left out: digits"),
        ({"leave_out": ["curve"], "trials": 1}, "1 of 10 trials each; left out: curve"),
        ({"leave_out": ["curve(rows=5)", "curve(rows=7)"]}, "left out: curve(rows=5); curve(rows=7)"),
        ({"leave_out": [f"curve(rows={n})" for n in (5, 6, 7, 8)]}, "left out: 4 of 6 datasets curve"),
        ({"set": {"pa": {"C": 2}}}, ""),
    ],
)
def test_the_omissions_of_a_quick_version_are_described(catalog, quick, message):
    full = LONG | {"quick": quick}
    assert describe_left_out(full, quick_version(full, "test"), "test", catalog) == message


def test_quick_versions_name_wrapped_datasets_by_their_wrapper(catalog):
    full = {"learners": "pa", "datasets": "subsample(dataset=digits),subsample(dataset=topics)"}
    quick = full | {"leave_out": ["subsample(topics)"]}
    assert_names(describe_left_out(full, quick, "test", catalog), "subsample")
