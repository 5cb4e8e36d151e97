"""Models: fitted, kept, opened again and asked; what is damaged or foreign is refused, and says why."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline

import harness
from harness.errors import ModelError, SpecError
from small_titles import TRADES, WRONG, titles

NEW, CODES = titles(300, seed=1)


@pytest.fixture
def copied(kept_model, tmp_path):
    """A copy of the model that may be changed."""
    return shutil.copytree(kept_model, tmp_path / "copy")


def change(folder, **changes):
    path = folder / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


# -- asking ----------------------------------------------------------------------------------------------------------


def test_classes_are_told_by_name_and_most_are_right(model):
    predicted = model.predict(NEW)
    assert set(predicted) == set(TRADES)
    assert (predicted == np.array(CODES)).mean() > 1 - WRONG - 0.05


def test_the_best_classes_come_first_and_pads_are_empty(model):
    ranked = model.rank(["ward nurse"], k=6)
    assert ranked.shape == (1, 6)
    assert ranked[0, 0] == "11"
    assert set(ranked[0, :4]) == set(TRADES)
    assert ranked[0, 4:].tolist() == ["", ""]
    answers = model.answer(NEW, 3)
    assert (np.diff(answers.scores, axis=1) <= 0).all()
    assert answers.names[:, 0].tolist() == model.predict(NEW).tolist()


def test_of_rows_with_a_confidence_about_as_many_are_right(model):
    confidence, right = model.confidence(NEW), model.predict(NEW) == np.array(CODES)
    assert abs(confidence.mean() - right.mean()) < 0.05
    assert ((confidence > 0) & (confidence < 1)).all()


@pytest.mark.parametrize("text", ["", "看護師 病院", "zzz"])
def test_a_text_that_has_nothing_that_the_model_knows_gets_no_class_and_no_confidence(model, text):
    answers = model.answer([text, "steel welder"], 2)
    assert answers.names[0].tolist() == ["", ""]
    assert answers.confidence[0] == 0
    assert answers.scores[0].tolist() == [0, 0]
    assert answers.names[1, 0] == "21"


@pytest.mark.parametrize("rows", ["one text", [3], [None]])
def test_what_are_no_texts_is_named(model, rows):
    with pytest.raises(ModelError, match="text"):
        model.predict(rows)


def test_no_classes_cannot_be_asked_for(model):
    with pytest.raises(ModelError, match="k=0"):
        model.answer(NEW, 0)


def test_a_pipeline_of_a_learner_that_needs_dense_rows_answers_like_the_model():
    model = harness.fit(LogisticRegression(), titles(), representation="words")
    dense = replace(model, manifest=replace(model.manifest, wants_dense=True))
    assert dense.as_pipeline().predict(NEW).tolist() == dense.predict(NEW).tolist() == model.predict(NEW).tolist()
    assert not issparse(dense.as_pipeline()[0].transform(NEW))


def test_it_is_a_classifier_to_scikit_learn(model):
    pipeline = model.as_pipeline()
    assert isinstance(pipeline, Pipeline)
    assert pipeline.predict(NEW).tolist() == model.predict(NEW).tolist()
    assert pipeline.classes_.tolist() == list(model.classes)
    shares, scores = pipeline.predict_proba(NEW), pipeline.decision_function(NEW)
    assert shares.sum(axis=1) == pytest.approx(1)
    assert shares.max(axis=1) == pytest.approx(model.confidence(NEW))
    assert (shares.argmax(axis=1) == scores.argmax(axis=1)).all()
    assert pipeline.score(NEW, CODES) == (model.predict(NEW) == np.array(CODES)).mean()


# -- what is known of it ---------------------------------------------------------------------------------------------


def test_the_manifest_says_what_it_is_and_what_to_expect(model):
    told = model.manifest
    assert (told.learner.name, told.learner.params["passes"], told.representation) == ("pa", 10, "words")
    assert (told.data.rows, told.data.classes, len(told.data.fingerprint)) == (400, 4, 64)
    assert told.expected.accuracy == pytest.approx(1 - WRONG, abs=0.1)
    assert told.expected.rows == 80
    assert "held out" in told.expected.known_from
    assert told.reliability["rows"] == 80
    assert sum(one["rows"] for one in told.reliability["bins"]) == 80
    assert set(told.reliability["brier_by_kind"]) == {"isotonic", "logistic"}
    assert told.versions["python"]


def test_no_file_of_it_is_a_pickle(kept_model):
    for path in kept_model.rglob("*.npz"):
        with np.load(path, allow_pickle=False) as archive:
            assert all(archive[name].dtype.kind != "O" for name in archive.files)
    assert {path.suffix for path in kept_model.rglob("*") if path.is_file()} == {".npz", ".json"}


# -- other learners --------------------------------------------------------------------------------------------------


def test_an_estimator_of_another_package_is_kept_and_comes_back(tmp_path):
    fitted = harness.fit(LogisticRegression(C=3.0), titles(), representation="words", out=tmp_path / "m")
    opened = harness.load_model(tmp_path / "m")
    assert opened.manifest.learner.saved_as == "skops"
    assert opened.manifest.learner.params["C"] == 3.0
    assert opened.predict(NEW).tolist() == fitted.predict(NEW).tolist()
    np.testing.assert_allclose(opened.confidence(NEW), fitted.confidence(NEW))
    assert opened.predict_proba(NEW).max(axis=1) == pytest.approx(opened.confidence(NEW))


def test_a_learner_without_scores_has_the_same_confidence_everywhere(tmp_path):
    model = harness.fit("winnow", titles(), representation="words")
    assert model.manifest.calibrator["kind"] == "constant"
    assert len(set(model.confidence(NEW))) == 1
    assert model.answer(NEW, 1).scores is None
    with pytest.raises(ModelError, match="tells no scores"):
        model.decision_function(NEW)


def test_chains_and_unions_of_representations_are_kept(tmp_path):
    fitted = harness.fit("pa", titles(), representation="words+chars", out=tmp_path / "m")
    assert harness.load_model(tmp_path / "m").rank(NEW, 4).tolist() == fitted.rank(NEW, 4).tolist()


def test_rows_of_numbers_are_asked_about_as_they_are(tmp_path):
    X = np.random.default_rng(0).random((120, 5)).astype(np.float32)
    y = X.argmax(axis=1)
    model = harness.fit("pa", (X, y), representation="raw", out=tmp_path / "m")
    opened = harness.load_model(tmp_path / "m")
    assert not opened.manifest.takes_text
    assert (opened.predict(X) == y.astype(str)).mean() > 0.7
    assert opened.predict(X).tolist() == model.predict(X).tolist()


# -- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learners", [["pa", "ooz"], "pa(C=[0.1,1])"])
def test_a_model_is_made_of_one_set_up(learners):
    with pytest.raises(SpecError, match="one learner"):
        harness.fit(learners, titles())


def test_nothing_is_written_over(kept_model):
    with pytest.raises(ModelError, match=r"already.*choose another"):
        harness.fit("pa", titles(), out=kept_model)


@pytest.mark.parametrize(
    "name", ["learner.npz", "classes.json", "representation/1.npz", "representation/representation.json"]
)
def test_a_file_that_is_not_what_was_written_is_refused(copied, name):
    path = copied / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelError, match=rf"copy: {name} is not the file that was written"):
        harness.load_model(copied)
    path.unlink()
    with pytest.raises(ModelError, match=rf"{name} cannot be read"):
        harness.load_model(copied)


def test_a_file_that_no_checksum_vouches_for_is_not_read(copied):
    files = json.loads((copied / "manifest.json").read_text())["files"]
    del files["learner.npz"]
    change(copied, files=files)
    with pytest.raises(ModelError, match=r"does not list 'learner\.npz'"):
        harness.load_model(copied)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"version": 99}, "version 99.*reads version 1.*fit it again"),
        ({"format": "something else"}, "not that of a model"),
        ({"learner": None}, "damaged"),
        ({"calibrator": {"kind": "magic"}}, "no calibration"),
        ({"files": {"../x": {"bytes": 1, "sha256": ""}}}, "outside of the folder"),
    ],
)
def test_a_manifest_that_makes_no_sense_is_refused(copied, changes, complaint):
    change(copied, **changes)
    with pytest.raises(ModelError, match=complaint):
        harness.load_model(copied)


def test_a_learner_that_is_not_installed_is_named(copied):
    learner = json.loads((copied / "manifest.json").read_text())["learner"]
    change(copied, learner=learner | {"load": "harness_of_tomorrow:Learner"})
    with pytest.raises(ModelError, match=r"harness_of_tomorrow.*not here"):
        harness.load_model(copied)


def test_the_file_of_another_learner_is_refused(copied):
    learner = json.loads((copied / "manifest.json").read_text())["learner"]
    change(copied, learner=learner | {"load": "harness_index:OOZ"})
    with pytest.raises(ModelError, match="not of"):
        harness.load_model(copied)


@pytest.mark.parametrize("place", ["nowhere", ".", "manifest.json"])
def test_a_folder_that_is_no_model_is_told_how_to_make_one(copied, place):
    (copied / "empty").mkdir()
    with pytest.raises(ModelError, match=r"is no model.*harness fit"):
        harness.load_model(copied / "empty" / place)


def test_types_of_other_packages_are_read_only_if_they_are_trusted(tmp_path):
    harness.fit("sklearn.dummy:DummyClassifier()", titles(), representation="words", out=tmp_path / "plain")
    assert harness.load_model(tmp_path / "plain").predict(["nurse"])[0] in TRADES
    harness.fit("checked_learners:Trusting()", titles(), representation="words", out=tmp_path / "own")
    with pytest.raises(ModelError, match=r"not trusted: checked_learners\.Trusting.*--trust"):
        harness.load_model(tmp_path / "own")
    assert harness.load_model(tmp_path / "own", trusted=["checked_learners.Trusting"]).predict(["nurse"])[0] in TRADES


def test_a_model_that_is_opened_leaves_its_weights_in_the_file(kept_model):
    opened = harness.load_model(kept_model)
    assert not opened.representation.idf_.flags.owndata
