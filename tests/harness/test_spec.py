"""Experiments: a file and flags say the same; what is malformed is named by file, table, key and what is allowed."""

import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.cli.executing import to_toml
from harness.cli.run import parse_setting, read_raw
from harness.dataset_choice import DatasetChoice
from harness.errors import SpecError, UnknownName
from harness.host import discover
from harness.shape import SMALLEST_MEMORY, parse_duration, parse_memory, parse_size
from harness.spec import Experiment, LearnerChoice, build, read_file

NO_FLAGS = dict.fromkeys(
    ["learners", "datasets", "metrics", "trials", "representation", "split", "seed", "jobs", "threads"]
) | {"timeout": None, "memory": None, "settings": (), "curves": None, "tune": ()}


@pytest.fixture(scope="module")
def catalog():
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("HARNESS_STRICT_PLUGINS", raising=False)
        yield discover()


@pytest.fixture
def from_file(tmp_path, catalog):
    """The experiment in a file of that text, flags laid over it."""

    def read(text, **flags):
        path = tmp_path / "mine.toml"
        path.write_text(text)
        return build(*read_raw(str(path), NO_FLAGS | flags, catalog))

    return read


@pytest.fixture
def from_flags(catalog):
    def read(**flags):
        return build(*read_raw(None, NO_FLAGS | flags, catalog))

    return read


# -- one experiment, two ways ----------------------------------------------------------------------------------------


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


# -- labels and settings ---------------------------------------------------------------------------------------------


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


# -- data sets -------------------------------------------------------------------------------------------------------


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


# -- whatever is malformed -------------------------------------------------------------------------------------------

MALFORMED = [
    ("trials = 3", "learners: Field required"),
    ("learners = []", "learners: Value should have at least 1 item"),
    ("learners = ''", "learners: Value should have at least 1 item"),
    ("learners = 3", "learners: Input should be a valid list (got 3)"),
    ("learners = [3]", "learners[0]: Input should be a valid dictionary"),
    ("learners = ['pa(']", "learners[0]: cannot read 'pa(': expected name"),
    ("learners = 'pa('", "learners: unbalanced brackets or quotes in 'pa('"),
    ("learners = ['pa', 'pa C']", "learners[1]: cannot read 'pa C': expected name"),
    ("learners = ['pa(C=__import__(1))']", "learners[0]: cannot read the value '__import__(1)'"),
    ("learners = [{label = 'x'}]", "learners[0].name: Field required"),
    ('learners = [{name = "pa", label = "a\\nb"}]', "learners[0].label: String should match pattern"),
    (
        "learners = [{name = 'pa', param = {}}]",
        "unknown key learners[0].param: did you mean 'params'? allowed here: name",
    ),
    ("learners = [{name = 'pa', params = 3}]", "learners[0].params: Input should be a valid dictionary (got 3)"),
    ("learners = [{name = 'pa', datasets = {digits = 3}}]", "learners[0].datasets.digits: Input should be a valid"),
    ("learners = [{name = 'pa', datasets = {digits = {C = 1}}}]", "'pa' has parameters for 'digits', which is not in"),
    ("learners = ['pa', 'pa(C=2)']", "two learners are labelled 'pa': give one another label"),
    ("learners = ['pa']\ndatasets = []", "datasets: Value should have at least 1 item"),
    ("learners = ['pa']\ndatasets = ['digits', 'digits']", "data set 'digits' stands twice"),
    ("learners = ['pa']\ndatasets = ['x=digits', 'x=topics']", "data set 'x' stands twice"),
    ("learners = ['pa']\n[[datasets]]\nlabel = 'x'", "datasets[0]: expected a name (`harness list datasets`) or"),
    ("learners = ['pa']\ndatasets = ['topics(rows=[])']", "data set 'topics': the list of values for 'rows' is empty"),
    ("learners = ['pa']\nsplit = 'kfold:5'\nseed = 7", "seed = 7 is in the middle of the folds of split 'kfold:5'"),
    (
        "learners = ['pa']\n[[datasets]]\nname = 'digits'\nrepresentation = 'idf'",
        "datasets[0].representation: Input should be 'raw', 'binary', 'tf' or 'tfidf' (got 'idf')",
    ),
    ("learners = ['pa']\n[[datasets]]\nname = 'digits'\nsplit = 'half'", "datasets[0].split: split 'half' is unknown"),
    (
        "learners = ['pa']\nsplit = 'half'",
        "split: split 'half' is unknown: expected 'holdout:SHARE' or 'stratified:SHARE' with 0",
    ),
    ("learners = ['pa']\nsplit = 0.1", "split: Input should be a valid string (got 0.1)"),
    ("learners = ['pa']\nrepresentation = 'bag'", "representation: Input should be 'raw', 'binary', 'tf' or 'tfidf'"),
    ("learners = ['pa']\ntrials = 0", "trials: Input should be greater than or equal to 1 (got 0)"),
    ("learners = ['pa']\ntrials = 2.5", "trials: Input should be a valid integer (got 2.5)"),
    ("learners = ['pa']\ntrials = true", "trials: Input should be a valid integer (got True)"),
    ("learners = ['pa']\ntrials = 'many'", "trials: Input should be a valid integer (got 'many')"),
    ("learners = ['pa']\nseed = -1", "seed: Input should be greater than or equal to 0 (got -1)"),
    ("learners = ['pa']\nseed = 2147483648", "seed: Input should be less than 2147483648"),
    ("learners = ['pa']\njobs = 0", "jobs: Input should be greater than or equal to 1"),
    ("learners = ['pa']\nthreads = 0", "threads: Input should be greater than or equal to 1"),
    ("learners = ['pa']\ntimeout = 'soon'", "timeout: 'soon' is not a time such as 90s, 10m or 2h"),
    ("learners = ['pa']\ntimeout = 0", "timeout: 0 is not a time"),
    ("learners = ['pa']\nmemory = '4 elephants'", "memory: '4 elephants' is not a size such as 512MB, 4GB or 2GiB"),
    ("learners = ['pa']\nmemory = true", "memory: True is not a size"),
    ("learners = ['pa']\nmemory = 4", "memory: 4 is a limit of 4 bytes, under which no trial can start"),
    ("learners = ['pa']\nmetrics = []", "metrics: Value should have at least 1 item"),
    ("learners = ['pa']\nmetrics = [1]", "metrics[0]: Input should be a valid string (got 1)"),
    ("learners = ['pa']\nname = 'a/b'", "name: String should match pattern"),
    (
        "learners = ['pa']\ntrails = 3",
        "unknown key trails: did you mean 'trials'? allowed here: name, learners, datasets",
    ),
    ("learners = ['pa']\nsettings = 3", "unknown key settings: "),
    ("learners = ['pa']\nset = 3", "set: Input should be a valid dictionary (got 3)"),
    ("learners = ['pa']\n[set]\npa = 3", "set.pa: Input should be a valid dictionary (got 3)"),
    ("learners = ['pa']\n[set]\nap.C = 3", "set.ap matches no learner or data set of this run (icd10cm, pa)"),
    ("learners = ['pa']\n[set]\n'pa@digits'.C = 3", "set.pa@digits matches no learner or data set"),
    ("learners = [", "not valid TOML: "),
    ("learners = 'pa'\nlearners = 'pa'", "not valid TOML: "),
    ("= 3", "not valid TOML: Invalid statement (at line 1, column 1)"),
]


@pytest.mark.parametrize(("text", "reason"), MALFORMED, ids=[reason[:40] for _, reason in MALFORMED])
def test_a_malformed_file_is_named_with_table_key_and_what_is_allowed(from_file, text, reason):
    with pytest.raises(SpecError) as caught:
        from_file(text)
    assert "mine.toml: " in str(caught.value)
    assert reason in str(caught.value)


def test_every_mistake_of_a_file_is_told_at_once(from_file):
    with pytest.raises(SpecError) as caught:
        from_file("learners = ['pa']\ntrials = 0\nseed = -1\nfoo = 1")
    assert len(str(caught.value).splitlines()) == 3


def test_a_mistake_in_the_flags_is_not_laid_at_the_files_door_alone(from_file):
    with pytest.raises(SpecError, match=r"mine\.toml and command line: trials"):
        from_file("learners = ['pa']", trials=0)
    with pytest.raises(SpecError, match=r"mine\.toml and command line: set: expected tables"):
        from_file("learners = ['pa']\nset = 3", settings=("pa.C=1",))
    with pytest.raises(SpecError, match=r"mine\.toml and command line: set: expected tables"):
        from_file("learners = ['pa']\n[set]\npa = 3", settings=("pa.C=1",))


def test_mistakes_in_flags_are_the_command_lines(from_flags):
    with pytest.raises(SpecError, match=r"^command line: trials: .* \(got 0\)"):
        from_flags(learners="pa", trials=0)
    with pytest.raises(SpecError, match=r"nothing to run: give --learners .* or an experiment file"):
        from_flags()


def test_a_file_that_cannot_be_read_is_named(tmp_path, catalog):
    with pytest.raises(SpecError, match=r"nowhere\.toml: there is no such file"):
        read_file(tmp_path / "nowhere.toml")
    with pytest.raises(SpecError, match="cannot be read"):
        read_raw(str(tmp_path), NO_FLAGS, catalog)
    (tmp_path / "latin.toml").write_bytes(b"name = '\xe9'")
    with pytest.raises(SpecError, match=r"latin\.toml: cannot be read"):
        read_file(tmp_path / "latin.toml")
    with pytest.raises(UnknownName, match=r"unknown experiment 'pa-step'; did you mean pa-steps\?.*ends in \.toml"):
        read_raw("pa-step", NO_FLAGS, catalog)


# -- units -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("10m", 600), ("1.5h", 5400), ("250ms", 0.25), (30, 30), ("30", 30), (" 2 M ", 120)],
)
def test_times(text, seconds):
    assert parse_duration(text) == seconds


@pytest.mark.parametrize(
    ("text", "size"), [("512MB", 512 * 10**6), ("4gb", 4 * 10**9), ("2GiB", 2**31), ("1.5kB", 1500), (4096, 4096)]
)
def test_sizes(text, size):
    assert parse_size(text) == size
    assert isinstance(parse_size(text), int)


def test_a_memory_limit_has_a_least_value():
    assert parse_memory("16MB") == SMALLEST_MEMORY
    with pytest.raises(ValueError, match=r"'15MB' is a limit of 15,000,000 bytes.* at least 16MB.* 4GB"):
        parse_memory("15MB")


@given(st.text(max_size=12))
def test_any_text_is_a_time_or_refused(text):
    for read in (parse_duration, parse_size):
        try:
            value = read(text)
        except ValueError:
            continue
        assert value >= 0


@pytest.mark.parametrize("text", ["", "m", "-5m", "5d", "1e3", "0s", "0", "1:30", "9" * 400, None, True, "inf", "nan"])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(ValueError, match="is not a time such as 90s, 10m or 2h"):
        parse_duration(text)
