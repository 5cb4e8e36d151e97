"""Austen: words of a text, their context features, and rejected input."""

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.errors import DataError
from harness_representations.vectors import Frequent
from harness_text import austen
from messages import naming

NOVEL = b"It is a truth universally acknowledged. It isn't a truth; 'tis a truth, a truth!"


def load(folder, **more):
    return austen.load_austen(source=str(folder), **more)


def reference(novels, singletons):
    """Return the features of each word, computed directly."""
    rows = []
    for novel in novels:
        for i in range(len(novel)):
            near = {o: novel[i + o] for o in (-3, -2, -1, 1, 2, 3) if 0 <= i + o < len(novel)}
            runs = [(-3, -2), (-2, -1), (-1, 1), (1, 2), (2, 3), (-3, -2, -1), (-2, -1, 1), (-1, 1, 2), (1, 2, 3)]
            full = [run for run in runs if all(o in near for o in run)]
            rows.append(set(near.items()) | {(*run, *(near[o] for o in run)) for run in full})
    everything = [feature for row in rows for feature in row]
    return rows if singletons else [{f for f in row if everything.count(f) > 1} for row in rows]


def same_rows(X, rows):
    """Return whether a matrix and sets of features are equal up to column order."""
    names = sorted({feature for row in rows for feature in row}, key=repr)
    assert X.shape == (len(rows), len(names))
    dense = np.array([[feature in row for feature in names] for row in rows], dtype=float).reshape(X.shape)
    return sorted(map(tuple, X.toarray().T.tolist())) == sorted(map(tuple, dense.T.tolist()))


def test_words_are_lower_cased_letters_with_at_most_one_apostrophe_inside():
    assert austen.words_of(b"It isn't 'tis; o'er't John's-- CHAPTER 12") == [
        *("it", "isn't", "tis", "o'er", "t", "john's", "chapter"),
    ]


def test_typographic_apostrophes_and_old_encodings_are_read():
    assert austen.words_of("\ufeffIsn\N{RIGHT SINGLE QUOTATION MARK}t".encode()) == ["isn't"]
    assert austen.words_of(b"it cost \xa35 then") == ["it", "cost", "then"]


def test_the_header_and_footer_of_project_gutenberg_are_removed():
    text = (
        b"The Project Gutenberg eBook of Emma\n*** START OF THE PROJECT GUTENBERG EBOOK EMMA ***\nEmma Woodhouse\n"
        b"*** END OF THE PROJECT GUTENBERG EBOOK EMMA ***\nlicence"
    )
    assert austen.words_of(text) == ["emma", "woodhouse"]
    older = text.replace(b"OF THE PROJECT", b"OF THIS PROJECT").replace(b"*** START", b"***START")
    assert austen.words_of(older) == ["emma", "woodhouse"]


@pytest.mark.parametrize("singletons", [False, True])
def test_features_are_the_surrounding_words_and_their_conjunctions(lay, singletons):
    other = b"a truth is a truth"
    data = load(lay({"a.txt": NOVEL, "b.txt": other}), singletons=singletons)
    novels = [austen.words_of(NOVEL), austen.words_of(other)]
    assert [data.class_names[label] for label in data.y] == novels[0] + novels[1]
    assert data.counting == ("" if singletons else "frequent(min_df=2)")
    X = data.X if singletons else Frequent(min_df=2).fit_transform(data.X)
    assert same_rows(X, reference(novels, singletons))


@given(st.lists(st.lists(st.integers(0, 3), max_size=9), min_size=1, max_size=4))
def test_context_features_equal_a_direct_computation(novels):
    words = np.array([word for novel in novels for word in novel], dtype=np.int64)
    X = austen.context(words, np.array([len(novel) for novel in novels]))
    assert same_rows(X, reference(novels, singletons=True))
    assert X.has_canonical_format
    assert (X.dtype, X.indices.dtype, X.indptr.dtype) == (np.float32, np.int32, np.int32)


def test_a_word_in_the_middle_has_fifteen_features(lay):
    data = load(lay({"a.txt": NOVEL}), singletons=True)
    assert np.diff(data.X.indptr)[[0, 1, 7, -1]].tolist() == [3 + 3, 4 + 5, 15, 3 + 3]


def test_gzipped_and_plain_texts_give_the_same_rows_in_file_name_order(lay):
    plain = load(lay({"b.txt": NOVEL, "a.txt": b"short and short", "notes.md": b"no novel"}, "plain"))
    packed = load(lay({"b.txt.gz": gzip.compress(NOVEL), "a.txt.gz": gzip.compress(b"short and short")}, "packed"))
    assert (plain.X != packed.X).nnz == 0
    assert plain.class_names == packed.class_names
    assert plain.class_names[plain.y[0]] == "short"
    assert plain.found == packed.found
    assert ", 2 novels, " in plain.found


def test_unusable_files_raise_an_error(lay):
    with pytest.raises(DataError, match=naming("Gutenberg")):
        austen.load_austen()
    with pytest.raises(DataError, match=naming("emma.txt")):
        load(lay({"emma.txt": NOVEL, "emma.txt.gz": gzip.compress(NOVEL)}, "twice"))
    with pytest.raises(DataError, match=naming("emma.txt")):
        load(lay({"old/emma.txt": NOVEL, "new/emma.txt": NOVEL}, "folders"))
    with pytest.raises(DataError, match=naming("files")):
        load(lay({"notes.md": b""}, "none"))
    with pytest.raises(DataError, match=naming("file", "folder")):
        load(lay({"emma.md": NOVEL}, "one") / "emma.md")
    with pytest.raises(DataError, match=naming("EOFError")):
        load(lay({"emma.txt.gz": gzip.compress(NOVEL)[:-9]}, "torn"))
