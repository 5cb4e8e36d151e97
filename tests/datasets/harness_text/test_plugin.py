"""What is registered of the text data sets: nothing left unsaid, and no hash without a URL."""

import pytest

from harness.signature import import_target
from harness_text.plugin import harness_datasets

SPECS = {spec.name: spec for spec in harness_datasets()}
COUNTS = {"rows", "features", "classes", "nonzeros", "taxonomy_depth"}


def test_all_text_data_sets_of_the_papers_are_there():
    assert SPECS.keys() == {
        *("icd10cm", "newsgroups", "reuters21578", "rcv1", "industry", "sector", "austen", "lshtc1", "lshtc1-dryrun"),
        *("odp", "wipo-alpha", "wordnet", "clinc150", "eurlex4k"),
    }


@pytest.mark.parametrize("name", SPECS)
def test_licence_citation_and_summary_are_stated_and_the_loader_is_there(name):
    spec = SPECS[name]
    assert spec.licence
    assert spec.citation
    assert spec.summary
    assert callable(import_target(spec.load))
    assert callable(import_target(spec.stamp))
    assert spec.facts.keys() <= COUNTS


@pytest.mark.parametrize("name", sorted(SPECS.keys() - {"icd10cm"}))
def test_a_set_made_from_files_says_what_to_obtain_and_where_it_can_be_had(name):
    spec = SPECS[name]
    assert spec.obtain
    for file in spec.files:
        assert file.urls
        assert all(url.startswith(("http://", "https://")) for url in file.urls)
        assert file.sha256 is None or len(bytes.fromhex(file.sha256)) == 32


def test_scikit_learn_vouches_for_the_hashes_of_its_copies():
    from sklearn.datasets import _rcv1, _twenty_newsgroups

    known = {
        meta.url: meta.checksum for meta in (*_rcv1.XY_METADATA, _rcv1.TOPICS_METADATA, _twenty_newsgroups.ARCHIVE)
    }
    copies = {file.urls[0]: file.sha256 for name in ("rcv1", "newsgroups") for file in SPECS[name].files if file.sha256}
    assert copies == known
