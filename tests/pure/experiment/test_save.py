"""Experiments written as TOML: equivalent when read back, with comments for what TOML cannot express."""

import tomllib

from internals import build, to_toml
from messages import assert_names


def test_a_saved_experiment_reads_back_as_the_same(tmp_path, read, catalog):
    raw = read(learners="pa,b=pa(C=none)", settings=("b.C=[1,2]", "pa.step=exact"), trials=2)
    path = tmp_path / "again.toml"
    path.write_text(to_toml(raw.table))
    again = read(str(path))
    assert build(again.table, again.source, catalog) == build(raw.table, raw.source, catalog)


def test_settings_that_toml_cannot_express_are_written_as_comments(read):
    odd = ["pa.C=None", "pa.margin=[None, 2]", "pa.sizes=(1, 2)", "pa.weights={1: 2}"]
    text = to_toml(read(learners="pa", settings=(*odd, "pa.passes=2")).table)
    assert [line.removeprefix("# It also needs --set ") for line in text.splitlines()[1:5]] == odd
    assert tomllib.loads(text) == {"learners": "pa", "set": {"pa": {"passes": 2}}}


def test_an_estimator_setting_is_written_as_its_flag(read):
    flag = "ovr.estimator=sklearn.svm:LinearSVC(C=0.5)"
    raw = read(learners="ovr=sklearn.multiclass:OneVsRestClassifier", settings=(flag,))
    assert_names(to_toml(raw.table).splitlines(), "--set", f"{flag}")


def test_a_learner_around_an_estimator_is_written_as_text(read, catalog):
    raw = read(learners="sklearn.multiclass:OneVsRestClassifier(estimator=sklearn.svm:LinearSVC(C=0.5))")
    content = tomllib.loads(to_toml(raw.table))
    assert build(content, raw.source, catalog) == build(raw.table, raw.source, catalog)


def test_tuning_ranges_that_toml_cannot_express_are_written_as_comments(read):
    raw = read(learners="pa", tune=("pa.C=[None, 5]", "pa.sizes=[(1, 2), (3, 4)]", "pa.passes=[1, 2]"))
    text = to_toml(raw.table)
    assert_names(text, "--tune", "pa.C=[None", "5")
    assert_names(text, "--tune", "pa.sizes=[(1", "2", "3", "4)")
    assert tomllib.loads(text)["tune"]["params"] == {"pa": {"passes": [1, 2]}}


def test_a_python_only_table_is_written_as_a_comment():
    learners = [{"name": "pa", "params": {"C": None}}]
    text = to_toml({"learners": learners, "trials": 2})
    assert_names(text, f"{learners!r}")
    assert tomllib.loads(text) == {"trials": 2}
