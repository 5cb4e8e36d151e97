"""Registered facts of the text datasets: complete, and no hash without a URL."""

import pytest

from harness_text.plugin import harness_datasets
from internals import import_target

SPECS = {spec.name: spec for spec in harness_datasets()}
COUNTS = {"rows", "features", "classes", "nonzeros", "taxonomy_depth"}


def test_all_text_datasets_of_the_papers_are_registered():
    assert SPECS.keys() == {
        *("icd10cm", "newsgroups", "reuters21578", "rcv1", "industry", "sector", "austen", "lshtc1", "lshtc1-dryrun"),
        *("odp", "wipo-alpha", "wordnet", "clinc150", "eurlex4k"),
    }


@pytest.mark.parametrize("name", SPECS)
def test_licence_citation_and_summary_are_set_and_the_loader_exists(name):
    spec = SPECS[name]
    assert spec.licence
    assert spec.citation
    assert spec.summary
    assert callable(import_target(spec.load))
    assert callable(import_target(spec.stamp))
    assert spec.facts.keys() <= COUNTS


@pytest.mark.parametrize("name", sorted(SPECS.keys() - {"icd10cm"}))
def test_a_dataset_made_from_files_names_them_and_their_source(name):
    spec = SPECS[name]
    assert spec.obtain
    for file in spec.files:
        assert file.urls
        assert all(url.startswith(("http://", "https://")) for url in file.urls)
        assert file.sha256 is None or len(bytes.fromhex(file.sha256)) == 32


def test_hashes_equal_those_in_scikit_learn():
    from sklearn.datasets import _rcv1, _twenty_newsgroups

    known = {
        meta.url: meta.checksum for meta in (*_rcv1.XY_METADATA, _rcv1.TOPICS_METADATA, _twenty_newsgroups.ARCHIVE)
    }
    copies = {file.urls[0]: file.sha256 for name in ("rcv1", "newsgroups") for file in SPECS[name].files if file.sha256}
    assert copies == known
