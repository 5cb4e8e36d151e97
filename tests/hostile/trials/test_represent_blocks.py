"""Large data is represented in blocks with a bit-identical result."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from harness import Dataset
from internals import (
    LARGE_BYTES,
    Blueprint,
    RepresentationPlan,
    RepresentJob,
    Split,
    is_large,
    keep,
    open_represented,
    patch_internal,
    run_represent_job,
)

WEIGHTINGS = {"Raw": "raw", "Binary": "binary", "Tf": "tf", "TfIdf": "tfidf", "LogTfIdf": "logtfidf"}


@pytest.fixture
def data_folder(tmp_path):
    generator = np.random.default_rng(1)
    counts = csr_array(generator.poisson(0.3, (53, 17)), dtype=np.float32)
    labels = np.arange(53) % 5
    keep(Dataset(X=counts, y=labels, class_names=tuple("abcde")), tmp_path / "kept")
    return tmp_path / "kept"


def represent_into(folder, data_folder, blueprint):
    plan = RepresentationPlan(blueprint, takes_text=False)
    job = RepresentJob(str(data_folder), Split("holdout", 0.3), 0, plan, folder)
    sealed = job.sealed()
    with sealed.file as file:
        trouble, _ = run_represent_job(sealed.payload.with_file(file.fileno()), lambda phase: None)
    assert trouble == ""
    return open_represented(folder)


def as_lists(matrix):
    return [matrix.shape, matrix.indptr.tolist(), matrix.indices.tolist(), matrix.data.tolist()]


@pytest.mark.parametrize("kind", WEIGHTINGS)
def test_blocks_give_the_same_result_as_the_whole(kind, data_folder, tmp_path, monkeypatch):
    blueprint = Blueprint(f"harness_representations.weights:{kind}", {})
    full = represent_into(tmp_path / "whole", data_folder, blueprint)
    monkeypatch.setenv("HARNESS_LARGE_BYTES", "1")
    patch_internal(monkeypatch, "represent.BLOCK_ROWS", 7)
    patch_internal(monkeypatch, "represent.keep_represented", None)  # not by way of the whole
    blocks = represent_into(tmp_path / "blocks", data_folder, blueprint)
    assert as_lists(blocks.train) == as_lists(full.train)
    assert as_lists(blocks.test) == as_lists(full.test)
    assert blocks.train.indices.dtype == np.int32
    assert blocks.train.data.dtype == np.float32
    assert blocks.seconds > 0
    for file in (tmp_path / "blocks").glob("*.npy"):
        assert np.array_equal(np.load(file), np.load(tmp_path / "whole" / file.name))


def test_a_representation_without_block_support_gets_all_rows(data_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("HARNESS_LARGE_BYTES", "1")
    found = represent_into(tmp_path / "made", data_folder, Blueprint("sklearn.preprocessing:Normalizer", {}))
    assert found.train.shape == (37, 17)


def test_data_counts_as_large_by_the_bytes_of_values_and_columns(monkeypatch):
    assert is_large(None) is False
    assert is_large(LARGE_BYTES // 8) is False
    assert is_large(LARGE_BYTES // 8 + 1) is True
    monkeypatch.setenv("HARNESS_LARGE_BYTES", "800")
    assert (is_large(100), is_large(101)) == (False, True)
