"""The built documentation site in a real browser: it fits a desktop and a phone, and its search finds pages.

`tox -e docs` builds the site and sets HARNESS_SITE; elsewhere the test builds one if mkdocs is installed.
"""

import os
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path

import pytest

from browser import Opened, start_browser

ROOT = Path(__file__).resolve().parents[2]
SITE = "HARNESS_SITE"
"""A folder with the built site."""
PAGES = {"home": "", "choose-a-learner": "how-to/choose-a-learner/", "results-field": "runs/field/"}
SIZES = {"desktop": (1280, 800), "phone": (390, 844)}


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return the folder of the built site."""
    if os.environ.get(SITE):
        return Path(os.environ[SITE])
    if find_spec("material") is None or find_spec("mkdocstrings") is None:
        pytest.skip("no mkdocs-material and mkdocstrings here: pip install '.[docs]', or tox -e docs")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
    return folder


@pytest.fixture(scope="module")
def address(site):
    """Return the address of a server of the site: its search does not work on files."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(QuietHandler, directory=site))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser(address, site):
    opened = Opened(start_browser(), site / "index.html")
    yield opened
    opened.driver.quit()


def show(browser, url, size):
    browser.resize(*SIZES[size])
    browser.driver.get(url)
    browser.wait(lambda: browser.run("return document.readyState") == "complete")


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("page", PAGES)
def test_a_page_fits_the_screen_and_asks_no_other_server(browser, address, page, size):
    show(browser, address + PAGES[page], size)
    browser.keep(f"site-{page}-{size}")
    assert browser.one("article h1").is_displayed()
    assert browser.run("return document.documentElement.scrollWidth") <= SIZES[size][0], (
        "a table is wider than the page"
    )
    assert browser.one("label.md-header__button[for=__drawer]").is_displayed() == (size == "phone")
    assert [url for url in browser.requests() if not url.startswith(address)] == []
    assert browser.complaints() == []


def test_the_search_finds_a_page_by_its_words(browser, address):
    show(browser, address, "desktop")
    box = browser.one("input[data-md-component=search-query]")
    box.click()
    box.send_keys("mcnemar")
    browser.wait(lambda: any("explanation/statistics/" in link.get_attribute("href") for link in found(browser)))


def found(browser):
    return browser.all("a.md-search-result__link")


def test_scripts_of_the_site_are_not_published(site):
    assert [path.name for path in site.rglob("*.py")] == []
    assert (site / "security" / "index.html").is_file()
