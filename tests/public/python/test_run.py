"""`harness.run` from Python, through real processes, with learners and data as Python objects."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

import harness
from harness.errors import DataError, SpecError
from harness_committee import Committee
from harness_prototype import PA
from internals import read_records
from messages import naming


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Work in an empty folder, which gets unnamed results folders."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(**options):
    return harness.run(**({"data": "digits", "trials": 1, "progress": False} | options))


def r1_of(results):
    return {record.label: record.scores["r1"] for record in results.records}


def test_names_expressions_and_estimators_run_together():
    learners = ["small=pa(C=0.1)", PA(C=0.3), LogisticRegression(max_iter=20), OneVsRestClassifier(LinearSVC(C=0.5))]
    results = run(learners=learners)
    assert [record.status for record in results.records] == ["ok"] * 4
    labels = ["small", "pa", "LogisticRegression", "OneVsRestClassifier"]
    assert [record.label for record in results.records] == labels
    assert [record.learner for record in results.records][:2] == ["pa", "pa"]
    assert results.records[1].params == {"C": 0.3, "random_state": 0}
    assert results.records[3].params["estimator"] == "sklearn.svm:LinearSVC(C=0.5)"


def test_an_estimator_equals_the_learner_of_its_name_and_resumes_as_such(elsewhere):
    first = run(learners=[PA(C=0.3)], out="results/mine")
    again = run(learners="pa(C=0.3)", out="results/mine")
    assert [record.key for record in first.records] == [record.key for record in again.records]
    assert len(read_records(elsewhere / "results" / "mine")) == 1


def test_the_keys_of_a_dictionary_are_labels():
    results = run(learners={"small": PA(C=0.01), "large": "pa(C=10)"})
    assert [(record.label, record.params["C"]) for record in results.records] == [("small", 0.01), ("large", 10)]


def test_a_wrapper_object_equals_the_wrapper_of_its_name():
    results = run(learners=[Committee(PA(C=0.5), members=2), "committee(pa(C=0.5), members=2)"][:1])
    (record,) = results.records
    assert (record.label, record.learner) == ("committee(pa)", "committee")
    assert record.key == run(learners="committee(pa(C=0.5), members=2)").records[0].key


def drawn(rows=90):
    y = np.arange(rows) % 3
    X = np.eye(3)[y] + 0.01
    return X, y


@pytest.mark.parametrize("shape", [np.asarray, csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize(
    "labels", [np.asarray, lambda y: np.array(["x", "y", "z"])[y], list], ids=["int", "text", "list"]
)
def test_arrays_and_sparse_matrices_are_accepted(shape, labels):
    X, y = drawn()
    results = run(learners="pa", data=(shape(X), labels(y)), representation="raw")
    (record,) = results.records
    assert (record.n_train, record.n_test, record.n_features, record.n_classes) == (72, 18, 3, 3)
    assert record.scores["r1"] == 1.0


def test_an_indicator_matrix_gives_several_labels_per_row():
    X, y = drawn()
    several = csr_array(np.eye(3, dtype=np.int8)[y] | np.eye(3, dtype=np.int8)[(y + 1) % 3])
    (record,) = run(learners="mmp", data=(X, several), representation="raw").records
    assert (record.status, record.n_classes, record.multilabel, record.scores["r1"]) == ("ok", 3, True, 1.0)
    assert (record.scores["p1"], record.scores["p3"], record.scores["p5"]) == pytest.approx((1.0, 2 / 3, 2 / 5))


def test_results_with_several_labels_a_row_show_precision_at_k(capfd):
    X, y = drawn()
    several = csr_array(np.eye(3, dtype=np.int8)[y] | np.eye(3, dtype=np.int8)[(y + 1) % 3])
    results = run(learners="mmp,pa", data=(X, several), representation="raw", progress=True, out="results/several")
    assert [metric.title for metric in results.table().columns][:4] == ["P@1", "P@3", "P@5", "train"]
    assert "P@1" in results.answer()[0]
    assert "P@1 1.000, P@3 0.667" in capfd.readouterr().err
    assert results.rescore("ndcg3,recall2,psndcg1").records[0].scores["recall2"] == 1.0


TEXTS = ["staff nurse", "night nurse", "truck driver", "bus driver"] * 10
CODES = ["2221", "2221", "8332", "8331"] * 10


def test_texts_with_labels_equal_a_data_frame():
    pair = run(learners="pa", data=(TEXTS, CODES))
    frame = pd.DataFrame({"title": TEXTS, "code": CODES})
    framed = run(learners="pa", data=frame, text="title", label="code")
    assert pair.records[0].n_classes == 3
    assert pair.records[0].fingerprint == framed.records[0].fingerprint
    assert pair.records[0].key == framed.records[0].key


def test_python_data_can_be_rescored_and_inspected_later():
    X, y = drawn()
    run(learners="pa", data=(X, y), representation="raw", out="results/mine")
    opened = harness.open_results("results/mine").rescore("r2")
    (record,) = opened.records
    assert record.scores["r2"] == 1.0
    ranked = opened.ranked(record)
    assert y[ranked.rows].tolist() == ranked.truth.tolist() == ranked.ranks[:, 0].tolist()


@pytest.mark.parametrize("named", [str, Path], ids=["text", "path"])
def test_columns_of_a_file_and_of_a_data_frame_are_named_alike(elsewhere, named):
    lines = [f"{i},{title},{code}" for i, (title, code) in enumerate(zip(TEXTS, CODES, strict=True))]
    (elsewhere / "jobs.csv").write_text("\n".join(["row,job,code", *lines]))
    results = run(learners="pa", data=named("jobs.csv"), text="job", label="code")
    assert results.records[0].n_classes == 3
    assert results.records[0].dataset_params["text"] == "job"


def test_several_datasets_may_be_of_different_types(elsewhere):
    (elsewhere / "titles.csv").write_text("title,code\n" + "".join(map("{},{}\n".format, TEXTS, CODES)))
    results = run(learners="pa", data=["digits", "titles.csv", (TEXTS, CODES[::-1])])
    assert len({record.dataset for record in results.records}) == 3


def test_an_experiment_may_be_a_file_a_name_or_a_dictionary(elsewhere):
    content = {"learners": ["pa(C=[0.1, 1])"], "datasets": ["digits"], "trials": 1}
    (elsewhere / "mine.toml").write_text('learners = ["pa(C=[0.1, 1])"]\ndatasets = ["digits"]\ntrials = 1\n')
    by_content = harness.run(experiment=content, progress=False)
    by_file = harness.run(experiment=elsewhere / "mine.toml", progress=False)
    assert r1_of(by_content) == r1_of(by_file)
    assert sorted(r1_of(by_content)) == ["pa(C=0.1)", "pa(C=1)"]
    assert content == {"learners": ["pa(C=[0.1, 1])"], "datasets": ["digits"], "trials": 1}


def test_settings_and_tuning_equal_those_of_the_command_line():
    results = run(learners="pa", set={"pa": {"passes": 2}}, tune={"pa": {"C": [0.1, 1.0]}})
    (record,) = results.records
    assert record.params["passes"] == 2
    assert record.tuned["C"] in (0.1, 1.0)
    assert len(record.tuning) == 2


class Local(LogisticRegression):
    pass


def test_objects_that_cannot_be_imported_or_passed_are_rejected_before_any_trial(elsewhere):
    class Inner(LogisticRegression):
        pass

    with pytest.raises(SpecError, match=naming("Inner", "function")):
        run(learners=[Inner()])
    with pytest.raises(SpecError, match=naming("LogisticRegression", "LogisticRegression()")):
        run(learners=[LogisticRegression])
    with pytest.raises(SpecError, match=naming("LogisticRegression(class_weight=...)")):
        run(learners=[LogisticRegression(class_weight=np.ones(3))])
    with pytest.raises(SpecError, match=naming("learner", "estimator")):
        run(learners=[3])
    assert not list(elsewhere.iterdir())


@pytest.mark.parametrize(
    ("data", "more", "printed"),
    [
        (3, {}, "int is not data: expected a name, a file"),
        ((np.zeros(3), [1, 2, 3]), {}, r"X has shape \(3,\): expected rows x features"),
        ((["a", "b"], ["x"]), {}, "2 texts and 1 labels: expected one for each"),
        ((["a", "b"], [object(), "x"]), {}, "row 0: the label is <object"),
        (pd.DataFrame({"a": ["x"]}), {"text": "a"}, "a data frame needs label=, the column with the labels: one of a"),
        (
            pd.DataFrame({"a": ["x"]}),
            {"text": "b", "label": "a"},
            "text='b': the data frame has no such column: it has a",
        ),
        (
            pd.DataFrame({"a": [1.5], "b": ["x"]}),
            {"text": "a", "label": "b"},
            "row 0: the text is 1.5: expected a text",
        ),
    ],
)
def test_invalid_data_are_rejected_with_the_expected_type(data, more, printed):
    with pytest.raises(DataError, match=printed):
        run(learners="pa", data=data, **more)


def test_a_failed_trial_is_listed_with_its_traceback():
    results = run(learners=["pa", LogisticRegression(solver="newton-cholesky", penalty="l1")])
    (failure,) = results.failures()
    assert (failure.label, failure.status) == ("LogisticRegression", "error")
    assert "newton-cholesky" in failure.message
    assert "Traceback" in failure.traceback


def test_progress_goes_to_stderr_and_quiet_mode_prints_nothing(capfd):
    run(learners="pa", progress=True)
    printed = capfd.readouterr()
    assert printed.out == ""
    assert "1 trial to run" in printed.err
    run(learners="pa", progress=False, out="results/silent")
    assert capfd.readouterr() == ("", "")
