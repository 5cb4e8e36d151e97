"""WordNet's noun glosses: each gloss by the hypernym of its synset, in the tree of hypernyms.

The class of a synset is its first hypernym or, for an instance (a person, a place), the concept of which it is an
instance. Classes with fewer than `min_class_size` glosses are dropped with their glosses. The tree contains the classes
and all nodes above them, so many classes are inner nodes: a tree along first hypernyms, or with `hypernyms="all"` a
lattice, since some synsets have several. Glosses are complete, including
examples; tokens are lower-cased runs of at least two letters without scikit-learn's English stop words.

Read from data.noun (the database of release 3.0), from a folder or archive with this file, or from the Debian package
wordnet-base.
"""

from __future__ import annotations

import re
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from io import BytesIO
from typing import IO, Literal

from harness import Dataset, Taxonomy
from harness.sdk import Texts
from harness.sdk.outcomes import tree_from_parents
from harness.sdk.reading.raw import RawFiles, open_raw, tar_members
from harness_text.classes import beside, counted_words, path_to, positions, tree_of_paths

RAW = RawFiles(
    dataset="wordnet",
    needed="data.noun of WordNet 3.0 (in WNdb-3.0.tar.gz from Princeton University), or Debian's package "
    "wordnet-base_3.0 that carries it",
    wanted=re.compile(r"(?:^|/)(data\.noun|wordnet-base_[^/]+\.deb)$"),
    archive="WNdb-3.0.tar.gz",
)
PUBLISHED = 82_115
"""Noun synsets of release 3.0."""
_HYPERNYMS = ("@", "@i")
_AR_MAGIC = b"!<arch>\n"


@dataclass(frozen=True)
class Synset:
    """The relevant parts of a line of data.noun."""

    number: str
    word: str
    hypernyms: tuple[str, ...]
    """Numbers of the hypernyms; empty at the root."""
    gloss: str

    @property
    def above(self) -> str:
        """Number of the first hypernym; empty at the root."""
        return self.hypernyms[0] if self.hypernyms else ""


def load_wordnet(
    *, source: str | None = None, min_class_size: int = 10, hypernyms: Literal["first", "all"] = "first"
) -> Dataset:
    """Load the glosses.

    Parameters
    ----------
    source : str or None, default=None
        File, folder, archive or Debian package. None uses imported or downloaded files.
    min_class_size : int, default=10
        Minimum number of glosses of a class.
    hypernyms : {"first", "all"}, default="first"
        Parents of a node of the taxonomy: its first hypernym, or all.

    Returns
    -------
    Dataset
        Glosses in the order of the file, classes by name. A name is the synset's first word and number.

    Raises
    ------
    DataError
        If the files are missing, damaged, or not those of the dataset.
    """
    synsets = {synset.number: synset for synset in read_synsets(source)}
    chosen = _in_large_classes(synsets, min_class_size)
    row_classes = [synset.above for synset in chosen]
    names = {number: f"{synset.word}.{number}" for number, synset in synsets.items()}
    classes = sorted(set(row_classes), key=names.__getitem__)
    root, parent = _rooted(synsets.values())
    return Dataset(
        X=None,
        y=positions(row_classes, classes),
        class_names=tuple(map(names.__getitem__, classes)),
        taxonomy=_tree(classes, root, parent, names)
        if hypernyms == "first"
        else _lattice(classes, synsets, names, root),
        found=f"{len(chosen):,} glosses of {beside(len(synsets), PUBLISHED)} synsets, {len(classes):,} classes with "
        f"at least {min_class_size}",
        texts=Texts.of(synset.gloss for synset in chosen),
        counting=counted_words("letters"),
    )


def _tree(classes: list[str], root: str, parent: Mapping[str, str], names: Mapping[str, str]) -> Taxonomy:
    """Return the nodes above the classes along first hypernyms."""
    paths = []
    for number in classes:
        path = path_to(number, parent, root="", dataset="wordnet", file="data.noun")
        paths.append(tuple(map(names.__getitem__, path[1:])))
    return tree_of_paths(names[root], paths)


def _lattice(classes: list[str], synsets: Mapping[str, Synset], names: Mapping[str, str], root: str) -> Taxonomy:
    """Return the nodes above the classes along all hypernyms."""
    above: dict[str, tuple[str, ...]] = {}
    waiting = list(reversed(classes))
    while waiting:
        number = waiting.pop()
        if number not in above and number != root:
            above[number] = tuple(dict.fromkeys(synsets[number].hypernyms))
            waiting += above[number]
    first = {names[number]: names[hypernyms[0]] for number, hypernyms in above.items()}
    more = [(names[number], names[other]) for number, hypernyms in above.items() for other in hypernyms[1:]]
    return tree_from_parents(names[root], first, [names[number] for number in classes], more=more)


def _in_large_classes(synsets: Mapping[str, Synset], least: int) -> list[Synset]:
    """Return the synsets whose first hypernym is that of at least `least` synsets."""
    size = Counter(synset.above for synset in synsets.values() if synset.above)
    missing = sorted({above for synset in synsets.values() for above in synset.hypernyms} - synsets.keys())
    if missing:
        raise RAW.error(f"data.noun has no synset {missing[0]}, which it names as a hypernym")
    return [synset for synset in synsets.values() if synset.above and size[synset.above] >= least]


def _rooted(synsets: Iterable[Synset]) -> tuple[str, dict[str, str]]:
    """Return the only synset without a hypernym, and the parent of each synset; the parent of this one is ""."""
    parent = {synset.number: synset.above for synset in synsets}
    roots = [number for number, above in parent.items() if not above]
    if len(roots) != 1:
        raise RAW.error(f"data.noun has {len(roots)} synsets without a hypernym, expected one")
    return roots[0], parent


# -- files -----------------------------------------------------------------------------------------------------------


def read_synsets(source: str | None) -> list[Synset]:
    """Return the synsets of data.noun from any kind of source."""
    for match, stream in RAW.open_each(source):
        if match[1] == "data.noun":
            return list(_synsets(match.string, stream))
        for name, member in _of_package(match.string, stream):
            if name.endswith("/data.noun"):
                return list(_synsets(f"{match.string}, {name}", member))
        raise RAW.error(f"the package {match.string} holds no data.noun: is it wordnet-base?")
    return []


def _of_package(name: str, stream: IO[bytes]) -> Iterator[tuple[str, IO[bytes]]]:
    """Yield the files that a Debian package installs: members of the tar archive `data.tar.*` in an ar archive."""
    if stream.read(len(_AR_MAGIC)) != _AR_MAGIC:
        raise RAW.error(f"{name} is no Debian package: expected an ar archive")
    for member, content in _ar_members(name, stream):
        if member.startswith("data.tar"):
            with open_raw(BytesIO(content), name=f"{name}, {member}") as unpacked:
                try:
                    yield from tar_members(unpacked, name)
                except tarfile.TarError as error:
                    raise RAW.error(f"{name}, {member} is not a tar archive ({error})") from error


def _ar_members(name: str, stream: IO[bytes]) -> Iterator[tuple[str, bytes]]:
    """Yield the members of an ar archive: after the first line, 60 bytes with a name, the content, a padding byte."""
    while len(header := stream.read(60)) == 60:
        member = header[:16].decode("latin-1").strip(" /")
        size = header[48:58].strip()
        is_header = size.isdigit() and header[58:] == b"`\n"
        content = stream.read(int(size)) if is_header else b""
        if not is_header or len(content) < int(size):
            raise RAW.error(f"{name} is truncated at its member {member!r}", "Download it again.")
        stream.read(int(size) % 2)
        yield member, content


def _synsets(name: str, stream: IO[bytes]) -> Iterator[Synset]:
    """Yield the synset of each line; the indented lines of the licence at the top are skipped."""
    for number, line in enumerate(stream, 1):
        text = line.decode("latin-1")
        if text.strip() and not text.startswith(" "):
            try:
                yield _synset(text)
            except (ValueError, IndexError):
                raise RAW.error(
                    f"{name}, line {number}: expected a noun synset as in wndb(5), found {text[:60].strip()!r}"
                ) from None


def _synset(line: str) -> Synset:
    """Parse "offset file type n_words(hex) [word id]... n_pointers [symbol offset type source/target]... | gloss"."""
    head, bar, gloss = line.partition("|")
    fields = head.split()
    after_words = 4 + 2 * int(fields[3], 16)
    n_pointers = int(fields[after_words])
    pointers = fields[after_words + 1 :]
    if not bar or fields[2] != "n" or not fields[0].isdigit() or len(pointers) != 4 * n_pointers:
        raise ValueError
    hypernyms = []
    for symbol, target in zip(pointers[::4], pointers[1::4], strict=True):
        if symbol in _HYPERNYMS:
            hypernyms.append(target)
    return Synset(number=fields[0], word=fields[4], hypernyms=tuple(hypernyms), gloss=gloss.strip())
