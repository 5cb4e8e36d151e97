"""`Model.explain`: parts of words that add up to the score, words left out, nearest rows, and their display."""

import json
from dataclasses import replace

import numpy as np
import pytest

import harness
from harness.errors import ModelError
from internals import NamedClassifier
from messages import naming
from small_titles import titles

TEXT = "Night Nurse, at the hospital ward"
REPRESENTATIONS = [
    "words",
    "words(ngrams=1:2)",
    "chars",
    "hashed(bits=12)",
    "words + chars",
    "tfidf(words)",
    "frequent(words)",
]


class Mute:
    """A learner that has scores and no contributions."""

    def __init__(self, learner):
        self.learner = learner
        self.classes_ = learner.classes_

    def rank(self, X, k):
        return self.learner.rank(X, k)

    def scores(self, X, ranks):
        return self.learner.scores(X, ranks)


class OnlyRanks:
    """A learner without scores."""

    def __init__(self, learner):
        self.learner = learner
        self.classes_ = learner.classes_

    def rank(self, X, k):
        return self.learner.rank(X, k)


def around(model, kind):
    """Return the model with less of a learner."""
    inside = model.classifier
    return replace(model, classifier=NamedClassifier(kind(inside.learner), inside.class_names, inside.calibrator))


@pytest.fixture(scope="module")
def plain():
    """A linear model of word counts that are not normalised."""
    return harness.fit("pa", titles(), representation="words(weighting=raw)")


@pytest.fixture(scope="module")
def keeping():
    return harness.fit("pa", titles(), representation="chars", keep_rows=True)


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_words_and_bias_add_up_to_the_scores(representation):
    model = harness.fit("svm", titles(), representation=representation)
    found = model.explain(TEXT)
    answers = model.answer([TEXT], 2)
    assert found.method == "parts"
    assert [found.best.name, found.rival.name] == answers.names[0].tolist()
    assert np.allclose([found.best.score, found.rival.score], answers.scores[0])
    assert np.isclose(sum(word.best for word in found.words) + found.best.bias, found.best.score)
    assert np.isclose(sum(word.rival for word in found.words) + found.rival.bias, found.rival.score)
    biases = model.classifier.learner.base_[answers.positions[0]]
    assert np.allclose([found.best.bias, found.rival.bias], biases, atol=1e-5)  # so all parts belong to words


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_a_word_stands_where_its_spans_point(representation):
    found = harness.fit("pa", titles(), representation=representation).explain(f"{TEXT} NURSE")
    for word in found.words:
        assert {piece.casefold() for piece in pieces(found.text, word)} == {word.text.casefold()}
        assert not any(piece.strip() != piece for piece in pieces(found.text, word))
    nurse = [word for word in found.words if word.text.casefold().strip(",") == "nurse"]
    assert sorted(span for word in nurse for span in word.spans)[0][0] == TEXT.index("Nurse")


def pieces(text, word):
    return [text[start:end] for start, end in word.spans]


def test_a_part_of_a_character_run_belongs_to_the_word_around_it(keeping):
    words = {word.text: word for word in keeping.explain("steel nurse").words}
    assert words.keys() == {"steel", "nurse"}
    assert words["nurse"].spans == ((6, 11),)
    assert words["nurse"].lead * words["steel"].lead < 0


def test_leaving_words_out_agrees_with_the_parts_of_a_linear_learner(plain):
    exact, left_out = plain.explain(TEXT), around(plain, Mute).explain(TEXT)
    assert (exact.method, left_out.method) == ("parts", "left out")
    assert left_out.best.bias is None
    falls = {word.text: (word.best, word.rival) for word in left_out.words}
    for word in exact.words:
        assert np.allclose(falls[word.text], (word.best, word.rival), atol=1e-5)
    assert falls["at"] == (0, 0)  # a word that training did not meet


def test_without_scores_the_words_that_decide_are_marked(plain):
    found = around(plain, OnlyRanks).explain("steel welder")
    assert found.best.score is None
    assert found.method == "left out"
    assert found.confidence is None
    assert {word.best for word in found.words} <= {0.0, 1.0}
    assert "no scores" in str(found)
    assert "Confidence" not in found._repr_html_()


def test_vectors_that_mix_words_are_explained_by_leaving_out():
    found = harness.fit("pa", titles(), representation="truncated-svd(words, d=4)").explain(TEXT)
    assert found.method == "left out"
    assert {word.text for word in found.words} == {"Night", "Nurse", "at", "the", "hospital", "ward"}


def test_a_linear_learner_of_scikit_learn_is_explained_by_its_coefficients():
    model = harness.fit("linear-svc", titles(), representation="words")
    found = model.explain(TEXT)
    assert found.method == "parts"
    best = int(model.answer([TEXT]).positions[0, 0])
    column = model.representation.get_feature_names_out().tolist().index("nurse")
    value = model.representation.transform([TEXT])[0, column]
    (nurse,) = [word for word in found.words if word.text == "Nurse"]
    assert np.isclose(nurse.best, value * model.classifier.learner.coef_[best, column])
    assert np.isclose(found.best.bias, model.classifier.learner.intercept_[best])


def test_equal_words_are_added_up(plain):
    once, twice = plain.explain("steel nurse"), plain.explain("steel Steel nurse")
    (steel,) = [word for word in twice.words if word.text == "steel"]
    assert steel.spans == ((0, 5), (6, 11))
    assert {word.text for word in once.words} == {word.text for word in twice.words}


def test_a_text_without_spaces_is_divided_by_the_class_that_its_parts_favour(keeping):
    found = keeping.explain("nursewardhospitalsteelwelderpipe")
    assert len(found.words) > 1
    assert "".join(found.text[start:end] for start, end in sorted(w.spans[0] for w in found.words)) in found.text


def test_a_text_of_unknown_words_has_no_class(plain):
    found = plain.explain("溶接工")
    assert (found.best, found.words, found.confidence) == (None, (), 0.0)
    assert "no class" in str(found)


def test_a_model_of_numbers_is_not_explained():
    with pytest.raises(ModelError, match=naming("texts", "numbers")):
        harness.fit("perceptron", "digits").explain("1 2 3")


# -- nearest rows ----------------------------------------------------------------------------------------------------


def test_the_nearest_training_rows_are_those_of_the_highest_cosine(keeping):
    texts, codes = titles()
    found = keeping.explain(texts[7])
    assert len(found.nearest) == 3
    assert found.nearest[0].text == texts[7]
    assert np.isclose(found.nearest[0].cosine, 1, atol=1e-5)
    rows = keeping.representation.transform(texts).toarray()
    cosines = np.round(rows @ rows[7], 5)
    given = {(text, code): cosine for text, code, cosine in zip(texts, codes, cosines, strict=True)}
    assert np.allclose([near.cosine for near in found.nearest], sorted(given.values())[:-4:-1], atol=1e-4)
    assert all((near.text, near.classes[0]) in given for near in found.nearest)


def test_kept_rows_are_saved_and_loaded(keeping, tmp_path):
    saved = keeping.save(tmp_path / "m")
    loaded = harness.load_model(tmp_path / "m")
    assert "rows.npz" in saved.files
    assert loaded.explain(TEXT) == keeping.explain(TEXT)
    loaded.save(tmp_path / "again")
    assert (tmp_path / "again/rows.npz").read_bytes() == (tmp_path / "m/rows.npz").read_bytes()


def test_a_model_without_kept_rows_says_how_to_keep_them(plain):
    found = plain.explain(TEXT)
    assert found.nearest is None
    assert "--keep-rows" in str(found)
    assert "keep_rows=True" in found._repr_html_()


def test_rows_of_numbers_cannot_be_kept():
    with pytest.raises(ModelError, match=naming("texts", "numbers", "--keep-rows")):
        harness.fit("pa", "digits", keep_rows=True)


# -- display ---------------------------------------------------------------------------------------------------------


def test_an_explanation_has_values_for_json(keeping):
    plain = keeping.explain(TEXT).to_plain()
    assert json.loads(json.dumps(plain)) == plain
    assert plain["best"].keys() == {"name", "score", "bias"}
    assert plain["words"][0].keys() == {"text", "spans", "best", "rival"}
    assert plain["nearest"][0].keys() == {"text", "classes", "cosine"}


def test_html_escapes_texts_and_class_names():
    evil = "<script>alert(1)</script>"
    texts = ["steel & welder", f"{evil} nurse"] * 50
    model = harness.fit("pa", (texts, [f"<b>{evil}", "a&b"] * 50), representation="chars", keep_rows=True)
    shown = model.explain(f"{evil} & \"nurse\" <img src=x onerror='alert(1)'>")._repr_html_()
    assert "<script" not in shown
    assert "<img" not in shown
    assert "<b>" not in shown
    assert "&lt;script&gt;" in shown


def test_html_highlights_the_words_and_keeps_the_text(plain):
    shown = plain.explain("steel  nurse!")._repr_html_()
    assert ">steel</span>  <span" in shown
    assert ">nurse</span>!</p>" in shown


def test_a_long_text_is_shown_on_one_screen(keeping):
    text = " ".join(dict.fromkeys(word for title in titles()[0] for word in title.split()))
    lines = str(keeping.explain(f"{text} " * 3 + "x" * 200)).splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert any("other words" in line for line in lines)
