"""What a page shows, as frozen data. It is written into the file as JSON, and the scripts read it by these names."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

Numbers = tuple[float | None, ...]


@dataclass(frozen=True)
class PageMetric:
    """A metric that can be chosen as a column or an axis."""

    name: str
    title: str
    summary: str
    unit: str
    direction: str


@dataclass(frozen=True)
class PageDataset:
    """A data set, as prepared, and what the statistics say of those that met on it."""

    name: str
    title: str
    """The name; with the detail where one data set was prepared in several ways."""
    detail: str
    verdict: tuple[str, ...]


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
    """What tuning tried in one trial, in its order, and what it chose."""

    seed: int
    chosen: str
    candidates: tuple[tuple[str, float | None, str], ...]
    """Parameters, their score on the validation part, and why there is none."""


@dataclass(frozen=True)
class PageConfusion:
    """A class that was taken for another, over all trials of a line."""

    truth: str
    answer: str
    """Empty where none was named."""
    rows: int
    of: int
    """Test rows of the true class."""


@dataclass(frozen=True)
class PageLine:
    """A learner, as set up, on a data set, as prepared: a row of the table, a point, a bar."""

    title: str
    family: str
    kind: str
    representation: str
    dataset: int
    """Its place among the part's data sets."""
    trials: str
    failed: str
    seeds: tuple[int, ...]
    """Of the finished trials."""
    values: tuple[Numbers, ...]
    """For each metric the values of the finished trials; empty where none has any."""
    means: Numbers
    spreads: Numbers
    best: tuple[int, ...]
    """The places of the metrics in which it is marked."""
    facts: dict[str, str]
    """What is to be known of it, in words: parameters, origin, versions, machine."""
    notices: tuple[str, ...] = ()
    failures: tuple[PageFailure, ...] = ()
    tuning: tuple[PageTuning, ...] = ()
    confusions: tuple[PageConfusion, ...] = ()


@dataclass(frozen=True)
class PageSeries:
    """One learner's points in a figure."""

    label: str
    kind: str
    note: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    spread: tuple[float, ...]


@dataclass(frozen=True)
class PageFigure:
    """A figure that is drawn as it is: one pair of axes with a series a learner."""

    kind: str
    metric: str
    title: str
    """What it shows: a data set, or all of them."""
    x_title: str
    y_title: str
    x_scale: str
    y_scale: str
    x_unit: str
    y_unit: str
    whole_x: bool
    """Whether x counts something, and has no values between."""
    series: tuple[PageSeries, ...]


@dataclass(frozen=True)
class PageRanks:
    """Average ranks over data sets by one metric."""

    metric: str
    ranks: dict[str, float]
    difference: float
    n_datasets: int
    p_value: float
    left_out: tuple[str, ...]
    """Learners that did not finish on every data set: they would leave nothing to rank the others by."""


@dataclass(frozen=True)
class PageGrid:
    """Rows of words under headings: published numbers beside ours."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    foot: tuple[str, ...]


@dataclass(frozen=True)
class Part:
    """What is compared with each other: the results of one folder, or of several taken together."""

    title: str
    headline: str
    """What was compared on what, in a sentence."""
    metrics: tuple[PageMetric, ...]
    shown: tuple[str, ...]
    """The metrics that are columns until others are chosen."""
    datasets: tuple[PageDataset, ...]
    lines: tuple[PageLine, ...]
    figures: tuple[PageFigure, ...] = ()
    ranks: tuple[PageRanks, ...] = ()
    notes: tuple[str, ...] = ()
    """What stands below the table: what marks mean, machine, warnings."""
    published: tuple[PageGrid, ...] = ()
    unread: str = ""
    """What cannot be told of classes and scores, and why, in a sentence."""


@dataclass(frozen=True)
class Page:
    """One page of one or more parts, between which the reader chooses."""

    parts: tuple[Part, ...]
    title: str = "Results"
    about: dict[str, str] = field(default_factory=dict)
    """What else the page says of itself: what made it."""

    def render(self) -> str:
        """The whole page, as one HTML text that loads nothing from elsewhere."""
        from harness.page.document import render_page  # noqa: PLC0415 (needs the extra `page`, which nothing else does)

        return render_page(self)

    def save(self, path: str | Path) -> Path:
        """Write the page into a file and give its path."""
        path = Path(path)
        text = self.render()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path
