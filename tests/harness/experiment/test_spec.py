"""Experiments: a file and flags say the same; labels, settings and data sets mean what they say."""

import tomllib

import pytest
from harness.cli.executing import to_toml
from harness.experiment.spec import Experiment, LearnerChoice, build

from experiments import NO_FLAGS
from harness.cli.run import parse_setting, read_raw
from harness.errors import SpecError
from harness.experiment.dataset_ref import DatasetChoice


def test_learners_alone_make_an_experiment(from_flags):
    assert from_flags(learners="pa") == Experiment(
        learners=(LearnerChoice("pa", "pa"),), datasets=(DatasetChoice("icd10cm"),), trials=3, seed=0, threads=1, jobs=1
    )


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


def test_a_file_and_the_flags_say_the_same(from_file, from_flags):
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
    assert by_flags == Experiment(
        learners=(
            LearnerChoice("pa", "pa", {"C": [0.1, 1]}, {"topics": {"passes": 9}}),
            LearnerChoice("pa", "small", {"C": 0.01, "step": "exact", "passes": 2}),
        ),
        datasets=(
            DatasetChoice("icd10cm", {}, "tf"),
            DatasetChoice("topics", {"rows": 500, "classes": 20}, "tf"),
        ),
        trials=5,
        seed=7,
        threads=3,
        jobs=2,
        timeout_seconds=600.0,
        memory_bytes=4 * 10**9,
        metrics=("r1", "train"),
        split="holdout:0.2",
    )


def test_tables_say_what_expressions_say(from_file):
    tables = """
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
    """
    assert from_file(tables) == Experiment(
        learners=(LearnerChoice("pa", "small", {"C": 0.1}, {"topics": {"C": 1}}),),
        datasets=(DatasetChoice("topics", {"rows": 500}, "binary", "given:official"),),
    )


def test_lists_may_be_texts_with_commas(from_file):
    assert from_file('learners = "pa,b=pa(C=[1,2])"\ndatasets = "digits, topics"') == from_file(
        'learners = ["pa", "b=pa(C=[1, 2])"]\ndatasets = ["digits", "topics"]'
    )


def test_flags_win_over_the_file(from_file):
    text = 'learners = "pa(C=3)"\ntrials = 9\n[set]\npa.C = 4\npa.passes = 1'
    found = from_file(text, trials=1, settings=("pa.C=5",), timeout="1s")
    assert (found.trials, found.timeout_seconds) == (1, 1.0)
    assert found.learners[0].params == {"C": 5, "passes": 1}


def test_a_registered_experiment_is_a_file_too(catalog):
    raw, source = read_raw("pa-steps", NO_FLAGS, catalog)
    assert source.endswith("pa-steps.toml")
    assert [learner.label for learner in build(raw, source).learners] == ["pa-printed", "pa-exact"]


def test_what_was_asked_for_can_be_asked_for_again(tmp_path, catalog):
    flags = NO_FLAGS | {"learners": "pa,b=pa(C=none)", "settings": ("b.C=[1,2]", "pa.step=exact"), "trials": 2}
    raw, source = read_raw(None, flags, catalog)
    path = tmp_path / "again.toml"
    path.write_text(to_toml(raw))
    assert build(*read_raw(str(path), NO_FLAGS, catalog)) == build(raw, source)


def test_what_a_file_cannot_say_is_told_in_it(catalog):
    odd = ["pa.C=None", "pa.margin=[None, 2]", "pa.sizes=(1, 2)", "pa.weights={1: 2}"]
    flags = NO_FLAGS | {"learners": "pa", "settings": (*odd, "pa.passes=2")}
    text = to_toml(read_raw(None, flags, catalog)[0])
    assert [line.removeprefix("# It also needs --set ") for line in text.splitlines()[1:5]] == odd
    assert tomllib.loads(text) == {"learners": "pa", "set": {"pa": {"passes": 2}}}


def test_labels_come_from_names_unless_given(from_flags):
    learners = from_flags(learners="pa,x=pa,some-dist:other,sklearn.naive_bayes:MultinomialNB").learners
    assert [learner.label for learner in learners] == ["pa", "x", "other", "MultinomialNB"]


def test_a_setting_goes_by_label_first_and_else_by_name(from_flags):
    first, second = from_flags(learners="a=pa,b=pa", settings=("pa.C=1", "b.passes=2", "a@icd10cm.C=3")).learners
    assert (first.params, first.by_dataset) == ({"C": 1}, {"icd10cm": {"C": 3}})
    assert (second.params, second.by_dataset) == ({"C": 1, "passes": 2}, {})


def test_a_setting_by_label_leaves_the_learner_of_that_name_alone(from_flags):
    first, second = from_flags(learners="pa,b=pa", settings=("pa.C=1",)).learners
    assert (first.params, second.params) == ({"C": 1}, {})


def test_a_label_with_an_at_sign_can_be_set(from_file):
    found = from_file('[[learners]]\nname = "pa"\nlabel = "pa@home"\n[set]\n"pa@home".C = 2')
    assert found.learners[0].params == {"C": 2}


def test_a_setting_of_an_importable_learner_goes_by_its_full_name(from_flags):
    name = "sklearn.naive_bayes:MultinomialNB"
    assert from_flags(learners=f"nb={name}", settings=(f"{name}.alpha=0.5",)).learners[0].params == {"alpha": 0.5}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("pa.C=0.1", ("pa", "C", 0.1)),
        ("pa@digits.C=[1, 2]", ("pa@digits", "C", [1, 2])),
        ("a.b:C.alpha=x", ("a.b:C", "alpha", "x")),
        ("pa.text='a=b'", ("pa", "text", "a=b")),
        (" pa.C = none ", ("pa", "C", None)),
    ],
)
def test_settings_are_taken_apart(text, expected):
    assert parse_setting(text) == expected


@pytest.mark.parametrize("text", ["C=1", "pa.C", "pa.=1", ".C=1", "=", ""])
def test_a_setting_that_cannot_be_read_is_named_with_an_example(text):
    with pytest.raises(SpecError) as caught:
        parse_setting(text)
    assert f"--set {text}: expected NAME.PARAM=VALUE, such as pa.C=0.1" in str(caught.value)


def test_data_sets_have_labels_too(from_flags):
    (chosen,) = from_flags(learners="pa", datasets="few=topics(rows=500)", settings=("few.classes=9",)).datasets
    assert chosen == DatasetChoice("few", {"rows": 500, "classes": 9}, of="topics")


def test_a_file_goes_by_its_stem(from_flags, from_file):
    flags = {"datasets": "in/titles.csv.gz(text=title)", "settings": ("titles.label=y",)}
    (chosen,) = from_flags(learners="pa", **flags).datasets
    assert chosen == DatasetChoice("titles", {"text": "title", "label": "y"}, of="in/titles.csv.gz")
    table = "learners = 'pa'\n[[datasets]]\npath = 'in/titles.csv.gz'\nparams = {text = 'title', label = 'y'}"
    assert from_file(table).datasets == (chosen,)


def test_a_table_may_name_the_format_of_its_file(from_file):
    (chosen,) = from_file("learners = 'pa'\n[[datasets]]\nname = 'svmlight'\npath = 'a.txt'\nlabel = 'mine'").datasets
    assert chosen == DatasetChoice("mine", {"path": "a.txt"}, of="svmlight")


def test_a_path_in_a_table_needs_no_slash_to_be_one(from_file):
    (chosen,) = from_file("learners = 'pa'\n[[datasets]]\npath = 'texts'").datasets
    assert (chosen.name, chosen.wanted) == ("texts", "./texts")


def test_a_list_is_a_grid_of_data_sets(from_flags):
    grids = "subsample(icd10cm, classes=[10, 100], seed=1),curve=topics(rows=[5,6])"
    chosen = from_flags(learners="pa", datasets=grids)
    assert [(d.name, dict(d.params), d.of) for d in chosen.datasets] == [
        ("subsample(icd10cm, classes=10, seed=1)", {"dataset": "icd10cm", "classes": 10, "seed": 1}, "subsample"),
        ("subsample(icd10cm, classes=100, seed=1)", {"dataset": "icd10cm", "classes": 100, "seed": 1}, "subsample"),
        ("curve(rows=5)", {"rows": 5}, "topics"),
        ("curve(rows=6)", {"rows": 6}, "topics"),
    ]


def test_parameters_for_a_grid_of_data_sets_are_for_all_of_it_and_for_one_if_it_is_named(from_file):
    (learner,) = from_file("""
    datasets = ["curve=topics(rows=[5, 6])"]

    [[learners]]
    name = "pa"
    datasets."curve(rows=6)" = { C = 3, passes = 3 }
    datasets.curve = { C = 2 }
    """).learners
    assert learner.by_dataset == {"curve(rows=5)": {"C": 2}, "curve(rows=6)": {"C": 3, "passes": 3}}


def test_a_split_into_folds_has_a_trial_for_each_unless_told(from_flags):
    assert from_flags(learners="pa", split="kfold:7").trials == 7
    assert from_flags(learners="pa", split="kfold:7", trials=2, seed=14).trials == 2
