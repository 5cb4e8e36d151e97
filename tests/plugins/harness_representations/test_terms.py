"""Word and character n-grams, compared with scikit-learn's counts in many scripts and on random text."""

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
from messages import naming

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
def test_character_ngrams_equal_char_wb_in_every_script(ngrams):
    theirs = CountVectorizer(analyzer="char_wb", ngram_range=ngrams)
    assert_counts_agree(Chars(ngrams=ngrams, weighting="raw"), theirs, SCRIPTS)


@given(texts)
def test_character_ngrams_equal_char_wb_on_random_text(rows):
    rows = [*rows, "anchor"]  # scikit-learn refuses an empty vocabulary
    theirs = CountVectorizer(analyzer="char_wb", ngram_range=(2, 4), strip_accents="unicode")
    assert_counts_agree(Chars(ngrams="2:4", weighting="raw", accents="strip"), theirs, rows)


@given(texts)
def test_word_ngrams_equal_scikit_learns_on_random_text(rows):
    rows = [*rows, "an anchor and a sail"]
    theirs = CountVectorizer(ngram_range=(1, 3), token_pattern=r"\w+", stop_words=list(ENGLISH_STOP_WORDS))
    ours = Words(ngrams="1:3", tokens=r"\w+", stop_words="english", weighting="raw")
    assert_counts_agree(ours, theirs, rows)


@pytest.mark.parametrize(("min_df", "most"), [(2, None), (1, 5), (2, 3)])
def test_rare_terms_are_dropped_by_training_frequency_and_the_most_frequent_are_kept(min_df, most):
    rows = ["a b c d e", "a b c d", "a b c", "a b b b", "a f"]
    ours = Words(min_df=min_df, max_features=most, weighting="raw").fit(rows)
    frequent = ["b", "a", "c", "d", "e", "f"]  # document frequencies 6, 5, 3, 2, 1, 1
    allowed = frequent[:4] if min_df == 2 else frequent
    assert set(ours.get_feature_names_out()) == set(allowed[:most])


def test_terms_absent_from_training_have_no_column():
    words = Words(weighting="tf").fit(["staff nurse", "nurse"])
    found = words.transform(["nurse unheard", "unheard"])
    assert found.toarray()[:, list(words.get_feature_names_out()).index("nurse")].tolist() == [1.0, 0.0]
    assert found.shape == (2, 2)


def test_block_size_does_not_change_counts(monkeypatch):
    rows = SCRIPTS * 50
    full = Chars().fit_transform(rows)
    monkeypatch.setattr(terms, "BLOCK_TEXTS", 7)
    monkeypatch.setattr(terms, "BLOCK_CODES", 40)
    assert (Chars().fit_transform(Texts.of(rows)) != full).nnz == 0


def test_no_texts_or_texts_without_terms_give_no_columns():
    assert Words().fit_transform(["", "..."]).shape == (2, 0)
    assert Chars().fit(["a"]).transform([]).shape == (0, 3)  # " a", "a ", and " a " for all larger n


def test_hashed_terms_have_the_counts_of_the_vocabulary():
    exact = Chars(weighting="raw").fit_transform(SCRIPTS)
    hashed = Hashed(bits=24, weighting="raw").fit_transform(SCRIPTS)
    assert hashed.shape == (len(SCRIPTS), 2**24)
    np.testing.assert_array_equal(hashed.sum(axis=1), exact.sum(axis=1))
    same = (exact @ exact.T).toarray()
    np.testing.assert_array_equal(
        (hashed @ hashed.T).toarray(), same
    )  # so few terms never collide in 16 million buckets


def test_hashed_words_include_word_ngrams():
    assert Hashed(of="words", bits=10, ngrams="1:2", weighting="raw").fit_transform(["a b c"]).sum() == 5


@given(texts)
def test_the_spans_of_terms_have_the_counts_of_the_terms(rows):
    kinds = [
        Words(ngrams="1:2", stop_words=["a"]),
        Words(accents="strip"),
        Words(tokens="(a)b*"),
        Chars(accents="strip"),
    ]
    for kind in [*kinds, Chars(), Hashed(bits=8), Hashed(of="words", bits=8)]:
        counts = kind.set_params(weighting="raw").fit_transform(rows).toarray()
        for row, text in enumerate(rows):
            spans = kind.feature_spans(text)
            assert np.array_equal(np.bincount(spans[:, 0], minlength=counts.shape[1]), counts[row])


@pytest.mark.parametrize("text", SCRIPTS)
def test_the_span_of_a_term_holds_the_term(text):
    for kind in (Words(), Chars(lowercase=False)):
        terms_by_column = kind.fit([text]).get_feature_names_out()
        spans = kind.feature_spans(text).tolist()
        assert len({tuple(span) for span in spans}) >= len(terms_by_column) / 3  # " a", "a " and " a " share a place
        for column, start, end in spans:
            found = text[start:end]
            assert (found.lower() if kind.lowercase else found) == terms_by_column[column].strip()


def test_a_span_covers_letters_that_became_several():
    words = Words(accents="strip").fit(["ﬁne café"])
    assert [("ﬁne café")[start:end] for _, start, end in words.feature_spans("ﬁne café")] == ["ﬁne", "café"]


@pytest.mark.parametrize(
    ("made", "message"),
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
def test_an_invalid_parameter_raises_an_error_that_names_it(made, message):
    with pytest.raises(ValueError, match=message):
        made().fit(["some text"])


def test_a_single_string_in_place_of_a_list_is_rejected():
    with pytest.raises(ValueError, match=naming("texts")):
        Words().fit("some text")
