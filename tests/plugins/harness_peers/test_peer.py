"""The base classes of the wrappers check input as scikit-learn does, before a tool sees it."""

import os
import pickle
import shutil

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.exceptions import NotFittedError

from harness_peers.peer import ModelFolder, RankingPeer, ScoringPeer


class Means:
    """A tool that pickle cannot hold, and that writes its model to a file, or with several parts to a folder."""

    def __init__(self, means):
        self.means = means

    def __reduce__(self):
        raise TypeError("cannot pickle this tool")


class _Nearest:
    tool_attributes = frozenset({"model_"})

    def _convert(self, rows, labels, n_classes):
        return rows, labels.indices, n_classes

    def _train(self, rows):
        X, y, n_classes = rows
        self.model_ = Means(np.stack([X.toarray()[y == c].mean(axis=0) for c in range(n_classes)]))

    def _load_model(self, path):
        self.model_ = Means(np.load(os.path.join(path, "means.npy")))

    def _save_model(self, path):
        os.mkdir(path)
        np.save(os.path.join(path, "means.npy"), self.model_.means)

    def _nearness(self, rows):
        return 2 * (rows @ self.model_.means.T) - (self.model_.means**2).sum(axis=1)


class Scoring(_Nearest, ScoringPeer):
    def _score(self, rows):
        return self._nearness(rows)


class Ranking(_Nearest, RankingPeer):
    def _rank(self, rows, k):
        return np.argsort(-self._nearness(rows), axis=1, kind="stable")[:, :k].astype(np.int32)


class InFolder(Ranking):
    """A tool that writes its model in training only, so the wrapper keeps the files."""

    tool_attributes = frozenset({"model_", "_files"})

    def _train(self, rows):
        super()._train(rows)
        self._files = ModelFolder()
        np.save(os.path.join(self._files.path, "means.npy"), self.model_.means)

    def _load_model(self, path):
        super()._load_model(path)
        self._files = ModelFolder.copy_of(path)

    def _save_model(self, path):
        shutil.copytree(self._files.path, path)


KINDS = [Scoring, Ranking, InFolder]
Y = np.array(["a", "b", "c"] * 20)
X = np.random.default_rng(0).random((60, 5)) + (Y[:, None] == np.array(list("abcab")))


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrapper_learns_and_predicts_from_arrays_and_sparse_rows(kind):
    wrapper = kind().fit(X, Y)
    assert wrapper.n_features_in_ == 5
    assert (wrapper.predict(X) == Y).mean() > 0.9
    assert (kind().fit(csr_array(X), Y).predict(csr_array(X)) == wrapper.predict(X)).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrapper_that_is_not_fitted_says_so(kind):
    with pytest.raises(NotFittedError):
        kind().predict(X)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_features", [4, 9])
def test_rows_with_other_features_than_in_training_are_refused(kind, n_features):
    with pytest.raises(ValueError, match=f"{n_features} features"):
        kind().fit(X, Y).predict(np.zeros((2, n_features)))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_rows_with_values_that_are_no_numbers_are_refused(kind, value):
    bad = X.copy()
    bad[3, 2] = value
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        kind().fit(bad, Y)
    with pytest.raises(ValueError, match=r"NaN|infinity"):
        kind().fit(X, Y).predict(bad)


@pytest.mark.parametrize("kind", KINDS)
def test_empty_and_unequal_training_data_is_refused(kind):
    with pytest.raises(ValueError, match="0 sample"):
        kind().fit(X[:0], Y[:0])
    with pytest.raises(ValueError, match="inconsistent"):
        kind().fit(X, Y[:-1])


@pytest.mark.parametrize("kind", KINDS)
def test_a_wrapper_is_pickled_through_the_files_of_its_tool(kind):
    wrapper = kind().fit(X, Y)
    again = pickle.loads(pickle.dumps(wrapper))
    assert (again.predict(X) == wrapper.predict(X)).all()
    assert not hasattr(pickle.loads(pickle.dumps(kind())), "model_")


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_wrapper_is_a_folder_with_the_files_of_its_tool(kind, tmp_path):
    wrapper = kind().fit(X, Y)
    wrapper.save(tmp_path / "m")
    files = sorted(path.relative_to(tmp_path / "m").as_posix() for path in (tmp_path / "m").rglob("*.np*"))
    assert files == ["model/means.npy", "wrapper.npz"]
    again = kind.load(tmp_path / "m")
    assert (again.predict(X) == wrapper.predict(X)).all()
    assert again.n_features_in_ == 5
    again.save(tmp_path / "n")
    assert (tmp_path / "n" / "model" / "means.npy").read_bytes() == (tmp_path / "m" / files[0]).read_bytes()


def test_a_wrapper_is_not_saved_twice_to_a_folder_or_without_training(tmp_path):
    with pytest.raises(NotFittedError):
        Scoring().save(tmp_path / "m")
    Scoring().fit(X, Y).save(tmp_path / "m")
    with pytest.raises(FileExistsError):
        Scoring().fit(X, Y).save(tmp_path / "m")


def test_the_folder_of_another_wrapper_is_refused(tmp_path):
    Scoring().fit(X, Y).save(tmp_path / "m")
    with pytest.raises(ValueError, match="Scoring"):
        Ranking.load(tmp_path / "m")


def test_kept_files_of_a_tool_are_removed_with_the_wrapper():
    wrapper = InFolder().fit(X, Y)
    folder = wrapper._files.path
    assert os.listdir(folder) == ["means.npy"]
    del wrapper
    assert not os.path.exists(folder)


def test_scores_of_two_classes_are_the_lead_of_the_second():
    wrapper = Scoring().fit(X, Y == "b")
    scores = wrapper.decision_function(X)
    assert scores.shape == (60,)
    assert (wrapper.classes_[(scores > 0).astype(int)] == wrapper.predict(X)).all()
    assert Scoring().fit(X, Y).decision_function(X).shape == (60, 3)
