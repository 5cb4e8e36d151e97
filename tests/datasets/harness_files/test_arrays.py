"""Arrays in .npz: dense, sparse in pieces, as scipy saves them, with labels of every kind; nothing is unpickled."""

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array, save_npz

from harness.errors import DataError
from harness_files.arrays import load

X = np.array([[0, 2, 0], [1, 0, 0], [0, 0, 3], [4, 0, 0]], np.float32)
Y = np.array([7, 5, 7, 5])


def pieces(matrix, prefix=""):
    return {f"{prefix}{name}": np.array(getattr(matrix, name)) for name in ("data", "indices", "indptr", "shape")}


WAYS = {
    "dense": {"X": X, "y": Y},
    "integers": {"X": X.astype(np.int64), "y": Y.astype(np.uint8)},
    "pieces": {**pieces(csr_array(X), "X_"), "y": Y},
    "bare pieces": {**pieces(csr_array(X)), "y": Y},
    "by column": {**pieces(csc_array(X), "X_"), "X_format": "csc", "y": Y.astype(float)},
    "texts": {"X": X, "y": Y.astype(str)},
    "bytes": {"X": X, "y": Y.astype(bytes)},
    "named": {"X": X, "y": np.array([1, 0, 1, 0]), "class_names": ["5", "7", "unused"]},
    "two parts": {"X_train": X[:3], "y_train": Y[:3], "X_test": X[3:], "y_test": Y[3:]},
    "a split": {"X": X, "y": Y, "train": np.arange(3), "test": np.array([3])},
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_saving_gives_the_same_data(way):
    np.savez("a.npz", **WAYS[way])
    data = load(path="a.npz")
    assert data.X.toarray().tolist() == X.tolist()
    assert (data.y.tolist(), data.class_names) == ([1, 0, 1, 0], ("5", "7"))
    if way in ("two parts", "a split"):
        assert [list(part) for split in data.splits.values() for part in split] == [[0, 1, 2], [3]]


@pytest.mark.parametrize("ending", ["npy", "npz", "txt"])
def test_what_scipy_saves_takes_its_labels_from_a_file_beside(ending):
    save_npz("x.npz", csr_array(X))
    save = {"npy": lambda f: np.save(f, Y), "npz": lambda f: np.savez(f, y=Y), "txt": lambda f: np.savetxt(f, Y, "%d")}
    save[ending](f"y.{ending}")
    data = load(path="x.npz", labels=f"y.{ending}")
    assert (data.y.tolist(), data.class_names) == ([1, 0, 1, 0], ("5", "7"))


def test_a_matrix_of_labels_is_several_labels_a_row():
    several = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 0, 0]])
    for y in ({"y": several}, pieces(csr_array(several), "y_")):
        np.savez("a.npz", X=X, **y)
        data = load(path="a.npz")
        assert data.class_names == ("0", "1")  # the third has no row
        assert data.y.toarray().tolist() == several[:, :2].tolist()


@pytest.mark.parametrize(
    ("arrays", "trouble"),
    [
        ({"X": X}, "a.npz holds X, and no y: expected X"),
        ({"y": Y}, "a.npz holds y, and no X: expected X"),
        ({"X": X, "y": Y[:2]}, "a.npz: 2 labels for the 4 rows of X"),
        ({"X": X, "y": Y + 0.5}, "y is float64 of shape (4,), expected whole numbers or texts"),
        ({"X": X[0], "y": Y}, "X is float32 of shape (3,), expected numbers, rows x features"),
        ({"X": np.array([["a"]]), "y": Y[:1]}, "X is <U1 of shape (1, 1), expected numbers"),
        ({"X": X, "y": Y, "class_names": ["one"]}, "the label 7 has no place in class_names, which has 1"),
        ({**pieces(csr_array(X), "X_"), "X_indptr": np.array([0, 9, 9, 9, 9]), "y": Y}, "do not fit together"),
        ({"X_train": X, "y_train": Y, "X_test": X[:, :2], "y_test": Y}, "X_train has 3 features, X_test 2"),
        ({"X": X, "y": np.array([object()] * 4)}, "cannot be read as .npz"),
    ],
)
def test_arrays_that_do_not_fit_are_named(arrays, trouble):
    np.savez("a.npz", **arrays)
    with pytest.raises(DataError) as caught:
        load(path="a.npz")
    assert trouble in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 torn"])
def test_a_file_that_is_no_archive_is_named(write, content):
    with pytest.raises(DataError, match=r"a.npz cannot be read as .npz"):
        load(path=write("a.npz", content))
