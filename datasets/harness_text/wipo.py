"""WIPO-alpha: English patent applications by main group of the International Patent Classification (IPC).

Reads the collection of the World Intellectual Property Organization: folders "train" and "test" with an XML file per
application (archives of these are read directly):

    <record ...>
      <ipcs ed="7" mc="D21B00106"> <ipc ic="..."/> ... </ipcs>     mc: the main code, subclass, main group, subgroup
      <tis><ti xml:lang="EN">title</ti></tis>
      <abs><ab xml:lang="EN">abstract</ab></abs>
      <cls><cl xml:lang="EN">claims</cl></cls>
      <txts><txt xml:lang="EN">description</txt></txts>
    </record>

The class is the main group of the main code; the tree above it is section, class, subclass. `section` is one letter,
A to H, each a separate problem as in Cai and Hofmann (2004), or "all". `text` names the parts to read, any of title,
abstract, claims, description, separated by commas; that paper indexes title and claims. Tokens are lower-cased runs of
at least two letters without scikit-learn's English stop words; the tokens of the paper are not known in detail.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.entities import entitydefs
from typing import IO
from xml.etree import ElementTree

from harness import Dataset
from harness.sdk import Texts
from harness.sdk.reading.raw import RawFiles
from harness_text.classes import ClassPath, beside, check_choice, counted_words, part_splits, positions, tree_of_paths

RAW = RawFiles(
    dataset="wipo-alpha",
    needed="the WIPO-alpha collection of the World Intellectual Property Organization (on request from its IPC "
    "categorization page): the folders train and test with an XML file an application, or archives of them",
    wanted=re.compile(r"(?:^|/)(train|test)/((?:.*/)?[^/]+\.xml)$", re.IGNORECASE),
    archive="wipo-alpha.zip",
)
SECTIONS = (*"ABCDEFGH", "all")
ELEMENTS = {"title": "ti", "abstract": "ab", "claims": "cl", "description": "txt"}
_BY_SECTION = ((694, 10_962), (1_172, 14_690), (852, 16_245), (160, 1_710), (230, 3_027), (675, 6_685), (470, 10_302))
PUBLISHED = dict(zip(SECTIONS, (*_BY_SECTION, (403, 11_629), (4_656, 75_250)), strict=True))
"""Number of categories and documents of each section in Cai and Hofmann (2004), and their sums."""
_CODE = re.compile(r"([A-H])(\d\d)([A-Z])(?:(\d{3})\d{2,6}|\s*(\d{1,4})\s*/\s*\d+)")


@dataclass(frozen=True, order=True)
class Application:
    """The relevant parts of a patent application. Applications sort like the rows, the training part first."""

    tested: bool
    file: str
    path: ClassPath
    """Section, class, subclass, main group."""
    text: str

    @property
    def part(self) -> str:
        return "test" if self.tested else "train"


def load_wipo_alpha(*, source: str | None = None, section: str = "all", text: str = "title,claims") -> Dataset:
    """Load the applications.

    Parameters
    ----------
    source : str or None, default=None
        Folder or archive with the collection. None uses imported files.
    section : str, default="all"
        Section of the IPC, A to H, or "all".
    text : str, default="title,claims"
        Parts to read, separated by commas: title, abstract, claims, description.

    Returns
    -------
    Dataset
        Applications by part and file, with the collection's split "train-test".

    Raises
    ------
    DataError
        If the files are missing, damaged, or not those of the dataset.
    """
    check_choice("wipo-alpha", "section", section, SECTIONS)
    elements = []
    for name in map(str.strip, text.split(",")):
        check_choice("wipo-alpha", "text", name, tuple(ELEMENTS))
        elements.append(ELEMENTS[name])
    applications = sorted(read_applications(source, section, elements))
    row_paths = [application.path for application in applications]
    paths = sorted(set(row_paths))
    if not paths:
        raise RAW.error(f"no application has a main code in section {section}")
    classes = [path[-1] for path in paths]
    n_classes, n_rows = PUBLISHED[section]
    return Dataset(
        X=None,
        y=positions([path[-1] for path in row_paths], classes),
        class_names=tuple(classes),
        taxonomy=tree_of_paths("IPC", paths),
        splits=part_splits([application.part for application in applications]),
        found=f"section {section}: {beside(len(applications), n_rows)} applications, "
        f"{beside(len(classes), n_classes)} main groups",
        texts=Texts.of(application.text for application in applications),
        counting=counted_words("letters"),
    )


def read_applications(source: str | None, section: str, elements: list[str]) -> Iterator[Application]:
    """Yield the applications of a section, one at a time, since the collection may be larger than memory."""
    for match, stream in RAW.open_each(source):
        root = _parsed(match.string, stream)
        path = _path(match.string, root)
        if section not in ("all", path[0]):
            continue
        texts = []
        for element in elements:
            texts += ["".join(part.itertext()) for part in root.iter(element)]
        yield Application(match[1].lower() == "test", match[2], path, "\n".join(texts))


def _parsed(name: str, stream: IO[bytes]) -> ElementTree.Element:
    parser = ElementTree.XMLParser()
    parser.entity.update(entitydefs)  # entities of the collection's DTD, which is not read
    try:
        return ElementTree.parse(stream, parser).getroot()
    except ElementTree.ParseError as error:
        raise RAW.error(f"{name} is not well-formed XML ({error})", "Download it again.") from error


def _path(name: str, root: ElementTree.Element) -> ClassPath:
    codes = root.find("ipcs")
    main_code = codes.get("mc", "") if codes is not None else ""
    code = _CODE.fullmatch(main_code.strip())
    if code is None:
        raise RAW.error(f'{name}: expected <ipcs mc="..."> with a main code such as D21B00106, found {main_code!r}')
    section, class_, subclass = code[1], code[1] + code[2], code[1] + code[2] + code[3]
    return section, class_, subclass, f"{subclass} {int(code[4] or code[5])}"
