"""What was asked for, written down: a file that says the same, and what no file can say told in it."""

import tomllib

from harness.experiment.building import build
from harness.experiment.writing import to_toml


def test_what_was_asked_for_can_be_asked_for_again(tmp_path, read, catalog):
    raw = read(learners="pa,b=pa(C=none)", settings=("b.C=[1,2]", "pa.step=exact"), trials=2)
    path = tmp_path / "again.toml"
    path.write_text(to_toml(raw.table))
    again = read(str(path))
    assert build(again.table, again.source, catalog) == build(raw.table, raw.source, catalog)


def test_what_a_file_cannot_say_is_told_in_it(read):
    odd = ["pa.C=None", "pa.margin=[None, 2]", "pa.sizes=(1, 2)", "pa.weights={1: 2}"]
    text = to_toml(read(learners="pa", settings=(*odd, "pa.passes=2")).table)
    assert [line.removeprefix("# It also needs --set ") for line in text.splitlines()[1:5]] == odd
    assert tomllib.loads(text) == {"learners": "pa", "set": {"pa": {"passes": 2}}}


def test_an_estimator_that_was_set_is_told_as_the_flag_that_sets_it(read):
    flag = "ovr.estimator=sklearn.svm:LinearSVC(C=0.5)"
    raw = read(learners="ovr=sklearn.multiclass:OneVsRestClassifier", settings=(flag,))
    assert f"# It also needs --set {flag}" in to_toml(raw.table).splitlines()


def test_a_learner_round_an_estimator_is_written_as_text(read, catalog):
    raw = read(learners="sklearn.multiclass:OneVsRestClassifier(estimator=sklearn.svm:LinearSVC(C=0.5))")
    content = tomllib.loads(to_toml(raw.table))
    assert build(content, raw.source, catalog) == build(raw.table, raw.source, catalog)


def test_what_is_to_be_tuned_and_no_file_can_say_is_told_too(read):
    raw = read(learners="pa", tune=("pa.C=[None, 5]", "pa.sizes=[(1, 2), (3, 4)]", "pa.passes=[1, 2]"))
    text = to_toml(raw.table)
    assert "# It also needs --tune pa.C=[None, 5]" in text
    assert "# It also needs --tune pa.sizes=[(1, 2), (3, 4)]" in text
    assert tomllib.loads(text)["tune"]["params"] == {"pa": {"passes": [1, 2]}}


def test_a_table_that_only_python_can_give_is_told_and_breaks_nothing():
    learners = [{"name": "pa", "params": {"C": None}}]
    text = to_toml({"learners": learners, "trials": 2})
    assert f"# It also had learners = {learners!r}, which only Python can say." in text
    assert tomllib.loads(text) == {"trials": 2}
