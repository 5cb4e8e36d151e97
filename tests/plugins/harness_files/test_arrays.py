"""Arrays in .npz files: dense, sparse in parts, or as scipy saves them, with all kinds of labels, without pickle."""

import io
import zipfile

import numpy as np
import pytest
from scipy.sparse import csc_array, csr_array, save_npz

from harness.errors import DataError
from harness_files.arrays import load_arrays as load
from internals import patch_internal
from messages import naming

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
    "named already": {"X": X, "y": Y.astype(str), "class_names": ["7", "5"]},
    "a row of an indicator each": {"X": X, "y": np.array([[0, 1], [1, 0], [0, 1], [1, 0]]), "class_names": ["5", "7"]},
    "two parts": {"X_train": X[:3], "y_train": Y[:3], "X_test": X[3:], "y_test": Y[3:]},
    "a split": {"X": X, "y": Y, "train": np.arange(3), "test": np.array([3])},
}


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_saving_arrays_gives_the_same_data(way):
    np.savez("a.npz", **WAYS[way])
    data = load(path="a.npz")
    assert data.X.toarray().tolist() == X.tolist()
    assert (data.y.tolist(), data.class_names) == ([1, 0, 1, 0], ("5", "7"))
    if way in ("two parts", "a split"):
        assert [list(part) for split in data.splits.values() for part in split] == [[0, 1, 2], [3]]


@pytest.mark.parametrize("ending", ["npy", "npz", "txt"])
def test_a_scipy_matrix_takes_its_labels_from_a_second_file(ending):
    save_npz("x.npz", csr_array(X))
    save = {"npy": lambda f: np.save(f, Y), "npz": lambda f: np.savez(f, y=Y), "txt": lambda f: np.savetxt(f, Y, "%d")}
    save[ending](f"y.{ending}")
    data = load(path="x.npz", labels=f"y.{ending}")
    assert (data.y.tolist(), data.class_names) == ([1, 0, 1, 0], ("5", "7"))


def test_a_single_array_takes_its_labels_from_a_second_file(write):
    np.save("vectors.npy", X)
    data = load(path="vectors.npy", labels=write("labels.txt", "bread\nlamp\nbread\nlamp\n"))
    assert data.X.toarray().tolist() == X.tolist()
    assert (data.y.tolist(), data.class_names) == ([0, 1, 0, 1], ("bread", "lamp"))


def test_a_single_array_without_labels_raises_an_error_that_shows_the_labels_option():
    np.save("vectors.npy", X)
    with pytest.raises(DataError, match=naming("--set", "vectors.labels=", "FILE")):
        load(path="vectors.npy")


def test_a_single_array_with_a_header_larger_than_the_file_is_rejected(write):
    with pytest.raises(DataError, match=naming("a.npy", "4,000,000,000,000")):
        load(path=write("a.npy", npy_header((10**9, 10**3)) + bytes(100)), labels="a.npy")


@pytest.mark.parametrize(
    "y", [np.array([7, np.nan, 5, 7]), np.array(["7", "NA", "5", "7"]), np.array([b"7", b"", b"5", b"7"])]
)
def test_missing_labels_raise_an_error_or_are_dropped(y):
    np.savez("a.npz", X=X, y=y, train=[0, 1, 2], test=[3])
    with pytest.raises(DataError, match=naming("a.npz", "2", "--set", "a.missing=", "drop")):
        load(path="a.npz")
    data = load(path="a.npz", missing="drop")
    assert data.X.toarray().tolist() == X[[0, 2, 3]].tolist()
    assert (data.y.tolist(), data.class_names) == ([1, 0, 1], ("5", "7"))
    assert [part.tolist() for part in data.splits["given"]] == [[0, 1], [2]]
    assert "1 without a label dropped" in data.found


SEVERAL = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 0, 0]])
INDICATORS = {
    "dense": {"X": X, "y": SEVERAL},
    "of truths": {"X": X, "y": SEVERAL.astype(bool)},
    "sparse": {**pieces(csr_array(X), "X_"), **pieces(csr_array(SEVERAL), "y_")},
    "sparse, by column": {"X": X, **pieces(csc_array(SEVERAL), "y_"), "y_format": "csc"},
    "two parts": {"X_train": X[:3], "y_train": SEVERAL[:3], "X_test": X[3:], "y_test": SEVERAL[3:]},
    "two sparse parts": {
        "X_train": X[:3],
        "X_test": X[3:],
        **pieces(csr_array(SEVERAL[:3]), "y_train_"),
        **pieces(csr_array(SEVERAL[3:]), "y_test_"),
    },
}


@pytest.mark.parametrize("way", INDICATORS)
@pytest.mark.parametrize("names", [None, ["0", "1", "2"], ["a", "b", "c"]])
def test_a_label_matrix_gives_several_labels_per_row(way, names):
    np.savez("a.npz", **INDICATORS[way], **({"class_names": names} if names else {}))
    data = load(path="a.npz")
    assert data.class_names == tuple((names or ["0", "1"])[:2])  # the third class has no row
    assert data.y.toarray().tolist() == SEVERAL[:, :2].tolist()
    assert data.X.toarray().tolist() == X.tolist()


def test_a_label_matrix_may_be_in_a_separate_file():
    save_npz("x.npz", csr_array(X))
    save_npz("y.npz", csr_array(SEVERAL))
    assert load(path="x.npz", labels="y.npz").y.toarray().tolist() == SEVERAL[:, :2].tolist()


@pytest.mark.parametrize(
    ("arrays", "trouble"),
    [
        ({"X": X}, "a.npz holds X, and no y: expected X"),
        ({"y": Y}, "a.npz holds y, and no X: expected X"),
        ({"X": X, "y": Y[:2]}, "a.npz: 2 labels for the 4 rows of X"),
        ({"X": X, "y": Y + 0.5}, "y is float64 of shape (4,), expected whole numbers or texts"),
        ({"X": X, "y": Y[:, None]}, "a.npz: y has a single column, expected one dimension or a column for each class"),
        ({"X": X, "y": np.zeros((4, 2))}, "a.npz: y has no label at all"),
        ({"X": X, "y": 3}, "a.npz: 1 labels for the 4 rows of X"),
        ({"X": X, "y": np.zeros((4, 2, 2))}, "y is float64 of shape (4, 2, 2), expected whole numbers or texts"),
        ({"X": X[0], "y": Y}, "X is float32 of shape (3,), expected numbers, rows x features"),
        ({"X": np.array([["a"]]), "y": Y[:1]}, "X is <U1 of shape (1, 1), expected numbers"),
        ({"X": X, "y": Y, "class_names": ["one"]}, "the label 7 has no place in class_names, which has 1"),
        ({**pieces(csr_array(X), "X_"), "X_indptr": np.array([0, 9, 9, 9, 9]), "y": Y}, "do not fit together"),
        ({"X_train": X, "y_train": Y, "X_test": X[:, :2], "y_test": Y}, "X_train has 3 features, X_test 2"),
        ({"X": X, "y": np.array([object()] * 4)}, "cannot be read as .npz"),
    ],
)
def test_arrays_of_mismatched_sizes_raise_an_error_that_names_them(arrays, trouble):
    np.savez("a.npz", **arrays)
    with pytest.raises(DataError) as caught:
        load(path="a.npz")
    assert trouble in str(caught.value)


@pytest.mark.parametrize("content", [b"", b"no archive", b"PK\x03\x04 torn"])
def test_a_file_that_is_no_archive_raises_an_error_that_names_it(write, content):
    with pytest.raises(DataError, match=naming("a.npz")):
        load(path=write("a.npz", content))


def npz_of(**members):
    """Return the bytes of an .npz file with the given raw members."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return target.getvalue()


def npy_header(shape):
    target = io.BytesIO()
    np.lib.format.write_array_header_1_0(target, {"descr": "<f4", "fortran_order": False, "shape": shape})
    return target.getvalue()


def test_a_header_that_declares_a_huge_array_is_rejected_before_allocation(write):
    path = write("a.npz", npz_of(X=npy_header((10**9, 10**3)) + bytes(100)))
    with pytest.raises(DataError, match=naming("X.npy", "4,000,000,000,000")):
        load(path=path)


def test_arrays_that_decompress_to_far_more_than_the_file_are_rejected(write, monkeypatch):
    patch_internal(monkeypatch, "FREE_BYTES", 2**20)
    members = {f"a{i}": npy_header((2**17,)) + bytes(2**19) for i in range(40)}
    with pytest.raises(DataError, match=naming("500")):
        load(path=write("a.npz", npz_of(**members)))


def test_a_csc_shape_with_a_huge_row_count_is_rejected():
    by_column = pieces(csc_array(X), "X_")
    by_column["X_shape"] = np.array([10**12, 3])
    np.savez("a.npz", **by_column, X_format="csc", y=Y)
    with pytest.raises(DataError, match=naming("a.npz")):
        load(path="a.npz")
