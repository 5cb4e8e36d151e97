"""Models: fit, save, load and predict; damaged or foreign folders are rejected with the reason."""

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import issparse
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OutputCodeClassifier
from sklearn.pipeline import Pipeline

import harness
from harness.errors import ModelError, SpecError
from internals import seal_of
from messages import naming
from small_titles import TRADES, WRONG, titles

NEW, CODES = titles(300, seed=1)


@pytest.fixture
def copied(kept_model, tmp_path):
    """Return a copy of the model that may be changed."""
    return shutil.copytree(kept_model, tmp_path / "copy")


def change(folder, **changes):
    """Change the manifest and its checksum, as an attacker would."""
    path = folder / "manifest.json"
    plain = json.loads(path.read_text()) | changes
    path.write_text(json.dumps(plain | {"sha256": seal_of(plain)}))


# -- asking ----------------------------------------------------------------------------------------------------------


def test_predictions_are_class_names_and_mostly_right(model):
    predicted = model.predict(NEW)
    assert set(predicted) == set(TRADES)
    assert (predicted == np.array(CODES)).mean() > 1 - WRONG - 0.05


def test_the_best_classes_come_first_and_padding_is_empty(model):
    ranked = model.rank(["ward nurse"], k=6)
    assert ranked.shape == (1, 6)
    assert ranked[0, 0] == "11"
    assert set(ranked[0, :4]) == set(TRADES)
    assert ranked[0, 4:].tolist() == ["", ""]
    answers = model.answer(NEW, 3)
    assert (np.diff(answers.scores, axis=1) <= 0).all()
    assert answers.names[:, 0].tolist() == model.predict(NEW).tolist()


def test_confidence_matches_accuracy(model):
    confidence, right = model.confidence(NEW), model.predict(NEW) == np.array(CODES)
    assert abs(confidence.mean() - right.mean()) < 0.05
    assert ((confidence > 0) & (confidence < 1)).all()


@pytest.mark.parametrize("text", ["", "看護師 病院", "zzz"])
def test_a_text_without_known_words_gets_no_class_and_no_confidence(model, text):
    answers = model.answer([text, "steel welder"], 2)
    assert answers.names[0].tolist() == ["", ""]
    assert answers.confidence[0] == 0
    assert answers.scores[0].tolist() == [0, 0]
    assert answers.names[1, 0] == "21"


@pytest.mark.parametrize("rows", ["one text", [3], [None]])
def test_inputs_that_are_no_texts_raise_an_error(model, rows):
    with pytest.raises(ModelError, match="text"):
        model.predict(rows)


def test_asking_for_zero_classes_is_rejected(model):
    with pytest.raises(ModelError, match="k=0"):
        model.answer(NEW, 0)


def test_a_pipeline_with_a_dense_learner_predicts_as_the_model():
    model = harness.fit(LogisticRegression(), titles(), representation="words")
    dense = replace(model, manifest=replace(model.manifest, wants_dense=True))
    assert dense.as_pipeline().predict(NEW).tolist() == dense.predict(NEW).tolist() == model.predict(NEW).tolist()
    assert not issparse(dense.as_pipeline()[0].transform(NEW))


def test_a_model_is_a_scikit_learn_classifier(model):
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


def test_the_manifest_has_the_learner_and_the_expected_accuracy(model):
    message = model.manifest
    assert (message.learner.name, message.learner.params["passes"], message.representation) == ("pa", 10, "words")
    assert (message.data.rows, message.data.classes, len(message.data.fingerprint)) == (400, 4, 64)
    assert message.expected.accuracy == pytest.approx(1 - WRONG, abs=0.1)
    assert message.expected.rows == 80
    assert "held-out" in message.expected.known_from
    assert message.reliability["rows"] == 80
    assert sum(one["rows"] for one in message.reliability["bins"]) == 80
    assert set(message.reliability["brier_by_kind"]) == {"isotonic", "logistic"}
    assert message.versions["python"]


def test_no_file_of_a_model_is_a_pickle(kept_model):
    for path in kept_model.rglob("*.npz"):
        with np.load(path, allow_pickle=False) as archive:
            assert all(archive[name].dtype.kind != "O" for name in archive.files)
    assert {path.suffix for path in kept_model.rglob("*") if path.is_file()} == {".npz", ".json"}


# -- other learners --------------------------------------------------------------------------------------------------


def test_an_estimator_of_another_package_is_saved_and_restored(tmp_path):
    fitted = harness.fit(LogisticRegression(C=3.0), titles(), representation="words", out=tmp_path / "m")
    opened = harness.load_model(tmp_path / "m")
    assert opened.manifest.learner.saved_as == "skops"
    assert opened.manifest.learner.params["C"] == 3.0
    assert opened.predict(NEW).tolist() == fitted.predict(NEW).tolist()
    np.testing.assert_allclose(opened.confidence(NEW), fitted.confidence(NEW))
    assert opened.predict_proba(NEW).max(axis=1) == pytest.approx(opened.confidence(NEW))


def test_a_learner_without_scores_has_no_confidence():
    model = harness.fit(OutputCodeClassifier(LogisticRegression(), random_state=0), titles(), representation="words")
    answers = model.answer(NEW, 1)
    assert answers.names[:, 0].tolist() == model.predict(NEW).tolist()
    assert (answers.scores, answers.confidence) == (None, None)
    with pytest.raises(ModelError, match="no confidence"):
        model.confidence(NEW)
    with pytest.raises(ModelError, match="has no scores"):
        model.decision_function(NEW)


def test_chains_and_unions_of_representations_are_saved(tmp_path):
    fitted = harness.fit("pa", titles(), representation="words+chars", out=tmp_path / "m")
    assert harness.load_model(tmp_path / "m").rank(NEW, 4).tolist() == fitted.rank(NEW, 4).tolist()


def test_rows_of_numbers_are_predicted_unchanged(tmp_path):
    X = np.random.default_rng(0).random((120, 5)).astype(np.float32)
    y = X.argmax(axis=1)
    model = harness.fit("pa", (X, y), representation="raw", out=tmp_path / "m")
    opened = harness.load_model(tmp_path / "m")
    assert not opened.manifest.takes_text
    assert (opened.predict(X) == y.astype(str)).mean() > 0.7
    assert opened.predict(X).tolist() == model.predict(X).tolist()


# -- what is refused -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("learners", [["pa", "ooz"], "pa(C=[0.1,1])"])
def test_a_model_needs_exactly_one_configuration(learners):
    with pytest.raises(SpecError, match="expected one"):
        harness.fit(learners, titles())


def test_an_existing_folder_is_not_overwritten(kept_model):
    with pytest.raises(ModelError, match=r"already.*Choose another"):
        harness.fit("pa", titles(), out=kept_model)


@pytest.mark.parametrize(
    "name", ["learner.npz", "classes.json", "representation/1.npz", "representation/representation.json"]
)
def test_a_modified_file_is_rejected(copied, name):
    path = copied / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ModelError, match=naming(f"{name}")):
        harness.load_model(copied)
    path.unlink()
    with pytest.raises(ModelError, match=rf"{name} cannot be read"):
        harness.load_model(copied)


def test_a_file_without_a_checksum_is_not_read(copied):
    files = json.loads((copied / "manifest.json").read_text())["files"]
    del files["learner.npz"]
    change(copied, files=files)
    with pytest.raises(ModelError, match=naming("learner.npz")):
        harness.load_model(copied)


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"version": 99}, "version 99.*expected 2.*Fit it again"),
        ({"format": "something else"}, "does not describe a model"),
        ({"learner": None}, "damaged"),
        ({"calibrator": {"kind": "magic"}}, "no calibration"),
        ({"files": {"../x": {"bytes": 1, "sha256": ""}}}, "outside of the folder"),
    ],
)
def test_an_invalid_manifest_is_rejected(copied, changes, complaint):
    change(copied, **changes)
    with pytest.raises(ModelError, match=complaint):
        harness.load_model(copied)


def test_a_missing_learner_raises_an_error_that_names_it(copied):
    learner = json.loads((copied / "manifest.json").read_text())["learner"]
    change(copied, learner=learner | {"load": "harness_of_tomorrow:Learner"})
    with pytest.raises(ModelError, match=naming("harness_of_tomorrow:Learner")):
        harness.load_model(copied)
    change(copied, learner=learner | {"name": "tomorrow", "distribution": "harness-of-tomorrow"})
    with pytest.raises(ModelError, match=naming("tomorrow", "harness-of-tomorrow")):
        harness.load_model(copied)


def test_the_file_of_another_learner_is_rejected(copied):
    learner = json.loads((copied / "manifest.json").read_text())["learner"]
    change(copied, learner=learner | {"load": "harness_index:OOZ"})
    with pytest.raises(ModelError, match=naming("harness_index:OOZ", "pa")):
        harness.load_model(copied)
    change(copied, learner=learner | {"name": "ooz", "load": "harness_index:OOZ"})
    with pytest.raises(ModelError, match="not of"):
        harness.load_model(copied)


@pytest.mark.parametrize("place", ["nowhere", ".", "manifest.json"])
def test_a_folder_without_a_model_raises_an_error_with_the_command(copied, place):
    (copied / "empty").mkdir()
    with pytest.raises(ModelError, match=naming("model", "harness fit")):
        harness.load_model(copied / "empty" / place)


def test_foreign_types_are_loaded_only_if_trusted(tmp_path):
    harness.fit("sklearn.dummy:DummyClassifier()", titles(), representation="words", out=tmp_path / "plain")
    assert harness.load_model(tmp_path / "plain").predict(["nurse"])[0] in TRADES
    harness.fit("checked_learners:Trusting()", titles(), representation="words", out=tmp_path / "own")
    with pytest.raises(ModelError, match=naming("checked_learners.Trusting", "--trust")):
        harness.load_model(tmp_path / "own")
    assert harness.load_model(tmp_path / "own", trusted=["checked_learners.Trusting"]).predict(["nurse"])[0] in TRADES


@pytest.mark.parametrize("learner", ["linear-svc", "knn", "complement-nb"])
def test_presets_of_scikit_learn_are_loaded_without_trust(tmp_path, learner):
    fitted = harness.fit(learner, titles(), representation="words", out=tmp_path / "m")
    assert harness.load_model(tmp_path / "m").predict(NEW).tolist() == fitted.predict(NEW).tolist()


def test_an_error_names_the_options_that_trust_all_types(tmp_path):
    harness.fit("sklearn.tree:DecisionTreeClassifier", titles(), representation="words", out=tmp_path / "m")
    tree = "sklearn.tree._tree.Tree"
    with pytest.raises(ModelError, match=naming(f"use --trust {tree}, in Python trusted=['{tree}']")):
        harness.load_model(tmp_path / "m")
    assert harness.load_model(tmp_path / "m", trusted=[tree]).predict(["ward nurse hospital"])[0] in TRADES


def test_a_file_with_the_type_of_another_preset_is_refused(tmp_path):
    for learner in ("knn", "centroid"):
        harness.fit(learner, titles(), representation="words", out=tmp_path / learner)
    plain = json.loads((tmp_path / "knn" / "manifest.json").read_text())
    shutil.copy(tmp_path / "knn" / "learner.skops", tmp_path / "centroid")
    other = json.loads((tmp_path / "centroid" / "manifest.json").read_text())
    files = other["files"] | {"learner.skops": plain["files"]["learner.skops"]}
    change(tmp_path / "centroid", files=files)
    with pytest.raises(ModelError, match=naming("presets.KNN", "--trust")):
        harness.load_model(tmp_path / "centroid")


def test_a_loaded_model_maps_its_weights_from_the_file(kept_model):
    opened = harness.load_model(kept_model)
    assert not opened.representation.idf_.flags.owndata
