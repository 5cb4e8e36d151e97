"""ICD-10-CM: diagnosis terms, their three-character categories, and the tree of chapters and sections above them.

The terms come from the tabular list in the distribution `simple-icd-10-cm`. The module of that package is not imported,
because it builds an object for every code, which takes seconds. Other releases contain other terms, so the parsed data
is checked against the fingerprint of one release: numbers do not depend on the day of installation.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from harness import Dataset, Taxonomy
from harness.errors import DataError, MissingData
from harness_text.classes import counted_words

DISTRIBUTION = "simple-icd-10-cm"
PACKAGE = "simple_icd_10_cm"
CULPRIT = "dataset 'icd10cm'"
"""Name of the dataset in errors."""
RELEASE = "1.5.0"
"""The release of the distribution on which all published numbers are measured."""
FINGERPRINT = "0ccb50bfd4596b38"
"""`fingerprint_of` the tabular list of that release."""


def load_icd10cm() -> Dataset:
    """Load every term of the tabular list as a row.

    Returns
    -------
    Dataset
        The terms in the order of the file, with the categories as classes, in the tree of chapters and sections.

    Raises
    ------
    MissingData
        If the distribution is not installed.
    DataError
        If another release is installed, or the file has an unknown format.
    """
    path = locate()
    listed = read_tabular_list(path)
    if fingerprint_of(listed) != FINGERPRINT:
        raise _other_data(path, listed)
    return Dataset(
        X=None,
        y=np.array(listed.term_class, dtype=np.intp),
        class_names=tuple(listed.codes),
        taxonomy=Taxonomy(
            parent=np.array(listed.parent, dtype=np.int64),
            class_node=np.array(listed.class_node, dtype=np.int64),
            node_names=tuple(listed.node_names),
        ),
        found=f"{listed.summary}; {DISTRIBUTION} {_version()}, {path.name}",
        texts=listed.terms,
        counting=counted_words("alphanumeric", english=False),
    )


def stamp_icd10cm() -> str:
    """Return release, name and size of the file, which identify it without reading it."""
    path = locate()
    return f"{DISTRIBUTION} {_version()} {path.name} {path.stat().st_size}"


def locate() -> Path:
    """Return the tabular list in the installed package; its name changes with the releases."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise _not_installed()
    folder = Path(spec.submodule_search_locations[0]) / "data"
    files = sorted(folder.glob("*.xml"))
    if len(files) != 1:
        names = ", ".join(file.name for file in files) or "none"
        raise _unknown_shape(folder, f"expected one XML file, found {names}")
    return files[0]


def _version() -> str:
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        raise _not_installed() from None


# -- the file --------------------------------------------------------------------------------------------------------


@dataclass
class TabularList:
    """Content of the file: terms, categories, and the tree, in which parents precede their children."""

    terms: list[str] = field(default_factory=list)
    term_class: list[int] = field(default_factory=list)
    codes: list[str] = field(default_factory=list)
    class_node: list[int] = field(default_factory=list)
    parent: list[int] = field(default_factory=list)
    node_names: list[str] = field(default_factory=list)
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


def read_tabular_list(path: Path) -> TabularList:
    """Read a tabular list. Sections without a category, which only span other sections, are not in the tree."""
    listed = TabularList()
    root = listed.add_node("ICD-10-CM", parent=-1)
    try:
        for chapter in ElementTree.parse(path).getroot().findall("chapter"):
            _read_chapter(chapter, root, listed)
    except (ElementTree.ParseError, _Unexpected) as reason:
        raise _unknown_shape(path, str(reason)) from None
    if not listed.codes:
        raise _unknown_shape(path, "found no chapter/section/diag element")
    if len(set(listed.codes)) < len(listed.codes):
        raise _unknown_shape(path, "found a category twice")
    return listed


def fingerprint_of(listed: TabularList) -> str:
    """Return a digest of all rows, classes and nodes of a tabular list."""
    digest = hashlib.sha256()
    for part in (listed.terms, listed.term_class, listed.codes, listed.class_node, listed.parent, listed.node_names):
        digest.update(json.dumps(part).encode())
    return digest.hexdigest()[:16]


def _read_chapter(chapter: ElementTree.Element, root: int, listed: TabularList) -> None:
    chapter_node = listed.add_node(_text(chapter, "desc"), root)
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
    for diagnosis in category.iter("diag"):
        listed.terms += _terms(diagnosis)
    n_new = len(listed.terms) - len(listed.term_class)
    listed.term_class += [len(listed.codes)] * n_new
    listed.codes.append(code)
    listed.class_node.append(listed.add_node(f"{code} {_text(category, 'desc')}", section_node))


def _terms(diagnosis: ElementTree.Element) -> Iterator[str]:
    """Yield the terms of a diagnosis: its description, then its inclusion terms."""
    yield _text(diagnosis, "desc")
    for note in diagnosis.iterfind("inclusionTerm/note"):
        yield _text(note, ".")


class _Unexpected(Exception):
    """Something in the file that this reader does not know."""


def _text(element: ElementTree.Element, tag: str) -> str:
    found = (element.findtext(tag) or "").strip()
    if not found:
        inside = "" if tag == "." else f" <{tag}>"
        raise _Unexpected(f"expected text in <{element.tag}>{inside}, found none")
    return found


# -- errors -----------------------------------------------------------------------------------------------------------


def _not_installed() -> MissingData:
    command = f"pip install {DISTRIBUTION}=={RELEASE}"
    return MissingData(
        f"the distribution {DISTRIBUTION}, which carries the data, is not installed in this environment",
        culprit=CULPRIT,
        next_step=f"`{command}` installs it.",
        command=command,
    )


def _other_data(path: Path, listed: TabularList) -> DataError:
    return DataError(
        f"{path.name} of the installed {DISTRIBUTION} {_version()} contains other data ({listed.summary}); "
        f"expected the data of release {RELEASE}",
        culprit=CULPRIT,
        next_step=f"Run `pip install --force-reinstall {DISTRIBUTION}=={RELEASE}`.",
    )


def _unknown_shape(path: Path, reason: str) -> DataError:
    return DataError(
        f"{path} is not in a shape this reader knows: {reason}",
        culprit=CULPRIT,
        next_step=f"Run `pip install --force-reinstall {DISTRIBUTION}=={RELEASE}`.",
    )
