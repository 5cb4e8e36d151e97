"""Representations: notation, lookup, and plans for data with texts, counts or both."""

import pytest

from experiments import OWN, catalog_of, learner, resolved_of, trials_of
from harness import MetricSpec
from harness.errors import DataError, SpecError, UnknownName
from internals import (
    Blueprint,
    Entry,
    build_estimator,
    find_representation,
    parse_representation,
    patch_internal,
    plan,
)
from messages import naming

COUNTING = "words(tokens=letters, weighting=raw)"
WRITTEN = {
    "words": "words",
    "chars( ngrams = 2:5 )": "chars(ngrams=2:5)",
    "words + chars": "words+chars",
    "truncated-svd(words+chars(ngrams=3), d=10)": "truncated-svd(words+chars(ngrams=3), d=10)",
    "words(tokens='a b')": "words(tokens='a b')",
    "a.b:C(x=(1, 2))": "a.b:C(x=(1, 2))",
}


@pytest.fixture(scope="module")
def texts_header(header_of):
    return header_of(X=None, texts=[f"word{row} common" for row in range(20)], counting=COUNTING)


@pytest.mark.parametrize(("text", "name"), WRITTEN.items())
def test_each_representation_has_one_notation_that_is_read_back(text, name):
    assert str(parse_representation(text)) == name
    assert str(parse_representation(name)) == name


@pytest.mark.parametrize("text", ["+words", "words+", "words(3)", "x=words", "words(chars, chars)"])
def test_an_invalid_representation_is_rejected(text):
    with pytest.raises(SpecError, match="cannot read"):
        parse_representation(text)


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("word", UnknownName, "unknown representation 'word'. Did you mean words?"),
        ("words(ngram=2)", SpecError, "representation 'words' has no parameter 'ngram'. Did you mean ngrams?"),
        ("words(tfidf)", SpecError, "representation 'words' takes texts: nothing can come before it, found 'tfidf'"),
        ("sklearn.preprocessing:Scaler", UnknownName, "module 'sklearn.preprocessing' has no 'Scaler'"),
        ("sklearn.svm:LinearSVC", SpecError, "is not a transformer: expected a class with fit and transform"),
    ],
)
def test_an_unusable_representation_raises_an_error_that_names_it(text, error, message):
    with pytest.raises(error, match=message):
        find_representation(text, catalog_of())


def test_the_code_of_a_representation_is_read_once_for_any_number_of_trials(texts_header, monkeypatch):
    read = []
    patch_internal(monkeypatch, "representations.code_of", lambda load, origin: read.append(load) or "code")
    trials_of(texts_header, representation="words", trials=1)
    once = len(read)
    trials_of(texts_header, representation="words", trials=9, learners="pa,ooz")
    assert len(read) == 2 * once > 0


def plan_of(header, representation):
    (trial,) = trials_of(header, representation=representation)
    return trial.representing


def test_texts_are_counted_by_the_datasets_default_before_weighting(texts_header):
    plan = plan_of(texts_header, "tf")
    assert plan.takes_text
    counted, weighed = (step for _, step in plan.blueprint.params["steps"])
    words = Blueprint("harness_representations.words:Words", {"tokens": "letters", "weighting": "raw"})
    assert (counted, weighed) == (words, Blueprint("harness_representations.weights:Tf", {}))


def test_representations_of_texts_get_the_texts(texts_header):
    assert plan_of(texts_header, "chars(ngrams=2:3)").blueprint == Blueprint(
        "harness_representations.chars:Chars", {"ngrams": "2:3"}
    )


def test_a_chain_and_a_union_are_built_from_their_members(texts_header):
    built = build_estimator(plan_of(texts_header, "scaled(words+truncated-svd(chars, d=3))").blueprint)
    rows = ["staff nurse", "night nurse", "tractor driver", "tram driver"]
    assert built.fit_transform(rows).shape == (4, 6 + 3)


def test_tags_decide_whether_a_foreign_transformer_gets_texts(texts_header):
    vectorizer = "sklearn.feature_extraction.text:TfidfVectorizer(min_df=2)"
    assert plan_of(texts_header, vectorizer).blueprint.params == {"min_df": 2}
    scaler = plan_of(texts_header, "sklearn.preprocessing:MaxAbsScaler").blueprint
    assert scaler.load == "sklearn.pipeline:Pipeline"


def test_several_representations_give_separate_trials_keys_and_folders(texts_header):
    trials = trials_of(texts_header, representation="words,chars")
    assert [trial.representation for trial in trials] == ["words", "chars"]
    assert len({trial.key for trial in trials}) == len({trial.represented_folder for trial in trials}) == 2


def test_text_representations_need_data_with_texts(header):
    with pytest.raises(DataError, match=naming("texts", "chars")):
        trials_of(header, representation="chars")


@pytest.mark.parametrize(("representation", "fits"), [("words", True), ("truncated-svd(words)", False), ("tf", True)])
def test_possibly_negative_representations_are_not_given_to_learners_that_forbid_them(
    texts_header, representation, fits
):
    resolved = resolved_of(learners="positive", representation=representation)
    assert (plan(resolved, {"data": texts_header}).incompatible == ()) == fits


def test_a_learner_of_raw_texts_runs_once_for_all_representations(texts_header, header):
    catalog = catalog_of((learner("reader", needs=frozenset({"text"})),))
    (trial,) = trials_of(texts_header, catalog, learners="reader", representation="words,chars")
    assert (trial.representation, trial.representing.blueprint, trial.represented_folder) == ("texts", None, "")
    with pytest.raises(DataError, match=naming("texts")):
        trials_of(header, catalog, learners="reader")


def test_a_dataset_may_have_its_own_list_of_representations(texts_header, header):
    catalog = catalog_of(metrics=(Entry(MetricSpec(name="r1", compute="a:b"), OWN),))
    datasets = [{"name": "data", "tune_representation": ["words", "chars"]}, {"name": "other", "representation": "tf"}]
    tune = {"params": {"pa": {"C": [1, 2]}}}
    headers = {"data": texts_header, "other": header}
    first, second = trials_of(header, catalog, headers, datasets=datasets, tune=tune)
    assert len(first.tuning_plan.candidates) == 4
    assert first.representation == "one of words, chars"
    assert [dict(one) for one in second.tuning_plan.candidates] == [{"C": 1}, {"C": 2}]
    assert second.representation == "tf"


def test_a_learner_that_accepts_texts_gets_them_where_available(texts_header, header):
    catalog = catalog_of((learner("either", supports=frozenset({"text"})),))
    (trial,) = trials_of(texts_header, catalog, learners="either", representation="words,chars")
    assert (trial.representation, trial.representing.blueprint) == ("texts", None)
    (trial,) = trials_of(header, catalog, learners="either", representation="tf")
    assert trial.representation == "tf"
    assert trial.representing.blueprint is not None


def test_a_representation_can_be_tuned_with_parameters(texts_header):
    tune = {"representation": ["words", "chars"], "params": {"pa": {"C": [1, 2]}}}
    catalog = catalog_of(metrics=(Entry(MetricSpec(name="r1", compute="a:b"), OWN),))
    (trial,) = trials_of(texts_header, catalog, tune=tune)
    tried = [(one["representation"], one["C"]) for one in trial.tuning_plan.candidates]
    assert sorted(tried) == [("chars", 1), ("chars", 2), ("words", 1), ("words", 2)]
    assert set(trial.tuning_plan.representations) == {"words", "chars"}
    (other,) = trials_of(texts_header, catalog, tune=tune | {"representation": ["words"]})
    assert trial.key != other.key
