"""The docs site: every page has its place, every link leads to a page and a heading of it. `tox -e docs` builds it."""

import re

import pytest

from quotes import ROOT

DOCS = ROOT / "docs"
PAGES = [
    *sorted(DOCS.glob("*.md")),
    ROOT / "README.md",
    *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
    *sorted(ROOT.glob("results/**/*.md")),
]
LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]+))?\)")


def places_on_the_site():
    """The pages that mkdocs.yml names, without a reader of YAML, which the suite does not need otherwise."""
    nav = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    return re.findall(r"(\S+\.md)$", nav, re.MULTILINE)


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.name)
def test_every_page_of_docs_has_its_place_on_the_site(page):
    assert page.name in places_on_the_site(), f"docs/{page.name} has no place: add it below `nav:` in mkdocs.yml"


def test_every_place_on_the_site_has_its_page():
    known = {page.name for page in DOCS.glob("*.md")}
    made = {"runs/index.md", "contributing.md", "security.md", "changelog.md"}  # by docs/site/hooks.py
    assert set(places_on_the_site()) <= known | made
    assert sorted(places_on_the_site()) == sorted({*places_on_the_site()}), "a page has one place"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_to_a_heading_of_it(page):
    for target, heading in LINK.findall(page.read_text(encoding="utf-8")):
        path = page.parent / target if target else page
        assert path.exists(), f"{page.name} links to {target}"
        if heading:
            assert heading in headings_of(path), f"{page.name} links to {target}#{heading}"


def headings_of(page):
    """As addresses have them."""
    found = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", words).strip().lower()) for words in found}
