"""Industry sector: web pages of companies by branch of industry, with the tree of sectors.

Read from the archive of Carnegie Mellon's text learning group: a folder "sector" with folders of sectors, these with
folders of branches ("...industry"), and these with a file per page. The text of a page is its HTML without the server's
headers, scripts, comments and tags. Tokens are lower-cased runs of at least two letters, without scikit-learn's English
stop words and without tokens of fewer than `min_df` pages (2: tokens of a single page carry no information).

The same pages in LIBSVM's format, with its own terms and without names, are the dataset `sector`.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field

from harness import Dataset
from harness.sdk import Texts
from harness.sdk.reading.raw import RawFiles
from harness_text.classes import counted_words, positions, tree_of_paths

RAW = RawFiles(
    dataset="industry",
    needed="sector.tar.gz, the industry sector data of Carnegie Mellon's text learning group (collected by Market "
    "Guide and A. McCallum), or the folder sector/ that it unpacks to",
    wanted=re.compile(r"^(.*\.industry)/([^/]+)$"),
    archive="sector.tar.gz",
)
_HEADERS = re.compile(r"\A(?:HTTP/[^\n]*\n)?(?:[A-Za-z][A-Za-z-]*:[^\n]*\n)+\n")
_MARK_UP = re.compile(r"<!--.*?-->|<(script|style)\b.*?</\1\s*>|<[^>]*>", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True, order=True)
class Page:
    """A page and its folder; pages sort like the rows."""

    branch: str
    name: str
    content: bytes = field(compare=False)


def load_industry(*, source: str | None = None, min_df: int = 2) -> Dataset:
    """Load the pages.

    Parameters
    ----------
    source : str or None, default=None
        Folder or archive with the pages. None uses imported or downloaded files.
    min_df : int, default=2
        Minimum number of pages with a word.

    Returns
    -------
    Dataset
        Pages by branch and name. The name of a class is its path below sector/.

    Raises
    ------
    DataError
        If the files are missing, damaged, or not those of the dataset.
    """
    pages = []
    for match, content in RAW.read(source):
        pages.append(Page(branch_of(match[1]), match[2], content))
    pages.sort()
    branches = [page.branch for page in pages]
    classes = sorted(set(branches))
    texts = (text_of_page(page.content) for page in pages)
    paths = [tuple(branch.split("/")) for branch in classes]
    tops = {path[0] for path in paths}
    return Dataset(
        X=None,
        y=positions(branches, classes),
        class_names=tuple(classes),
        taxonomy=tree_of_paths("sector", paths),
        found=f"{len(pages):,} pages, {len(classes)} branches below {len(tops)} tops",
        texts=Texts.of(texts),
        counting=counted_words("letters", min_df=min_df),
    )


def branch_of(folder: str) -> str:
    """Return the path of a branch below sector/, or the complete path if it does not contain sector/."""
    return folder.removeprefix("sector/").rpartition("/sector/")[2]


def text_of_page(content: bytes) -> str:
    """Return a page without the server's header and without mark-up."""
    text = content.decode("latin-1").replace("\r\n", "\n")
    return html.unescape(_MARK_UP.sub(" ", _HEADERS.sub("", text)))
