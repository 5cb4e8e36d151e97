"""WordNet: lines of data.noun, classes and hypernym tree, the Debian package, and rejected input."""

import io
import lzma
import tarfile

import pytest

from harness.errors import DataError
from harness_text import wordnet
from messages import assert_names
from word_counts import counts_of

LICENCE = "  1 This software and database is being provided to you, the LICENSEE, by  \n"
NOUNS = (
    LICENCE
    + "00000001 03 n 01 entity 0 001 ~ 00000002 n 0000 | that which is perceived  \n"
    + '00000002 03 n 02 animal 0 beast 1 002 @ 00000001 n 0000 + 00009999 v 0101 | a living organism; "it moves"  \n'
    + "00000003 05 n 01 dog 0 003 @ 00000002 n 0000 @ 00000001 n 0000 ~ 00000004 n 0000 | a barking animal  \n"
    + "00000004 05 n 01 Rex 0 001 @i 00000003 n 0000 | a dog of kings  \n"
    + "00000005 05 n 01 cat 0 001 @ 00000002 n 0000 | a purring animal  \n"
)


def debian(files, member=b"data.tar.xz"):
    """Return a Debian package: an ar archive of a version, a control archive and a data archive."""
    tar = io.BytesIO()
    with tarfile.open(fileobj=tar, mode="w") as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    package = b"!<arch>\n"
    for name, content in (
        (b"debian-binary", b"2.0\n"),
        (b"control.tar.xz", b"odd"),
        (member, lzma.compress(tar.getvalue())),
    ):
        package += b"%-16s%-12d%-6d%-6d%-8s%-10d`\n" % (name, 0, 0, 0, b"100644", len(content))
        package += content + b"\n" * (len(content) % 2)
    return package


def load(lay, files, folder="laid", **more):
    return wordnet.load_wordnet(source=str(lay(files, folder)), **{"min_class_size": 1, **more})


def test_the_class_of_a_gloss_is_the_first_hypernym_of_its_synset(lay):
    data = load(lay, {"dict/data.noun": NOUNS.encode()})
    assert data.class_names == ("animal.00000002", "dog.00000003", "entity.00000001")
    assert data.y.tolist() == [2, 0, 1, 0]
    assert counts_of(data).sum(axis=1).tolist() == [
        3,
        2,
        2,
        2,
    ]  # living organism moves; barking animal; dog kings; purring animal
    assert_names(data.found, "4", "5", "82,115", "3")


def test_the_taxonomy_follows_first_hypernyms_and_classes_are_inner_nodes(lay):
    tree = load(lay, {"data.noun": NOUNS.encode()}).taxonomy
    assert tree.node_names == ("entity.00000001", "animal.00000002", "dog.00000003")
    assert tree.parent.tolist() == [-1, 0, 1]
    assert tree.class_node.tolist() == [1, 2, 0]


def test_all_hypernyms_make_a_lattice(lay):
    first, every = (load(lay, {"data.noun": NOUNS.encode()}, which, hypernyms=which) for which in ("first", "all"))
    lattice, names = every.taxonomy, every.taxonomy.node_names
    assert [(names[node], names[above]) for node, above in lattice.more_parents.tolist()] == [
        ("dog.00000003", "entity.00000001")
    ]
    assert set(names) == set(first.taxonomy.node_names)
    assert [names[node] for node in lattice.class_node] == list(every.class_names)
    assert [names[lattice.parent[node]] for node in lattice.class_node[:2]] == ["entity.00000001", "animal.00000002"]
    assert lattice.levels()[lattice.class_node].tolist() == [1, 2, 0]
    assert every.y.tolist() == first.y.tolist()


def test_small_classes_are_removed_with_their_glosses(lay):
    data = load(lay, {"data.noun": NOUNS.encode()}, min_class_size=2)
    assert data.class_names == ("animal.00000002",)
    assert counts_of(data).shape[0] == 2


def test_the_debian_package_gives_the_same_data_as_the_file(lay):
    plain = load(lay, {"data.noun": NOUNS.encode()}, "plain")
    files = {"./usr/share/doc/copyright": b"x", "./usr/share/wordnet/data.noun": NOUNS.encode()}
    packed = load(lay, {"wordnet-base_3.0-37_all.deb": debian(files)}, "packed")
    assert (counts_of(plain) != counts_of(packed)).nnz == 0
    assert plain.found == packed.found


@pytest.mark.parametrize(
    ("package", "reason"),
    [
        (b"PK not this", "is no Debian package: expected an ar archive"),
        (debian({"./usr/share/x": b"x"}), "holds no data.noun: is it wordnet-base"),
        (debian({"./data.noun": b"x"}, b"other.tar"), "holds no data.noun"),
        (b"!<arch>\n" + b"%-16s%-32s%-10d`\nno tar" % (b"data.tar", b"", 6), "data.tar is not a tar archive"),
        (debian({"./a/data.noun": b"x"})[:-40], "is truncated at its member 'data.tar.xz'"),
        (debian({"../data.noun": b"x"}), "would leave the folder"),
    ],
)
def test_other_packages_are_rejected(lay, package, reason):
    with pytest.raises(DataError, match=reason):
        load(lay, {"wordnet-base_3.0-37_all.deb": package})


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("001 @i 0000", "002 @i 0000", "data.noun, line 5: expected a noun synset"),
        ("| a dog of", "a dog of", "line 5: expected a noun synset"),
        ("05 n 01 cat", "05 v 01 cat", "line 6: expected a noun synset"),
        ("@ 00000002 n 0000 | a purring", "@ 00000007 n 0000 | a purring", "has no synset 00000007, which it names"),
        ("001 @ 00000002 n 0000 | a purring", "000 | a purring", "2 synsets without a hypernym, expected one"),
    ],
)
def test_damaged_files_raise_an_error_with_the_line(lay, old, new, reason):
    assert old in NOUNS
    with pytest.raises(DataError, match=reason):
        load(lay, {"data.noun": NOUNS.replace(old, new).encode()})
