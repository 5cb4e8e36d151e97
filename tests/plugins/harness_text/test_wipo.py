"""WIPO-alpha: XML records, main groups in the IPC tree, choice of sections and fields, and rejected input."""

import pytest

from harness.errors import DataError
from harness_text import wipo
from messages import assert_names, naming
from word_counts import counts_of

RECORD = """<?xml version="1.0" encoding="iso-8859-1"?>
<!DOCTYPE record SYSTEM "../../ipctraining.dtd">
<record cy="WO" an="US0006635" pn="WO005555020000914" dnum="0055550" kind="A1">
<ipcs ed="7" mc="{code}"><ipc ic="B65H01028"></ipc></ipcs>
<tis><ti xml:lang="EN">{title}</ti></tis>
<abs><ab xml:lang="EN">An abstract of pulp.</ab></abs>
<cls><cl xml:lang="EN">1. A {claim} &eacute; of <b>fibres</b>.</cl></cls>
<txts><txt xml:lang="EN">Described at length.</txt></txts>
</record>
"""


def record(code, title="Paper machine", claim="press"):
    return RECORD.format(code=code, title=title, claim=claim).encode("latin-1")


FILES = {
    "wipo-alpha/train/D/21/B/1.xml": record("D21B00106"),
    "wipo-alpha/train/D/21/B/2.xml": record("D21B00112", title="Pulp"),
    "wipo-alpha/train/A/3.xml": record("A01B 33/02", title="Plough"),
    "wipo-alpha/test/D/4.xml": record("D01F00900"),
    "wipo-alpha/readme.html": b"about",
}


def load(lay, files=FILES, **more):
    return wipo.load_wipo_alpha(source=str(lay(files)), **more)


def test_the_class_is_the_main_group_below_subclass_class_and_section(lay):
    data = load(lay)
    assert data.class_names == ("A01B 33", "D01F 9", "D21B 1")
    assert data.y.tolist() == [0, 2, 2, 1]  # training part by file, then the test part
    assert data.taxonomy.depth == 4
    assert data.taxonomy.node_names[:6] == ("IPC", "A", "D", "A01", "D01", "D21")
    assert [part.tolist() for part in data.splits["train-test"]] == [[0, 1, 2], [3]]
    assert_names(data.found, "4", "75,250", "3", "4,656")


def test_a_section_can_be_loaded_alone(lay):
    data = load(lay, section="D")
    assert data.class_names == ("D01F 9", "D21B 1")
    assert_names(data.found, "3", "1,710", "2", "160")


def test_title_and_claims_are_read_by_default(lay):
    assert counts_of(load(lay, section="A")).sum() == 3  # plough; press, fibres
    assert counts_of(load(lay, section="A", text="title")).sum() == 1
    assert counts_of(load(lay, section="A", text="abstract, description")).sum() == 4


def test_an_archive_gives_the_same_data_as_the_folder(lay, pack):
    packed = wipo.load_wipo_alpha(source=str(pack(FILES)))
    assert (counts_of(packed) != counts_of(load(lay))).nnz == 0


def test_the_published_section_counts_add_up():
    sections = [wipo.PUBLISHED[section] for section in "ABCDEFGH"]
    assert tuple(map(sum, zip(*sections, strict=True))) == wipo.PUBLISHED["all"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (record("D21B00106")[:-20], r"train/x\.xml is not well-formed XML"),
        (record("X21B00106"), "expected <ipcs mc=.*> with a main code such as D21B00106, found 'X21B00106'"),
        (b"<record/>", "with a main code such as D21B00106, found ''"),
    ],
)
def test_damaged_records_raise_an_error_that_names_them(lay, content, reason):
    with pytest.raises(DataError, match=reason):
        load(lay, {"train/x.xml": content})


def test_invalid_parameter_values_are_rejected(lay):
    with pytest.raises(DataError, match=naming("I", "expected")):
        load(lay, section="I")
    with pytest.raises(DataError, match=naming("body")):
        load(lay, text="title,body")
    with pytest.raises(DataError, match=naming("section H")):
        load(lay, section="H")
