"""The page's content -> one HTML file: data, style and scripts inside, nothing loaded, and a policy that forbids it.

Names in results come from anywhere. They travel as compressed JSON, are shown as text nodes by the script, and the
content security policy allows the scripts of this file by their hashes and no other.
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
from harness.quantities import SUFFIXES

if TYPE_CHECKING:
    from harness.page.content import Page

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
    "start",
)
"""The page's own scripts, in the order in which they are put together."""


def render_page(page: Page) -> str:
    """The whole file; HarnessError names the extra where the packages for charts are missing."""
    library, charts = _chart_library()
    script = "\n".join(_read(f"{name}.js") for name in SCRIPTS)
    style = _read("page.css")
    places = {
        "title": html.escape(page.title),
        "policy": html.escape(_policy([library, script], style)),
        "style": style,
        "data": _packed({"page": page, "charts": json.loads(charts), "scales": SUFFIXES}),
        "library": library,
        "script": script,
    }
    # All places in one go: what is put in is never searched for places again.
    return re.sub(r"<!--\[(\w+)\]-->", lambda place: places[place[1]], _read("page.html"))


@cache
def _chart_library() -> tuple[str, str]:
    """The JavaScript of Vega, and the charts as JSON."""
    try:
        import vl_convert  # noqa: PLC0415 (an extra)

        from harness.page.charts import chart_templates  # noqa: PLC0415 (imports an extra)
    except ImportError as error:
        raise HarnessError(
            f"{error.name} is not installed",
            culprit="the page's charts",
            next_step='pip install "manyclass-harness[page]"',
        ) from None
    return vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;"), json.dumps(chart_templates())


def _read(name: str) -> str:
    return (resources.files("harness.page") / "files" / name).read_text(encoding="utf-8")


def _policy(scripts: list[str], style: str) -> str:
    """Only these scripts and this style; no address is ever asked."""
    allowed = " ".join(map(_hash_of, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_hash_of(style)}; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def _hash_of(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def _packed(content: object) -> str:
    """JSON, compressed: numbers of many trials would fill the file otherwise. The same content gives the same text."""
    text = json.dumps(content, default=_plain, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return base64.b64encode(gzip.compress(text.encode("utf-8", "surrogatepass"), mtime=0)).decode()


def _plain(value: object) -> dict[str, object]:
    """A dataclass by its fields, one level; the encoder asks again for what is inside."""
    if not is_dataclass(value):
        raise TypeError(f"{type(value).__name__} is no part of a page")
    return {one.name: getattr(value, one.name) for one in fields(value)}
