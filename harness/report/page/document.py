"""The page: its content as frozen dataclasses, and one HTML file that holds data, style and scripts and loads nothing.

The scripts of the page read the fields of the dataclasses by name, so a field that is renamed here must be renamed
there. Names in results are not trusted. They are stored as compressed JSON and shown as text nodes. The content
security policy allows only the scripts and the style of this file, by their hashes.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from importlib import resources
from pathlib import Path

from harness.errors import HarnessError
from harness.text import SUFFIXES

Numbers = tuple[float | None, ...]

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
    "overview",
    "start",
)
"""Scripts of the page, in the order in which they are joined."""
VEGA_LITE = "6.4"
"""The Vega-Lite release that files/charts.json is written for; the extra `page` pins a vl-convert that has it."""


# -- content ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PageMetric:
    """A metric that can be chosen as a column or an axis."""

    name: str
    title: str
    summary: str
    unit: str
    direction: str


@dataclass(frozen=True)
class PagePick:
    """A card above the table: the learner that serves one need best."""

    need: str
    learner: str
    kind: str
    reason: str
    """The value that it was picked by, such as "train 15.7 ms"."""
    quality: str
    """The quality with its 95% interval."""
    costs: dict[str, str]


@dataclass(frozen=True)
class PageDataset:
    """A prepared dataset with its verdict and picks."""

    name: str
    title: str
    """The name, with the detail if the dataset was prepared in several ways."""
    detail: str
    verdict: tuple[str, ...]
    """Sentences on the best learner and on failures, as `harness.report.answer.describe_verdict` returns them."""
    picks: tuple[PagePick, ...] = ()


@dataclass(frozen=True)
class PageFailure:
    """Trials of one line that failed in the same way."""

    seeds: tuple[int, ...]
    status: str
    message: str
    traceback: str
    output: str


@dataclass(frozen=True)
class PageTuning:
    """Candidates of tuning in one trial, in order, and the choice."""

    seed: int
    chosen: str
    candidates: tuple[tuple[str, float | None, str], ...]
    """Parameters, score on the validation part, and the reason if there is no score."""


@dataclass(frozen=True)
class PageConfusion:
    """Test rows of one class that were predicted as another, over all trials of a line."""

    truth: str
    answer: str
    """Empty if no class was predicted."""
    rows: int
    of: int
    """Number of test rows of the true class."""


@dataclass(frozen=True)
class PageLine:
    """A learner with its parameters on a prepared dataset: a row of the table, a point, a bar."""

    title: str
    family: str
    kind: str
    representation: str
    dataset: int
    """Position among the datasets of the part."""
    trials: str
    failed: str
    seeds: tuple[int, ...]
    """Seeds of the finished trials."""
    values: tuple[Numbers, ...]
    """Values of the finished trials for each metric; empty without values."""
    means: Numbers
    spreads: Numbers
    best: tuple[int, ...]
    """Positions of the metrics in which the row is marked."""
    facts: dict[str, str]
    """Parameters, origin, versions and machine as texts."""
    notices: tuple[str, ...] = ()
    failures: tuple[PageFailure, ...] = ()
    tuning: tuple[PageTuning, ...] = ()
    confusions: tuple[PageConfusion, ...] = ()


@dataclass(frozen=True)
class PageSeries:
    """The points of a learner in a figure."""

    label: str
    kind: str
    note: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    spread: tuple[float, ...]


@dataclass(frozen=True)
class PageFigure:
    """A figure with one pair of axes and a series for each learner."""

    kind: str
    metric: str
    title: str
    """The dataset, or several datasets."""
    x_title: str
    y_title: str
    x_scale: str
    y_scale: str
    x_unit: str
    y_unit: str
    integer_x: bool
    """True if x has whole numbers only."""
    series: tuple[PageSeries, ...]


@dataclass(frozen=True)
class PageRanks:
    """Average ranks over datasets by one metric."""

    metric: str
    ranks: dict[str, float]
    difference: float
    n_datasets: int
    p_value: float
    left_out: tuple[str, ...]
    """Learners that did not finish on every dataset, which are not ranked."""


@dataclass(frozen=True)
class PageGrid:
    """A table of texts: published numbers beside the results."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    footnotes: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """Results that are compared with each other: those of one folder, or of several folders together."""

    title: str
    headline: str
    """A sentence with the numbers of learners, datasets and trials."""
    metrics: tuple[PageMetric, ...]
    shown: tuple[str, ...]
    """Names of the metrics that are columns when the page opens."""
    datasets: tuple[PageDataset, ...]
    lines: tuple[PageLine, ...]
    figures: tuple[PageFigure, ...] = ()
    ranks: tuple[PageRanks, ...] = ()
    notes: tuple[str, ...] = ()
    """Footnotes of the table: meaning of marks, machine, warnings."""
    published: tuple[PageGrid, ...] = ()
    unread: str = ""
    """A sentence on missing confusions and confidence; empty if nothing is missing."""


@dataclass(frozen=True)
class Page:
    """A page of one or more parts; the reader switches between them."""

    parts: tuple[Part, ...]
    title: str = "Results"
    about: dict[str, str] = field(default_factory=dict)
    """The program that made the page."""

    def render(self) -> str:
        """Return the page as an HTML text that loads no other files."""
        return render_page(self)

    def save(self, path: str | Path) -> Path:
        """Write the page to a file, create its folder if needed, and return the path."""
        path = Path(path)
        text = self.render()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path


# -- one file --------------------------------------------------------------------------------------------------------


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
            next_step='Run `pip install "manyclass-harness[page]"`.',
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
        raise TypeError(f"{type(value).__name__} is not a part of a page")
    return {one.name: getattr(value, one.name) for one in fields(value)}
