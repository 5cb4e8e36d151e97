"""ICD-10-CM: diagnosis terms, their three-character categories, and the tree of chapters and sections above them.

The terms come from the tabular list that the distribution `simple-icd-10-cm` carries. That package's own module is not
imported: doing so builds an object for every code and takes seconds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from harness import Dataset, Taxonomy
from harness.errors import DataError
from harness.sdk.reading.tokens import count_terms

DISTRIBUTION = "simple-icd-10-cm"
PACKAGE = "simple_icd_10_cm"
KNOWN = "1.2 to 1.5"
"""The releases of the distribution whose file this reader has met."""


def load() -> Dataset:
    """Every term of the tabular list as a row, in the order of the file; the classes are the categories."""
    path = locate()
    listed = read(path)
    counts, _ = count_terms(listed.terms)
    return Dataset(
        X=counts,
        y=np.array(listed.term_class, dtype=np.intp),
        class_names=tuple(listed.codes),
        taxonomy=Taxonomy(
            parent=np.array(listed.parent, dtype=np.int64),
            class_node=np.array(listed.class_node, dtype=np.int64),
            node_names=tuple(listed.node_names),
        ),
        found=f"{listed.summary}; {DISTRIBUTION} {_version()}, {path.name}",
    )


def stamp() -> str:
    """Names the file without reading it: release, file name, size."""
    path = locate()
    return f"{DISTRIBUTION} {_version()} {path.name} {path.stat().st_size}"


def locate() -> Path:
    """The tabular list in the installed package; its name changes with the releases."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise DataError(_not_installed())
    folder = Path(spec.submodule_search_locations[0]) / "data"
    files = sorted(folder.glob("*.xml"))
    if len(files) != 1:
        names = ", ".join(file.name for file in files) or "none"
        raise DataError(_unknown_shape(folder, f"expected one XML file, found {names}"))
    return files[0]


def _version() -> str:
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        raise DataError(_not_installed()) from None


# -- the file --------------------------------------------------------------------------------------------------------


@dataclass
class TabularList:
    """What the file says, as it is read: terms, categories, and the tree, whose parents come before their children."""

    terms: list[str] = field(default_factory=list)
    term_class: list[int] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    class_node: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=lambda: [-1])
    node_names: list[str] = field(default_factory=lambda: ["ICD-10-CM"])
    n_chapters: int = 0
    n_sections: int = 0
    n_sections_used: int = 0

    def add_node(self, name: str, parent: int) -> int:
        self.parent.append(parent)
        self.node_names.append(name)
        return len(self.parent) - 1

    @property
    def summary(self) -> str:
        return (
            f"{len(self.terms):,} terms, {len(self.codes):,} classes, "
            f"{self.n_sections_used} of {self.n_sections} sections, {self.n_chapters} chapters"
        )


def read(path: Path) -> TabularList:
    """Reads a tabular list. Sections without a category (they only span others) stay out of the tree."""
    listed = TabularList()
    try:
        for chapter in ElementTree.parse(path).getroot().findall("chapter"):
            _read_chapter(chapter, listed)
    except (ElementTree.ParseError, _Unexpected) as reason:
        raise DataError(_unknown_shape(path, str(reason))) from None
    if not listed.codes:
        raise DataError(_unknown_shape(path, "found no chapter/section/diag element"))
    if len(set(listed.codes)) < len(listed.codes):
        raise DataError(_unknown_shape(path, "found a category twice"))
    return listed


def _read_chapter(chapter: ElementTree.Element, listed: TabularList) -> None:
    chapter_node = listed.add_node(_text(chapter, "desc"), parent=0)
    listed.n_chapters += 1
    for section in chapter.findall("section"):
        listed.n_sections += 1
        categories = section.findall("diag")
        if categories:
            listed.n_sections_used += 1
            section_node = listed.add_node(_text(section, "desc"), chapter_node)
            for category in categories:
                _read_category(category, section_node, listed)


def _read_category(category: ElementTree.Element, section_node: int, listed: TabularList) -> None:
    code = _text(category, "name")
    if len(code) != 3:
        raise _Unexpected(f"expected a category of three characters, found {code!r}")
    terms = [term for diagnosis in category.iter("diag") for term in _terms(diagnosis)]
    listed.terms += terms
    listed.term_class += [len(listed.codes)] * len(terms)
    listed.codes.append(code)
    listed.class_node.append(listed.add_node(f"{code} {_text(category, 'desc')}", section_node))


def _terms(diagnosis: ElementTree.Element) -> Iterator[str]:
    """What one diagnosis is called: its description, then the terms it is said to include."""
    yield _text(diagnosis, "desc")
    for note in diagnosis.iterfind("inclusionTerm/note"):
        yield _text(note, ".")


class _Unexpected(Exception):
    """Something in the file that this reader does not know."""


def _text(element: ElementTree.Element, tag: str) -> str:
    found = (element.findtext(tag) or "").strip()
    if not found:
        raise _Unexpected(f"expected text in <{element.tag}>{'' if tag == '.' else f' <{tag}>'}, found none")
    return found


# -- what to say when it is not there --------------------------------------------------------------------------------


def _not_installed() -> str:
    return (
        f"data set 'icd10cm': the distribution {DISTRIBUTION}, which carries the data, is not installed in this "
        f"environment; `pip install {DISTRIBUTION}` brings it"
    )


def _unknown_shape(path: Path, reason: str) -> str:
    return (
        f"data set 'icd10cm': {path} is not in a shape this reader knows: {reason}; "
        f"install a release of {DISTRIBUTION} that it knows ({KNOWN}) or, if the file is damaged, install it again"
    )
