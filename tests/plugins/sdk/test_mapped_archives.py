"""Archives with memory-mapped arrays: the same arrays are restored, and numpy can read them too."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from internals import ALIGNED_BYTES, map_arrays, write_arrays
from messages import naming

plain = arrays_of.arrays(
    st.sampled_from([np.uint8, np.int32, np.float64, np.dtype("<U3")]), arrays_of.array_shapes(min_dims=0, min_side=0)
)


def written(path, arrays):
    with open(path, "wb") as file:
        write_arrays(file, arrays)
    return path


def mapped(path):
    with open(path, "rb") as file:
        return map_arrays(file)


@given(arrays=st.dictionaries(st.from_regex(r"[a-zé_.]{1,9}", fullmatch=True), plain, max_size=4))
def test_arrays_are_restored_by_mapping_or_by_numpy(tmp_path_factory, arrays):
    path = written(tmp_path_factory.mktemp("zip") / "a.npz", arrays)
    found = mapped(path)
    assert list(found) == list(arrays)
    with np.load(path, allow_pickle=False) as read:
        for name, array in arrays.items():
            for other in (found[name], read[name]):
                assert (other.dtype, other.shape) == (array.dtype, array.shape)
                np.testing.assert_array_equal(other, array)


def test_arrays_are_aligned_for_compiled_code_and_not_read_ahead(tmp_path):
    arrays = {"one": np.arange(3, dtype=np.uint8), "twoo": np.arange(5.0), "by_column": np.asfortranarray(np.eye(3))}
    found = mapped(written(tmp_path / "a.npz", arrays))
    for array in found.values():
        assert array.ctypes.data % ALIGNED_BYTES == 0
        assert not array.flags.owndata
        assert type(array) is np.ndarray
    assert found["by_column"].flags.f_contiguous


def test_writing_to_a_mapped_array_does_not_change_the_file(tmp_path):
    path = written(tmp_path / "a.npz", {"x": np.arange(4)})
    mapped(path)["x"][:] = 7
    assert mapped(path)["x"].tolist() == [0, 1, 2, 3]


def test_numpy_archives_that_cannot_be_mapped_are_read(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(4.0), y=np.arange(3))
    found = mapped(tmp_path / "a.npz")
    assert found["x"].tolist() == [0, 1, 2, 3]
    assert all(array.flags.aligned for array in found.values())


def test_object_arrays_and_compressed_members_are_rejected(tmp_path):
    np.savez(tmp_path / "objects.npz", x=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match=r"x\.npy has objects"):
        mapped(tmp_path / "objects.npz")
    np.savez_compressed(tmp_path / "packed.npz", x=np.zeros(99))
    with pytest.raises(ValueError, match=r"x\.npy is compressed"):
        mapped(tmp_path / "packed.npz")
    with pytest.raises(ValueError, match=naming("Object")):
        write_arrays(io.BytesIO(), {"x": np.array([{}], dtype=object)})


def test_a_truncated_archive_is_rejected(tmp_path):
    path = written(tmp_path / "a.npz", {"x": np.arange(9999)})
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(Exception, match="zip"):
        mapped(path)
