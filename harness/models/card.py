"""The model card: what a model is, what it was trained on, how good it is, and how to use it.

A card is made from the manifest and the class names, without loading the learner. It is the same at a terminal, as a
page and over HTTP. Values that the model does not have are listed as not known.
"""

from __future__ import annotations

import base64
import hashlib
import html
import re
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from harness.errors import ModelError
from harness.host.contract import Taxonomy
from harness.models.folder import ModelManifest, read_classes, read_model_manifest
from harness.models.held_out import HeldOut, check_figures, describe_confidence, describe_few_rows
from harness.report.tables.layout import WIDTH, fit_list, wrap_lines
from harness.stats import binomial_half_width
from harness.stats.calibration import calibrator_from_plain
from harness.syntax.expression import describe_params
from harness.text import counted, printable

NOT_KNOWN = "not known: an older release fitted the model"
NAME_WIDTH = 24
"""Least width of a column with names."""


@dataclass(frozen=True)
class CardTable:
    """A table of a card: a mapping of heading to cell for each row, or the reason why it has none."""

    title: str
    rows: tuple[dict[str, str], ...] = ()
    note: str = ""
    """Sentence below the table, or in its place."""


@dataclass(frozen=True)
class Card:
    """The content of a model card, as texts."""

    title: str
    facts: dict[str, str]
    """Learner, data, accuracy and confidence, by name."""
    tables: tuple[CardTable, ...]
    usage: tuple[str, ...]
    """Commands and a line of Python."""


def read_card(folder: Path) -> Card:
    """Return the card of the model in a folder.

    Raises
    ------
    ModelError
        If the folder is not a model, or if it is damaged.
    """
    manifest = read_model_manifest(folder)
    taxonomy = read_classes(folder).taxonomy
    try:
        check_figures(manifest.reliability, manifest.held_out, taxonomy)
        calibrator_from_plain(manifest.calibrator)
    except ModelError as error:
        raise error.about(f"model {folder}") from None
    except ValueError as error:
        raise ModelError(str(error), culprit=f"model {folder}") from error
    return make_card(manifest, taxonomy, str(folder))


def make_card(manifest: ModelManifest, taxonomy: Taxonomy | None, place: str = "MODEL") -> Card:
    """Return the card of a model.

    Parameters
    ----------
    manifest : ModelManifest
        The manifest of the model.
    taxonomy : Taxonomy or None
        The tree of its classes, if it has one.
    place : str, default="MODEL"
        The folder of the model in commands.
    """
    held_out = manifest.held_out
    tables = [_frequency_table(manifest), _confusion_table(held_out), _reliability_table(manifest)]
    if taxonomy is not None:
        tables.append(_level_table(held_out))
    return Card(
        f"{manifest.learner.name} on {manifest.data.name}",
        _facts(manifest, taxonomy),
        tuple(tables),
        _usage(manifest, taxonomy, place),
    )


def _facts(manifest: ModelManifest, taxonomy: Taxonomy | None) -> dict[str, str]:
    learner, data = manifest.learner, manifest.data
    several = "" if manifest.held_out is None or manifest.held_out.labels is None else ", several labels a row"
    facts = {
        "learner": f"{learner.name} ({learner.distribution or learner.load})",
        "parameters": describe_params(learner.params) or "none",
        "input": "texts" if manifest.takes_text else "rows of numbers",
        "representation": manifest.representation or "none",
        "data": f"{data.name}: {counted(data.rows, 'row')}, {counted(data.classes, 'class')}{several}",
        "data fingerprint": data.fingerprint[:16],
    }
    if learner.environment:
        facts["runs in"] = f"an environment with {', '.join(learner.environment)}"
    if data.table is not None and data.table.text:
        facts["columns"] = f"text {'+'.join(data.table.text)}, label {data.table.label or '?'}"
    if taxonomy is not None:
        facts["taxonomy"] = f"{counted(len(taxonomy.parent), 'node')}, depth {taxonomy.depth}"
    facts["trained"] = manifest.fitted
    facts["versions"] = ", ".join(f"{name} {version}" for name, version in manifest.versions.items())
    facts["accuracy"] = _describe_accuracy(manifest)
    facts["confidence"] = describe_confidence(
        manifest.calibrator, manifest.reliability, manifest.held_out
    ).removeprefix("confidence: ")
    few = describe_few_rows(manifest.reliability)
    if few:
        facts["caution"] = few
    return facts


def _describe_accuracy(manifest: ModelManifest) -> str:
    expected = manifest.expected
    if expected.accuracy is None:
        return "not known"
    half = binomial_half_width(expected.accuracy, expected.rows) if expected.rows else 0.0
    interval = f" ± {half:.3f}" if half else ""  # the approximation fails for 0 and 1
    return f"{expected.accuracy:.3f}{interval} ({expected.known_from})"


def _frequency_table(manifest: ModelManifest) -> CardTable:
    title, held_out = "Accuracy by class frequency", manifest.held_out
    if held_out is None:
        return CardTable(title, note=NOT_KNOWN)
    if not held_out.by_frequency:
        reason = "no held-out rows"
        if held_out.labels is not None:
            reason = "several labels a row"
        elif manifest.data.updates:
            reason = "an updated model does not have the class counts of its first training"
        return CardTable(title, note=f"not measured: {reason}")
    rows = []
    for one in held_out.by_frequency:
        most = 2 * one.least - 1
        span = f"{one.least:,}" if most == one.least else f"{one.least:,} to {most:,}"
        rows.append({"training rows of the class": span, "rows": f"{one.rows:,}", "right": _share(one.right, one.rows)})
    return CardTable(title, tuple(rows), "Held-out rows, predicted by a learner trained on the rest.")


def _confusion_table(held_out: HeldOut | None) -> CardTable:
    title = "Most frequent confusions"
    if held_out is None:
        return CardTable(title, note=NOT_KNOWN)
    if not held_out.confusions:
        return CardTable(title, note="none on the held-out rows" if held_out.by_frequency else "not measured")
    rows = []
    for one in held_out.confusions:
        rows.append({"class": one.truth, "predicted as": one.answer or "(no class)", "rows": f"{one.rows} of {one.of}"})
    return CardTable(title, tuple(rows))


def _reliability_table(manifest: ModelManifest) -> CardTable:
    title = "Reliability of the confidence"
    held_out = manifest.held_out
    if held_out is not None and not held_out.has_scores:
        return CardTable(title, note="no confidence: the learner has no scores")
    reliability = manifest.reliability
    rows = []
    for one in reliability.get("bins", ()):
        cells = {"rows": f"{one['rows']:,}", "mean confidence": f"{one['confidence']:.3f}"}
        rows.append({**cells, "right": f"{one['right']:.3f}"})
    error, brier = reliability["expected_calibration_error"], reliability["brier"]
    return CardTable(title, tuple(rows), f"Mean calibration error {error:.3f}, Brier score {brier:.3f}.")


def _level_table(held_out: HeldOut | None) -> CardTable:
    title = "Back-off by level of the taxonomy"
    if held_out is None:
        return CardTable(title, note=NOT_KNOWN)
    if not held_out.levels:
        return CardTable(title, note="not available: the learner has no scores")
    rows = []
    for level, one in enumerate(held_out.levels, 1):
        error = f"{one.expected_calibration_error:.3f}"
        rows.append({"level": str(level), "right": f"{one.accuracy:.3f}", "mean calibration error": error})
    return CardTable(title, tuple(rows))


def _share(part: int, total: int) -> str:
    return f"{part / total:.3f}" if total else "-"


def _usage(manifest: ModelManifest, taxonomy: Taxonomy | None, place: str) -> tuple[str, ...]:
    """Return commands for what the model can do."""
    load = f"harness.load_model({place!r})"
    if not manifest.takes_text:
        return (f"{load}.predict(X)  # Python; X has the columns of the training data",)
    folder, held_out = shlex.quote(place), manifest.held_out
    commands = [f'harness predict {folder} "a text" --top 3', f"harness predict {folder} new.csv --out coded.csv"]
    if held_out is None or held_out.has_scores:
        commands.append(f"harness predict {folder} new.csv --out sure.csv --review 0.9 --review-out unsure.csv")
    if held_out is not None and held_out.levels and taxonomy is not None:
        commands.append(f"harness predict {folder} new.csv --out coded.csv --backoff 0.9")
    if held_out is not None and held_out.labels is not None:
        commands.append(f"harness predict {folder} new.csv --out coded.csv --threshold 0.5 --top 5")
    return (*commands, f"harness serve {folder}", f'{load}.predict(["a text"])  # Python')


# -- output ----------------------------------------------------------------------------------------------------------


def card_to_text(card: Card, width: int = WIDTH) -> str:
    """Return a card for the terminal."""
    wide = max(map(len, card.facts))
    parts = [card.title, ""]
    for name, text in card.facts.items():
        first, *rest = wrap_lines([text], width - wide - 2)
        parts += [f"{name:<{wide}}  {first}", *(" " * (wide + 2) + line for line in rest)]
    for table in card.tables:
        parts += ["", f"{table.title}:" if table.rows else f"{table.title}: {table.note}"]
        if table.rows:
            cells = [{name: printable(text) for name, text in row.items()} for row in table.rows]
            parts.append(fit_list(cells, dict.fromkeys(("class", "predicted as"), NAME_WIDTH), (), width).text)
            parts += wrap_lines([table.note], width) if table.note else []
    return "\n".join([*parts, "", "Use it:", *(f"  {line}" for line in card.usage)]) + "\n"


def describe_model(manifest: ModelManifest, taxonomy: Taxonomy | None) -> dict[str, Any]:
    """Return the main facts of a model and its card, as plain values for JSON."""
    return {
        "learner": manifest.learner.name,
        "parameters": dict(manifest.learner.params),
        "representation": manifest.representation,
        "input": "texts" if manifest.takes_text else "rows",
        "data": {"name": manifest.data.name, "rows": manifest.data.rows, "classes": manifest.data.classes},
        "expected_accuracy": manifest.expected.accuracy,
        "accuracy_from": manifest.expected.known_from,
        "fitted": manifest.fitted,
        "card": asdict(make_card(manifest, taxonomy)),
    }


def card_to_html(card: Card) -> str:
    """Return a card as one HTML file, which loads nothing and runs no script; every name in it is text."""
    page = (resources.files("harness.models") / "files" / "card.html").read_text(encoding="utf-8")
    (style,) = re.findall("<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    body = [_facts_to_html(card.facts), *map(_table_to_html, card.tables), _usage_to_html(card.usage)]
    places = {
        "title": _text(card.title),
        "policy": f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'",
        "body": "\n".join(body),
    }
    return re.sub(r"<!--\[(\w+)\]-->", lambda place: places[place[1]], page)  # one pass: inserted text is not searched


def _text(value: str) -> str:
    return html.escape(printable(value))


def _facts_to_html(facts: dict[str, str]) -> str:
    rows = [f"<tr><th scope=row>{_text(name)}</th><td>{_text(value)}</td></tr>" for name, value in facts.items()]
    return f"<table>{''.join(rows)}</table>"


def _table_to_html(table: CardTable) -> str:
    note = f"<p>{_text(table.note)}</p>" if table.note else ""
    head = f"<h2>{_text(table.title)}</h2>"
    if not table.rows:
        return f"{head}{note}"
    names = _cells(list(table.rows[0]), "th scope=col")
    rows = "".join(f"<tr>{_cells(list(row.values()), 'td')}</tr>" for row in table.rows)
    return f"{head}<table><thead><tr>{names}</tr></thead><tbody>{rows}</tbody></table>{note}"


def _cells(texts: Sequence[str], tag: str) -> str:
    return "".join(f"<{tag}>{_text(text)}</{tag.partition(' ')[0]}>" for text in texts)


def _usage_to_html(usage: Sequence[str]) -> str:
    return f"<h2>Use it</h2><pre>{_text(chr(10).join(usage))}</pre>"
