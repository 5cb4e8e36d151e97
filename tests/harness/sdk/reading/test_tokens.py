"""Term counts: the tokens, the order of the columns, the form of the matrix."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import CountVectorizer

from harness.sdk.reading import tokens
from harness.sdk.reading.tokens import WORDS, count_terms, english_stop_words


def test_tokens_are_lower_cased_runs_of_letters_and_digits():
    counts, vocabulary = count_terms(["Type-2 diabetes, type 1", "Diabetes (E11.9)"])
    assert vocabulary == ("1", "2", "9", "diabetes", "e11", "type")
    assert counts.toarray().tolist() == [[1, 1, 0, 1, 0, 2], [0, 0, 1, 1, 1, 0]]


def test_a_text_without_a_token_is_an_empty_row():
    counts, vocabulary = count_terms(["...", "", "a"])
    assert vocabulary == ("a",)
    assert counts.toarray().tolist() == [[0], [0], [1]]


def test_no_texts_and_texts_of_nothing_give_empty_counts():
    assert count_terms([])[0].shape == (0, 0)
    assert count_terms(["", "-"])[0].shape == (2, 0)


def test_counts_are_float32_with_sorted_int32_columns():
    counts, _ = count_terms(["b a b", "c a"])
    assert (counts.dtype, counts.indices.dtype, counts.indptr.dtype) == (np.float32, np.int32, np.int32)
    assert counts.has_canonical_format
    assert counts.indices.tolist() == [0, 1, 0, 2]


def test_stop_words_and_tokens_of_few_texts_get_no_column():
    texts = ["The wheat of 1987", "wheat, a wheat field", "corn field", "b"]
    counts, vocabulary = count_terms(texts, WORDS, stop_words=english_stop_words(), min_df=2)
    assert vocabulary == ("field", "wheat")
    assert counts.toarray().tolist() == [[0, 1], [1, 2], [1, 0], [0, 0]]


@given(st.lists(st.text(alphabet="abAB01 -é", max_size=12), max_size=6))
def test_counts_agree_with_scikit_learn(texts):
    counts, vocabulary = count_terms([*texts, "anchor"])  # scikit-learn refuses an empty vocabulary
    reference = CountVectorizer(token_pattern="[a-z0-9]+")
    assert counts.toarray().tolist() == reference.fit_transform([*texts, "anchor"]).toarray().tolist()
    assert list(vocabulary) == reference.get_feature_names_out().tolist()


def test_texts_counted_in_blocks_are_counted_alike(monkeypatch):
    texts = [" ".join(f"w{(i * j) % 17}" for j in range(i % 9)) for i in range(60)]
    whole, words = count_terms(texts)
    monkeypatch.setattr(tokens, "BLOCK_TOKENS", 7)
    blocks, same = count_terms(iter(texts))
    assert words == same
    assert blocks.shape == whole.shape
    assert (blocks != whole).nnz == 0
    assert blocks.has_canonical_format
    assert (np.diff(blocks.indices)[np.diff(np.repeat(np.arange(60), np.diff(blocks.indptr))) == 0] > 0).all()
