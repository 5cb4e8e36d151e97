"""Dataset checks: a good dataset passes all of them, and each check fails for exactly one kind of bad dataset."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array

from checking import answer_of, cases, failed
from harness import Dataset, DatasetSpec, Taxonomy
from internals import dataset_checks

HERE = __name__
loads = itertools.count()


def load_good():
    return Dataset(
        csr_array(np.eye(4)), np.array([0, 1, 0, 1]), ("a", "b"), Taxonomy(np.array([-1, 0, 0]), np.array([1, 2]))
    )


def load_unsound():
    return replace(load_good(), X=csr_array(np.full((4, 4), np.nan)))


def load_anew():
    return replace(load_good(), X=csr_array(np.eye(4) * next(loads)))


def load_namesakes():
    return replace(load_good(), class_names=("a", "a"))


def load_unused_class():
    return replace(load_good(), class_names=("a", "b", "c"), taxonomy=None)


def load_several():
    return replace(load_good(), y=csr_array(np.array([[1, 0], [0, 1], [1, 1], [1, 0]])))


def stamp_steady():
    return "release 1"


def stamp_moving():
    return f"release {next(loads)}"


def dataset(load="load_good", **fields):
    fields = {"licence": "none", "citation": "none", "stamp": f"{HERE}:stamp_steady"} | fields
    return DatasetSpec(name="mine", load=f"{HERE}:{load}", **fields)


BAD_DATASETS = {
    "loads_valid_data": [dataset("load_unsound")],
    "loads_the_same_twice": [dataset("load_anew")],
    "stamp_is_stable": [dataset(stamp=f"{HERE}:stamp_moving"), dataset(stamp="math:pi")],
    "has_unique_class_names": [dataset("load_namesakes")],
    "has_rows_of_every_class": [dataset("load_unused_class")],
    "states_licence_and_citation": [dataset(licence=""), dataset(citation="")],
}


@pytest.mark.parametrize("spec", [dataset(), dataset(stamp=None), dataset("load_several")])
def test_a_good_dataset_passes_every_check(spec):
    assert failed(dataset_checks(spec)) == set()


@pytest.mark.parametrize(("check", "spec"), cases(BAD_DATASETS))
def test_a_bad_dataset_fails_exactly_its_check(check, spec):
    assert failed(dataset_checks(spec)) == {check}


def test_every_dataset_check_has_a_bad_dataset():
    assert {check.name for check in dataset_checks(dataset())} == set(BAD_DATASETS)


def test_a_check_run_as_a_job_returns_its_reason():
    assert answer_of("dataset", dataset(stamp=None), "stamp_is_stable") == {"skipped": "has no stamp"}
    assert "licence" in answer_of("dataset", dataset(licence=""), "states_licence_and_citation")["failed"]
