"""Industry sector: folders of web pages, page text, taxonomy, and the real names where available."""

import gzip
from pathlib import Path

import pytest

from harness.errors import DataError
from harness_text import industry
from messages import assert_names, naming
from word_counts import counts_of

PAGE = (
    b"HTTP/1.0 200 OK\r\nServer: Apache\r\nContent-type: text/html\r\n\r\n"
    b"<html><head><title>Steel &amp; Iron</title><script>var hidden = 1;</script></head>\n"
    b"<!-- remark <b> --><body class='x'>rolled steel<br>sheets</body></html>"
)
PAGES = {
    "sector/energy.sector/coal.industry/http_^^a.com^": PAGE,
    "sector/energy.sector/coal.industry/http_^^b.com^x.html": b"Mines: deep mines\nfor coal\n\nsheets",
    "sector/capital.goods.sector/construction.sector/construction.services.industry/c": b"<p>sheets of concrete",
    "sector/conglomerates.industry/d": b"steel and mines",
    "sector/readme": b"not a page",
}


def test_the_text_of_a_page_is_its_visible_text():
    assert industry.text_of_page(PAGE).split() == ["Steel", "&", "Iron", "rolled", "steel", "sheets"]
    assert industry.text_of_page(b"Mines: deep mines\nfor coal").split() == ["Mines:", "deep", "mines", "for", "coal"]


def test_pages_are_ordered_by_branch_with_sectors_above(pack):
    data = industry.load_industry(source=str(pack(PAGES)), min_df=1)
    assert data.class_names == (
        "capital.goods.sector/construction.sector/construction.services.industry",
        "conglomerates.industry",
        "energy.sector/coal.industry",
    )
    assert data.y.tolist() == [0, 1, 2, 2]
    assert data.taxonomy.depth == 3
    assert data.taxonomy.node_names[1:4] == ("capital.goods.sector", "conglomerates.industry", "energy.sector")
    assert_names(data.found, "4", "3", "branches")


def test_words_of_a_single_page_get_no_column(pack):
    data = industry.load_industry(source=str(pack(PAGES)))
    assert counts_of(data).shape == (4, 3)  # mines, sheets, steel


def test_the_dataset_folder_or_its_parent_may_be_given(lay, pack):
    folder = lay(PAGES)
    packed = industry.load_industry(source=str(pack(PAGES)))
    for source in (folder, folder / "sector", Path(folder).parent):
        plain = industry.load_industry(source=str(source))
        assert plain.class_names == packed.class_names
        assert (counts_of(plain) != counts_of(packed)).nnz == 0


def test_other_folders_are_rejected(lay):
    with pytest.raises(DataError, match=naming("sector.tar.gz")):
        industry.load_industry(source=str(lay({"sector/energy.sector/coal/page": PAGE})))


def test_the_real_names_give_104_branches_below_12_sectors(real, pack):
    with gzip.open(f"{real('industry-sector-hierarchy')}/sector_documents.tsv.gz", "rt") as listing:
        names = [line.rstrip("\n").replace("\t", "/") for line in listing]
    data = industry.load_industry(source=str(pack(dict.fromkeys(names, b"same words here"), "sector.tar", "w")))
    assert_names(data.found, "9,570", "104", "12")
    assert data.taxonomy.depth == 3
