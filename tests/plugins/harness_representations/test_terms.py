"""Words and runs of characters: scikit-learn's counts are the oracle, in many scripts and for any text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, CountVectorizer

from harness.sdk import Texts
from harness_representations import terms
from harness_representations.chars import Chars
from harness_representations.hashed import Hashed
from harness_representations.words import Words

SCRIPTS = [
    "Registered nurse, RN (night shift)",
    "Straße  ΣΊΣΥΦΟΣ ὈΔΥΣΣΕΎΣ",
    "日本語の テキスト",
    "हिन्दी पाठ",
    "عربى نص",
    "İstanbul\u3000x\ty\nz",
    "👩\u200d🚀 go go",
    "a b c",
    "",
    " \n ",
]
texts = st.lists(st.one_of(st.text(), st.text(alphabet="ab \u00e9\u0301Σ\u3000")), min_size=1, max_size=8)


def by_name(matrix, names):
    return {name: matrix[:, [place]].toarray().ravel().tolist() for place, name in enumerate(names)}


def assert_counts_agree(ours, theirs, rows):
    counts = by_name(ours.fit_transform(rows), ours.get_feature_names_out())
    assert counts == by_name(theirs.fit_transform(rows), theirs.get_feature_names_out())


@pytest.mark.parametrize("ngrams", [(1, 1), (2, 5), (3, 3), (1, 9)])
def test_runs_of_characters_are_those_of_char_wb_in_every_script(ngrams):
    theirs = CountVectorizer(analyzer="char_wb", ngram_range=ngrams)
    assert_counts_agree(Chars(ngrams=ngrams, weighting="raw"), theirs, SCRIPTS)


@given(texts)
def test_runs_of_characters_are_those_of_char_wb_in_any_text(rows):
    rows = [*rows, "anchor"]  # scikit-learn refuses an empty vocabulary
    theirs = CountVectorizer(analyzer="char_wb", ngram_range=(2, 4), strip_accents="unicode")
    assert_counts_agree(Chars(ngrams="2:4", weighting="raw", accents="strip"), theirs, rows)


@given(texts)
def test_runs_of_words_are_those_of_scikit_learn_in_any_text(rows):
    rows = [*rows, "an anchor and a sail"]
    theirs = CountVectorizer(ngram_range=(1, 3), token_pattern=r"\w+", stop_words=list(ENGLISH_STOP_WORDS))
    ours = Words(ngrams="1:3", tokens=r"\w+", stop_words="english", weighting="raw")
    assert_counts_agree(ours, theirs, rows)


@pytest.mark.parametrize(("min_df", "most"), [(2, None), (1, 5), (2, 3)])
def test_rare_terms_are_cut_by_training_texts_and_the_most_frequent_stay(min_df, most):
    rows = ["a b c d e", "a b c d", "a b c", "a b b b", "a f"]
    ours = Words(min_df=min_df, max_features=most, weighting="raw").fit(rows)
    frequent = ["b", "a", "c", "d", "e", "f"]  # 6, 5, 3, 2, 1, 1 times
    allowed = frequent[:4] if min_df == 2 else frequent
    assert set(ours.get_feature_names_out()) == set(allowed[:most])


def test_what_training_did_not_meet_has_no_column_and_weighs_nothing():
    words = Words(weighting="tf").fit(["staff nurse", "nurse"])
    found = words.transform(["nurse unheard", "unheard"])
    assert found.toarray()[:, list(words.get_feature_names_out()).index("nurse")].tolist() == [1.0, 0.0]
    assert found.shape == (2, 2)


def test_blocks_change_nothing(monkeypatch):
    rows = SCRIPTS * 50
    whole = Chars().fit_transform(rows)
    monkeypatch.setattr(terms, "BLOCK_TEXTS", 7)
    monkeypatch.setattr(terms, "BLOCK_CODES", 40)
    assert (Chars().fit_transform(Texts.of(rows)) != whole).nnz == 0


def test_no_texts_and_texts_without_terms_have_no_columns():
    assert Words().fit_transform(["", "..."]).shape == (2, 0)
    assert Chars().fit(["a"]).transform([]).shape == (0, 3)  # " a", "a ", and " a " for all longer runs


def test_hashed_terms_count_what_the_vocabulary_counts():
    exact = Chars(weighting="raw").fit_transform(SCRIPTS)
    hashed = Hashed(bits=24, weighting="raw").fit_transform(SCRIPTS)
    assert hashed.shape == (len(SCRIPTS), 2**24)
    np.testing.assert_array_equal(hashed.sum(axis=1), exact.sum(axis=1))
    same = (exact @ exact.T).toarray()
    np.testing.assert_array_equal((hashed @ hashed.T).toarray(), same)  # no two of so few share one of 16 million


def test_hashed_words_are_runs_of_words():
    assert Hashed(of="words", bits=10, ngrams="1:2", weighting="raw").fit_transform(["a b c"]).sum() == 5


@pytest.mark.parametrize(
    ("made", "told"),
    [
        (lambda: Chars(ngrams="5:2"), r"ngrams='5:2': must be a length or a range of lengths from 1 on"),
        (lambda: Chars(ngrams=0), "ngrams=0"),
        (lambda: Chars(weighting="idf"), "weighting='idf': must be one of raw, binary, tf, tfidf, logtfidf"),
        (lambda: Words(min_df=0), "min_df=0: must be an integer of at least 1"),
        (lambda: Words(tokens="("), r"tokens='\(': must be any, alphanumeric, letters or a regular expression"),
        (lambda: Words(stop_words="french"), "stop_words='french': must be None, english or a list of words"),
        (lambda: Hashed(bits=31), "bits=31: must be an integer from 1 to 30"),
        (lambda: Hashed(of="bytes"), "of='bytes': must be one of words, chars"),
    ],
)
def test_a_parameter_that_makes_no_sense_is_named(made, told):
    with pytest.raises(ValueError, match=told):
        made().fit(["some text"])


def test_one_text_in_the_place_of_several_is_refused():
    with pytest.raises(ValueError, match="expected a sequence of texts"):
        Words().fit("some text")
