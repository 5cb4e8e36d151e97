"""Render the page as one HTML file that contains its data, style and scripts and loads nothing.

Names in results are not trusted. They are stored as compressed JSON and shown as text nodes. The content security
policy allows only the scripts and the style of this file, by their hashes.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING

from harness.errors import HarnessError
from harness.text import SUFFIXES

if TYPE_CHECKING:
    from harness.report.page.content import Page

SCRIPTS = (
    "elements",
    "numbers",
    "state",
    "copying",
    "table",
    "names",
    "drawings",
    "figures",
    "classes",
    "details",
    "answer",
    "start",
)
"""Scripts of the page, in the order in which they are joined."""
VEGA_LITE = "6.4"
"""The Vega-Lite release that files/charts.json is written for; the extra `page` pins a vl-convert that has it."""


def render_page(page: Page) -> str:
    """Return the page as HTML; the same page gives the same text.

    Parameters
    ----------
    page : Page
        The content of the page.

    Returns
    -------
    str
        A complete HTML document, with styles and scripts inside.

    Raises
    ------
    HarnessError
        If the package for charts is missing. The message names the extra to install.
    """
    library = _chart_library()
    script = "\n".join(_read(f"{name}.js") for name in SCRIPTS)
    style = _read("page.css")
    places = {
        "title": html.escape(page.title),
        "policy": html.escape(_policy([library, script], style)),
        "style": style,
        "data": _packed({"page": page, "charts": json.loads(_read("charts.json")), "scales": SUFFIXES}),
        "library": library,
        "script": script,
    }
    # One pass over the template: inserted text is never searched for placeholders.
    return re.sub(r"<!--\[(\w+)\]-->", lambda place: places[place[1]], _read("page.html"))


@cache
def _chart_library() -> str:
    """Return the JavaScript of Vega and of Vega-Lite in the release `VEGA_LITE`."""
    try:
        import vl_convert  # noqa: PLC0415 (an extra)
    except ImportError as error:
        raise HarnessError(
            f"{error.name} is not installed",
            culprit="the page's charts",
            next_step='pip install "manyclass-harness[page]"',
        ) from None
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=VEGA_LITE)


def _read(name: str) -> str:
    return (resources.files("harness.report.page") / "files" / name).read_text(encoding="utf-8")


def _policy(scripts: list[str], style: str) -> str:
    """Return a content security policy that allows only these scripts and this style, and no network access."""
    allowed = " ".join(map(_hash_of, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_hash_of(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash_of(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _packed(content: object) -> str:
    """Return the content as compressed JSON; the same content gives the same text."""
    text = json.dumps(content, default=_plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode("utf-8", "surrogatepass"), mtime=0)).decode()


def _plain(value: object) -> dict[str, object]:
    """Return the fields of a dataclass; the JSON encoder calls this again for nested dataclasses."""
    if not is_dataclass(value):
        raise TypeError(f"{type(value).__name__} is no part of a page")
    return {one.name: getattr(value, one.name) for one in fields(value)}
