"""Archives whose arrays can be mapped: the same arrays come back, in place, and numpy reads them too."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of

from harness.sdk.zipped import ALIGNED_BYTES, map_arrays, write_arrays

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
def test_arrays_come_back_as_they_were_mapped_or_by_numpy(tmp_path_factory, arrays):
    path = written(tmp_path_factory.mktemp("zip") / "a.npz", arrays)
    found = mapped(path)
    assert list(found) == list(arrays)
    with np.load(path, allow_pickle=False) as read:
        for name, array in arrays.items():
            for other in (found[name], read[name]):
                assert (other.dtype, other.shape) == (array.dtype, array.shape)
                np.testing.assert_array_equal(other, array)


def test_numbers_lie_where_compiled_code_takes_them_and_are_not_read_ahead(tmp_path):
    arrays = {"one": np.arange(3, dtype=np.uint8), "twoo": np.arange(5.0), "by_column": np.asfortranarray(np.eye(3))}
    found = mapped(written(tmp_path / "a.npz", arrays))
    for array in found.values():
        assert array.ctypes.data % ALIGNED_BYTES == 0
        assert not array.flags.owndata
        assert type(array) is np.ndarray
    assert found["by_column"].flags.f_contiguous


def test_what_is_written_to_a_mapped_array_changes_no_file(tmp_path):
    path = written(tmp_path / "a.npz", {"x": np.arange(4)})
    mapped(path)["x"][:] = 7
    assert mapped(path)["x"].tolist() == [0, 1, 2, 3]


def test_an_archive_of_numpys_own_is_read_where_it_cannot_be_mapped(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(4.0), y=np.arange(3))
    found = mapped(tmp_path / "a.npz")
    assert found["x"].tolist() == [0, 1, 2, 3]
    assert all(array.flags.aligned for array in found.values())


def test_objects_and_packed_members_are_refused(tmp_path):
    np.savez(tmp_path / "objects.npz", x=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match=r"x\.npy holds objects"):
        mapped(tmp_path / "objects.npz")
    np.savez_compressed(tmp_path / "packed.npz", x=np.zeros(99))
    with pytest.raises(ValueError, match=r"x\.npy is packed"):
        mapped(tmp_path / "packed.npz")
    with pytest.raises(ValueError, match="Object arrays cannot be saved"):
        write_arrays(io.BytesIO(), {"x": np.array([{}], dtype=object)})


def test_an_archive_that_was_cut_short_is_refused(tmp_path):
    path = written(tmp_path / "a.npz", {"x": np.arange(9999)})
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(Exception, match="zip"):
        mapped(path)
