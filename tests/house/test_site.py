"""The documentation site: every page is in the navigation, and every link has a target. `tox -e docs` builds it."""

import re

import pytest

from quotes import ROOT

DOCS = ROOT / "docs"
SITE_PAGES = sorted(DOCS.rglob("*.md"))
PAGES = [
    *SITE_PAGES,
    ROOT / "README.md",
    *(ROOT / name for name in ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")),
    *sorted(ROOT.glob("results/**/*.md")),
]
LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]+))?\)")


def places_on_the_site():
    """Return the pages listed in mkdocs.yml, read without a YAML parser."""
    nav = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    return re.findall(r"(\S+\.md)$", nav, re.MULTILINE)


@pytest.mark.parametrize("page", SITE_PAGES, ids=lambda page: str(page.relative_to(DOCS)))
def test_every_page_of_docs_is_in_the_navigation(page):
    place = str(page.relative_to(DOCS))
    assert place in places_on_the_site(), f"docs/{place} has no place: add it below `nav:` in mkdocs.yml"


def test_every_navigation_entry_has_a_page():
    known = {str(page.relative_to(DOCS)) for page in SITE_PAGES}
    # docs/site/hooks.py makes these pages
    made = {"runs/index.md", "runs/explore.md", "runs/benchmarks.md", "reference/learner-classes.md"}
    made |= {"contributing.md", "security.md", "changelog.md"}
    assert set(places_on_the_site()) <= known | made
    assert sorted(places_on_the_site()) == sorted({*places_on_the_site()}), "a page has one place"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file_and_one_of_its_headings(page):
    for target, heading in LINK.findall(page.read_text(encoding="utf-8")):
        path = page.parent / target if target else page
        assert path.exists(), f"{page.name} links to {target}"
        if heading:
            assert heading in headings_of(path), f"{page.name} links to {target}#{heading}"


def headings_of(page):
    """Return the headings as URL fragments."""
    found = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[\s-]+", "-", re.sub(r"[^\w\s-]", "", words).strip().lower()) for words in found}
