"""Words in Latin letters as the papers' datasets count them: tokens, empty texts, stop words, blocks."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from harness_representations import terms
from harness_representations.words import Words


def count(texts, **how):
    """Return a dictionary from word to its counts in each text."""
    words = Words(weighting="raw", **{"tokens": "alphanumeric"} | how)
    counts = words.fit_transform(list(texts))
    names = words.get_feature_names_out()
    return {str(name): counts[:, [place]].toarray().ravel().tolist() for place, name in enumerate(names)}


def test_tokens_are_lower_case_runs_of_letters_and_digits():
    assert count(["Type-2 diabetes, type 1", "Diabetes (E11.9)"]) == {
        "1": [1, 0],
        "2": [1, 0],
        "9": [0, 1],
        "diabetes": [1, 1],
        "e11": [0, 1],
        "type": [2, 0],
    }


def test_a_text_without_tokens_gives_an_empty_row():
    assert count(["...", "", "a"]) == {"a": [0, 0, 1]}


def test_no_texts_give_empty_counts():
    assert Words(weighting="raw").fit_transform(["", "-"]).shape == (2, 0)


def test_counts_are_float32_in_canonical_form():
    counts = Words(weighting="raw").fit_transform(["b a b", "c a"])
    assert (counts.dtype, counts.indices.dtype, counts.indptr.dtype) == (np.float32, np.int32, np.int32)
    assert counts.has_canonical_format


def test_stop_words_and_rare_tokens_get_no_column():
    texts = ["The wheat of 1987", "wheat, a wheat field", "corn field", "b"]
    counted = count(texts, tokens="letters", stop_words="english", min_df=2)
    assert counted == {"field": [0, 1, 1, 0], "wheat": [1, 2, 0, 0]}


@given(st.lists(st.text(alphabet="abAB01 -é", max_size=12), max_size=6))
def test_counts_equal_scikit_learns(texts):
    rows = [*texts, "anchor"]  # scikit-learn refuses an empty vocabulary
    reference = CountVectorizer(token_pattern="[a-z0-9]+")
    expected = reference.fit_transform(rows).toarray()
    names = reference.get_feature_names_out().tolist()
    assert count(rows) == {name: expected[:, place].tolist() for place, name in enumerate(names)}


def test_block_size_does_not_change_counts(monkeypatch):
    texts = [" ".join(f"w{(i * j) % 17}" for j in range(i % 9)) for i in range(60)]
    full = count(texts)
    monkeypatch.setattr(terms, "BLOCK_TEXTS", 7)
    assert count(texts) == full
