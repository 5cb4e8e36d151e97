"""The scaling experiment: every available learner on growing data, with a small version."""

import pytest

from internals import discover, list_papers, read_paper, resolve
from internals import members_of_group as members_of


@pytest.fixture(scope="module")
def catalog():
    return discover()


def test_all_available_learners_run_on_four_sizes(catalog):
    experiment = read_paper("scaling", catalog).experiment
    resolved = resolve(experiment, catalog)
    names = {table.name for table in experiment.learners}
    assert names == {*members_of("all", catalog), "shortlist"}
    classes = [dataset.ref.params["classes"] for dataset in resolved.datasets]
    assert classes == [100, 1000, 10_000, 100_000]
    assert experiment.give_up
    assert experiment.timeout


def test_the_small_version_omits_the_large_sizes(catalog):
    quick = read_paper("scaling", catalog, quick=True)
    assert [dataset.ref.params["classes"] for dataset in resolve(quick.experiment, catalog).datasets] == [100, 1000]
    assert "10,000 classes" in quick.left_out


def test_the_experiment_is_listed_with_its_duration(catalog):
    (listed,) = [paper for paper in list_papers(catalog) if paper.name == "scaling"]
    assert listed.minutes
    assert listed.has_quick
    assert listed.datasets == ("directory",)
