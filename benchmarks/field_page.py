"""What the records of the field decide of results/field/README.md: who leads where, average ranks, and their figure.

    python benchmarks/field_page.py

Runs nothing: what stands between the marks is made from the records, the words around them are written by hand.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from textwrap import wrap

from harness import api
from harness.api.session import Session
from harness.catalog import Catalog
from harness.figures.file_formats import FILE_FORMATS
from harness.groups import Line, rank_learners
from harness.metric import find_metric

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "results" / "field"
PAGE = RESULTS / "README.md"
OTHER_TOOLS = "harness_peers"
"""The package of those that others wrote."""
CLOSE = 0.01
"""How much R1 quicker training may cost."""
MOST_CLASSES = 2000
"""Of the data sets for average ranks: beyond that too few learners finish for a ranking to tell much."""
SEVERAL_LABELS = {"reuters90", "eurlex4k"}
"""Data sets that most learners cannot take."""
WIDTH = 130
SHOWN = 12
"""Learners whose average rank is told."""

By = Callable[[Line], float]


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    session = Session()
    results = api.read_results([RESULTS], session)
    PAGE.write_text(fill(PAGE.read_text(encoding="utf-8"), results.lines(), session.catalog), encoding="utf-8")
    ranked = rankable(results.lines())
    drawing = results.plot("cd", metric="r1", datasets=_names(ranked, "dataset"), learners=_names(ranked, "label"))
    for ending in FILE_FORMATS:
        drawing.save(RESULTS / f"ranks.{ending}")
    print(PAGE.relative_to(ROOT))


def fill(text: str, lines: Sequence[Line], catalog: Catalog) -> str:
    """The page with what the records decide."""
    text = _between(text, "leaders", leaders(lines, catalog))
    return _between(text, "ranks", average_ranks(lines, catalog))


def _between(text: str, name: str, lines: Iterable[str]) -> str:
    """The text with these lines between the marks of this name."""
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    head, found, rest = text.partition(begin)
    _, closed, tail = rest.partition(end)
    if not found or not closed:
        raise ValueError(f"{PAGE.name} has no marks {begin.strip()} and {end}")
    return "".join([head, begin, "\n", "\n".join(lines), "\n\n", end, tail])


# -- who leads -------------------------------------------------------------------------------------------------------


def leaders(lines: Sequence[Line], catalog: Catalog) -> list[str]:
    """A row for each data set, fewest classes first."""
    rows = [
        "| data set | classes | trials | the most accurate of ours | of other tools | the quickest within a point |"
        " five answers | finished |",
        "|---|---:|---:|---|---|---|---|---:|",
    ]
    by_data: dict[str, list[Line]] = {}
    for line in lines:
        by_data.setdefault(line.dataset, []).append(line)
    for name in sorted(by_data, key=lambda name: _classes(by_data[name])):
        rows.append(_row(name, by_data[name], catalog))
    spreads = {name: _spread(rivals) for name, rivals in by_data.items()}
    told = [f"{name} {100 * spread:.2f}" for name, spread in spreads.items() if spread is not None]
    between = f"Between two trials of one learner R1 differs by so many points, at the median: {', '.join(told)}."
    return [*rows, "", *wrap(between, WIDTH)]


def _spread(rivals: Sequence[Line]) -> float | None:
    """How much the R1 of a learner differs between trials, at the median; None where there is one of each."""
    spans = []
    for line in rivals:
        values = line.values("r1").values()
        if len(values) > 1:
            spans.append(max(values) - min(values))
    return median(spans) if spans else None


def _row(name: str, rivals: Sequence[Line], catalog: Catalog) -> str:
    able = [line for line in rivals if line.finished]
    r1, r5, training = partial(_mean, "r1"), partial(_mean, "r5"), partial(_mean, "train_cpu")
    others = [line for line in able if _is_of_others(line, catalog)]
    ours = [line for line in able if line not in others]
    first = max(map(r1, able))
    near = [line for line in able if r1(line) >= first - CLOSE]
    ranking = [line for line in able if line.summary("r5") is not None]
    trials = max(len(line.finished) for line in able)
    cells = [
        name,
        f"{_classes(rivals):,}",
        str(trials),
        _told(max(ours, key=r1), first),
        _told(max(others, key=r1), first),
        _told(min(near, key=training), first),
        _best_ranking(max(ranking, key=r5), r5),
        f"{len(able)} of {len(rivals)}",
    ]
    return f"| {' | '.join(cells)} |"


def _told(line: Line, first: float) -> str:
    """A learner with its R1, set in bold where nobody has more, and what training takes."""
    r1 = f"{_mean('r1', line):.3f}"
    if r1 == f"{first:.3f}":
        r1 = f"**{r1}**"
    return f"`{line.label}` {r1}, {_mean('train_cpu', line):.2f} s"


def _best_ranking(line: Line, r5: By) -> str:
    return f"`{line.label}` {r5(line):.3f}"


def _mean(metric: str, line: Line) -> float:
    """Over the trials that finished."""
    found = line.summary(metric)
    assert found is not None, f"{line.label} finished on {line.dataset} without {metric}"
    return found.mean


def _classes(rivals: Sequence[Line]) -> int:
    return max(record.n_classes or 0 for line in rivals for record in line.finished)


def _is_of_others(line: Line, catalog: Catalog) -> bool:
    learner = catalog.learner(line.records[0].learner)
    return learner.spec.load.startswith(f"{OTHER_TOOLS}.")


# -- average ranks ---------------------------------------------------------------------------------------------------


def rankable(lines: Sequence[Line]) -> list[Line]:
    """The lines on data of one label a row and not too many classes, of learners that finished on all of it."""
    learners: dict[str, set[str]] = {}
    fit = []
    for line in lines:
        if line.finished and line.dataset not in SEVERAL_LABELS and _classes([line]) <= MOST_CLASSES:
            learners.setdefault(line.dataset, set()).add(line.label)
            fit.append(line)
    everywhere = set.intersection(*learners.values())
    return [line for line in fit if line.label in everywhere]


def average_ranks(lines: Sequence[Line], catalog: Catalog) -> list[str]:
    """The first ones, and how far apart is far enough."""
    chosen = rankable(lines)
    found = rank_learners(chosen, find_metric("r1", catalog).spec)
    rows = ["| learner | mean rank of R1 |", "|---|---:|"]
    for label, rank in list(found.ranks.items())[:SHOWN]:
        rows.append(f"| `{label}` | {rank:.1f} |")
    datasets = _names(chosen, "dataset")
    told = (
        f"{len(found.ranks)} learners finished on all of {', '.join(datasets)}; samples of one data set count as one, "
        f"which makes {found.n_datasets}. Critical difference (Nemenyi, 5%): {found.difference:.1f}."
    )
    return [*wrap(told, WIDTH), "", *rows]


def _names(lines: Iterable[Line], field: str) -> list[str]:
    named: Mapping[str, None] = dict.fromkeys(getattr(line, field) for line in lines)
    return list(named)


if __name__ == "__main__":
    main()
