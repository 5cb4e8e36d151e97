"""Errors in an experiment name file, table, key and the allowed values."""

import pytest

from harness.errors import SpecError, UnknownName
from internals import read_file
from messages import naming

MALFORMED = [
    ("trials = 3", "learners: missing: the table must have this key"),
    ("learners = []", "learners: expected one or more, found none"),
    ("learners = ''", "learners: expected one or more, found none"),
    ("learners = 3", "learners: expected a list (got 3)"),
    ("learners = [3]", "learners[0]: expected a table (got 3)"),
    ("learners = ['pa(']", "learners[0]: cannot read 'pa(': expected name"),
    ("learners = 'pa('", "learners: unbalanced brackets or quotes in 'pa('"),
    ("learners = ['pa', 'pa C']", "learners[1]: cannot read 'pa C': expected name"),
    ("learners = ['pa(C=__import__(1))']", "learners[0]: cannot read the value '__import__(1)'"),
    ("learners = [{label = 'x'}]", "learners[0].name: missing: the table must have this key"),
    ('learners = [{name = "pa", label = "a\\nb"}]', "learners[0].label: expected a text of one line"),
    (
        "learners = [{name = 'pa', param = {}}]",
        "unknown key learners[0].param. Did you mean 'params'? Allowed here: name",
    ),
    ("learners = [{name = 'pa', params = 3}]", "learners[0].params: expected a table (got 3)"),
    ("learners = [{name = 'pa', datasets = {digits = 3}}]", "learners[0].datasets.digits: expected a table (got 3)"),
    ("learners = [{name = 'pa', datasets = {digits = {C = 1}}}]", "'pa' has parameters for 'digits', which is not in"),
    ("learners = ['pa', 'pa(C=2)']", "two learners are labelled 'pa'. Give one another label"),
    ("learners = ['pa']\ndatasets = []", "datasets: expected one or more, found none"),
    ("learners = ['pa']\ndatasets = ['digits', 'digits']", "dataset 'digits' is listed twice"),
    ("learners = ['pa']\ndatasets = ['x=digits', 'x=topics']", "dataset 'x' is listed twice"),
    ("learners = ['pa']\n[[datasets]]\nlabel = 'x'", "datasets[0]: expected a name (`harness list datasets`) or"),
    ("learners = ['pa']\ndatasets = ['topics(rows=[])']", "dataset 'topics': the list of values for 'rows' is empty"),
    ("learners = ['pa']\nsplit = 'kfold:5'\nseed = 7", "seed = 7 is in the middle of the folds of split 'kfold:5'"),
    (
        "learners = ['pa']\n[[datasets]]\nname = 'digits'\nrepresentation = 'tf(a b)'",
        "datasets[0].representation[0]: cannot read 'a b' in 'tf(a b)': expected parameter=value",
    ),
    ("learners = ['pa']\n[[datasets]]\nname = 'digits'\nsplit = 'half'", "datasets[0].split: split 'half' is unknown"),
    (
        "learners = ['pa']\nsplit = 'half'",
        "split: split 'half' is unknown: expected 'holdout:SHARE' or 'stratified:SHARE' with 0",
    ),
    ("learners = ['pa']\nsplit = 0.1", "split: expected a text such as 'holdout:0.2' (got 0.1)"),
    (
        "learners = ['pa']\nrepresentation = ['tf', 'words+']",
        "representation[1]: cannot read the representation 'words+': expected a name on both sides of '+'",
    ),
    ("learners = ['pa']\ntrials = 0", "trials: expected 1 or more (got 0)"),
    ("learners = ['pa']\ntrials = 2.5", "trials: expected a whole number (got 2.5)"),
    ("learners = ['pa']\ntrials = true", "trials: expected a whole number (got True)"),
    ("learners = ['pa']\ntrials = 'many'", "trials: expected a whole number (got 'many')"),
    ("learners = ['pa']\nseed = -1", "seed: expected 0 or more (got -1)"),
    ("learners = ['pa']\nseed = 2147483648", "seed: expected less than 2147483648"),
    ("learners = ['pa']\njobs = 0", "jobs: expected 1 or more"),
    ("learners = ['pa']\nthreads = 0", "threads: expected 1 or more"),
    ("learners = ['pa']\ntimeout = 'soon'", "timeout: 'soon' is not a time such as 90s, 10m or 2h"),
    ("learners = ['pa']\ntimeout = 0", "timeout: 0 is not a time"),
    ("learners = ['pa']\nmemory = '4 elephants'", "memory: '4 elephants' is not a size such as 512MB, 4GB or 2GiB"),
    ("learners = ['pa']\nmemory = true", "memory: True is not a size"),
    ("learners = ['pa']\nmemory = 4", "memory: 4 is a limit of 4 bytes, under which no trial can start"),
    ("learners = ['pa']\nmetrics = []", "metrics: expected one or more, found none"),
    ("learners = ['pa']\nmetrics = [1]", "metrics[0]: expected a text (got 1)"),
    ("learners = ['pa']\nname = 'a/b'", "name: expected letters, digits, '.', '_' and '-' only"),
    (
        "learners = ['pa']\ntrails = 3",
        "unknown key trails. Did you mean 'trials'? Allowed here: name, learners, datasets",
    ),
    ("learners = ['pa']\nsettings = 3", "unknown key settings. "),
    ("learners = ['pa']\ncurves = 'maybe'", "curves: expected true or false (got 'maybe')"),
    ("learners = ['pa']\nminutes = 0", "minutes: expected more than 0 (got 0)"),
    ("learners = ['pa']\nminutes = 'few'", "minutes: expected a number (got 'few')"),
    ("learners = ['pa']\n[[figures]]\nkind = 'pie'", "figures[0].kind: expected 'curve', 'sweep', 'scaling', 'pareto'"),
    ("learners = ['pa']\n[tune]\nsearch = 'grid'", "tune: expected params, representation or auto"),
    ("learners = ['pa']\n[tune.params.pa]\nC = 3", "tune.params.pa.C: expected a list of values, or a range { low ="),
    ("learners = ['pa']\n[tune.params.pa]\nC = {low = 2, high = 1}", "tune.params.pa.C: expected a list of values, or"),
    ("learners = ['pa']\nset = 3", "set: expected a table (got 3)"),
    ("learners = ['pa']\n[set]\npa = 3", "set.pa: expected a table (got 3)"),
    ("learners = ['pa']\n[set]\nap.C = 3", "set.ap matches no learner or dataset of this run (icd10cm, pa)"),
    ("learners = ['pa']\n[set]\n'pa@digits'.C = 3", "set.pa@digits matches no learner or dataset"),
    ("learners = [", "not valid TOML: "),
    ("learners = 'pa'\nlearners = 'pa'", "not valid TOML: "),
    ("= 3", "not valid TOML: Invalid statement (at line 1, column 1)"),
]


@pytest.mark.parametrize(("text", "reason"), MALFORMED, ids=[reason[:40] for _, reason in MALFORMED])
def test_a_malformed_file_raises_an_error_with_table_key_and_allowed_values(from_file, text, reason):
    with pytest.raises(SpecError) as caught:
        from_file(text)
    assert "mine.toml: " in str(caught.value)
    assert reason in str(caught.value)


def test_all_mistakes_of_a_file_are_reported_at_once(from_file):
    with pytest.raises(SpecError) as caught:
        from_file("learners = ['pa']\ntrials = 0\nseed = -1\nfoo = 1")
    assert len(str(caught.value).splitlines()) == 3


def test_a_mistake_in_the_flags_is_not_attributed_to_the_file_alone(from_file):
    with pytest.raises(SpecError, match=naming("mine.toml")):
        from_file("learners = ['pa']", trials=0)
    with pytest.raises(SpecError, match=naming("mine.toml")):
        from_file("learners = ['pa']\nset = 3", settings=("pa.C=1",))
    with pytest.raises(SpecError, match=naming("mine.toml")):
        from_file("learners = ['pa']\n[set]\npa = 3", settings=("pa.C=1",))


def test_mistakes_in_flags_are_attributed_to_the_command_line(from_flags):
    with pytest.raises(SpecError, match=naming("0", "trials")):
        from_flags(learners="pa", trials=0)
    with pytest.raises(SpecError, match=naming("--learners")):
        from_flags()


def test_an_unreadable_file_raises_an_error_that_names_it(tmp_path, read):
    with pytest.raises(SpecError, match=naming("nowhere.toml")):
        read_file(tmp_path / "nowhere.toml")
    with pytest.raises(SpecError, match="cannot be read"):
        read(str(tmp_path))
    (tmp_path / "latin.toml").write_bytes(b"name = '\xe9'")
    with pytest.raises(SpecError, match=naming("latin.toml")):
        read_file(tmp_path / "latin.toml")
    with pytest.raises(UnknownName, match=naming("pa-step", "pa-steps")):
        read("pa-step")
