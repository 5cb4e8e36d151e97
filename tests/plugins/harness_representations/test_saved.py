"""Fitted representations, chains and unions are restored from a folder; damage raises an error."""

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import FeatureUnion, Pipeline

from harness.sdk.saving import write_model
from harness_representations.chars import Chars
from harness_representations.hashed import Hashed
from harness_representations.vectors import Frequent, Reduced, Scaled, Standard
from harness_representations.weights import TfIdf
from harness_representations.words import Words
from internals import load_representation, read_model, save_representation
from messages import naming

ROWS = ["staff nurse", "head nurse, night", "тракторист", "tractor driver", "night driver"]
NEW = ["night nurse", "new тракторист", ""]


def chain(*steps):
    return Pipeline([(str(number), step) for number, step in enumerate(steps)])


MADE = {
    "words": lambda: Words(ngrams="1:2", stop_words=("head",)),
    "chars": Chars,
    "hashed": lambda: Hashed(bits=12),
    "counted and weighed": lambda: chain(Words(weighting="raw"), TfIdf()),
    "vectors": lambda: chain(Chars(), Frequent(min_df=2), Reduced(d=2), Standard(), Scaled()),
    "side by side": lambda: FeatureUnion([("1", Words()), ("2", chain(Chars(), Reduced(d=2)))]),
}


@pytest.mark.parametrize("what", MADE)
def test_a_saved_representation_is_restored(what, tmp_path):
    fitted = MADE[what]().fit(ROWS)
    save_representation(fitted, tmp_path / "kept")
    back = load_representation(tmp_path / "kept")
    wanted, found = fitted.transform(NEW), back.transform(NEW)
    assert abs(found - wanted).max() == 0
    assert not list((tmp_path / "kept").glob("*.pkl"))


def test_a_damaged_file_raises_an_error(tmp_path):
    save_representation(Words().fit(ROWS), tmp_path)
    (tmp_path / "1.npz").write_bytes(b"PK\x03\x04 cut short")
    with pytest.raises(ValueError, match=naming("1.npz")):
        load_representation(tmp_path)
    (tmp_path / "representation.json").write_text("{}")
    with pytest.raises(ValueError, match=naming("representation")):
        load_representation(tmp_path)


def test_a_foreign_transformer_is_saved_by_its_own_methods_or_rejected(tmp_path):
    fitted = CountVectorizer().fit(ROWS)
    with pytest.raises(ValueError, match=naming("CountVectorizer")):
        save_representation(fitted, tmp_path / "a")
    kept = []
    save_representation(fitted, tmp_path / "b", lambda foreign, path: kept.append((foreign, path.name)))
    assert kept == [(fitted, "1.foreign")]
    assert load_representation(tmp_path / "b", lambda path: path.name) == "1.foreign"


LARGEST = np.iinfo(np.int64).max


@pytest.mark.parametrize(
    "change",
    [
        lambda codes, bounds: (codes, np.where(np.arange(bounds.size) == 2, LARGEST, bounds)),
        lambda codes, bounds: (codes, np.where(np.arange(bounds.size) == 2, -1, bounds)),
        lambda codes, bounds: (codes, np.append(bounds[:-1], LARGEST)),
        lambda codes, bounds: (codes, np.append(1, bounds[1:])),
        lambda codes, bounds: (codes, bounds[:0]),
        lambda codes, bounds: (codes[:-1], bounds),
        lambda codes, bounds: (codes.astype(np.int64), bounds),
        lambda codes, bounds: (codes, bounds.astype(np.int32)),
        lambda codes, bounds: (codes, bounds[:, np.newaxis]),
    ],
)
def test_a_vocabulary_whose_terms_do_not_follow_each_other_is_refused(tmp_path, change):
    file = tmp_path / "words.npz"
    Words().fit(ROWS).save(file)
    header, arrays = read_model(file)
    codes, bounds = change(arrays["vocabulary_.codes"], arrays["vocabulary_.bounds"])
    write_model(file, header, {**arrays, "vocabulary_.codes": codes, "vocabulary_.bounds": bounds})
    with pytest.raises(ValueError, match=naming("words.npz", "vocabulary")):
        Words.load(file)
