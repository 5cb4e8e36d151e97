"""RCV1: vectors, topics and taxonomy in the format of its appendices, lowest topics, and rejected input."""

import gzip

import pytest

from harness.errors import DataError
from harness_text import rcv1
from messages import naming

TREE = (
    b"parent: None  child: Root  child-description: Root\n"
    b"parent: Root  child: CCAT  child-description: CORPORATE/INDUSTRIAL\n"
    b"parent: CCAT  child: C15   child-description: PERFORMANCE\n"
    b"parent: C15   child: C151  child-description: ACCOUNTS/EARNINGS\n"
    b"parent: Root  child: GCAT  child-description: GOVERNMENT/SOCIAL\n"
)
FILES = {
    "lyrl2004_vectors_train.dat.gz": gzip.compress(b"2286  1:0.5 47236:0.5\n2287  3:1\n"),
    "rcv1-v2.topics.qrels.gz": gzip.compress(
        b"CCAT 2286 1\nC15 2286 1\nC151 2286 1\nGCAT 2286 1\nGCAT 2287 1\nCCAT 26151 1\nGCAT 26152 1\n"
        b"CCAT 26153 1\nC15 26154 1\n"
    ),
    "rcv1.topics.hier.orig": TREE,
}
TESTS = {f"lyrl2004_vectors_test_pt{i}.dat": b"2615%d  2:1\n" % (i + 1) for i in range(4)}


def load(lay, files=FILES, folder="laid", **more):
    return rcv1.load_rcv1(source=str(lay(files, folder)), **more)


def test_the_training_part_has_vectors_topics_and_taxonomy(lay):
    data = load(lay, FILES | TESTS)
    assert data.X.shape == (2, 47_236)
    assert data.X[[0]].indices.tolist() == [0, 47_235]
    assert data.class_names == ("C15", "C151", "CCAT", "GCAT")
    assert data.y.toarray().tolist() == [[1, 1, 1, 1], [0, 0, 0, 1]]
    assert data.taxonomy.node_names == ("Root", "CCAT", "GCAT", "C15", "C151")
    assert data.taxonomy.class_node.tolist() == [3, 4, 1, 2]  # topics are inner nodes, too
    assert not data.splits
    assert data.found == "2 (described as 23,149) stories, 4 topics, 2.5 a story"


def test_lowest_topics_are_those_without_a_descendant_among_the_labels(lay):
    data = load(lay, labels="lowest")
    assert data.class_names == ("C151", "GCAT")
    assert data.y.toarray().tolist() == [[1, 1], [0, 1]]


def test_all_adds_the_test_part_and_the_split(lay):
    data = load(lay, FILES | TESTS, part="all")
    assert [part.tolist() for part in data.splits["lyrl2004"]] == [[0, 1], [2, 3, 4, 5]]
    with pytest.raises(DataError, match=naming("lyrl2004_vectors_test_pt0.dat")):
        load(lay, folder="lacking", part="all")


def test_scikit_learns_file_name_is_recognised(lay):
    files = {name.replace("rcv1-v2", "rcv1v2"): content for name, content in FILES.items()}
    assert load(lay, files).y.shape == (2, 4)


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"rcv1.topics.hier.orig": TREE + b"C151 below C15\n"}, "orig, line 6: expected 'parent: .. child: .."),
        ({"rcv1.topics.hier.orig": TREE.replace(b"parent: Root  child: GCAT", b"parent: Rood  child: GCAT")}, "'Rood'"),
        ({"rcv1-v2.topics.qrels.gz": b"CCAT 2286 1\nCCAT 2287\n"}, "qrels, line 2: expected 'topic story 1'"),
        ({"rcv1-v2.topics.qrels.gz": b"CCAT 2286 1\n"}, "the story '2287' has a vector but no line"),
        ({"lyrl2004_vectors_train.dat.gz": b"2286 1:0.5\n2287 x:1\n"}, "train.dat, line 2: expected id:value"),
    ],
)
def test_damaged_files_raise_an_error_with_file_and_line(lay, changed, reason):
    with pytest.raises(DataError, match=reason):
        load(lay, FILES | changed)


def test_unusable_files_raise_an_error(lay):
    with pytest.raises(DataError, match=naming("test")):
        load(lay, part="test")
    with pytest.raises(DataError, match=naming("some")):
        load(lay, labels="some")
    with pytest.raises(DataError, match=naming("rcv1.topics.hier.orig")):
        load(lay, {name: content for name, content in FILES.items() if "hier" not in name}, "treeless")
