"""Pages of docs/ that benchmarks write part by part: what is not measured again stays, with where it was measured."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

from harness.machine import describe_machine

Part = Callable[[], list[str]]
"""Measures something; gives the heading of its section, then the lines."""


def measure_parts(page: Path, head: str, parts: Iterable[Part]) -> None:
    """Measure one part after the other; each is in the page at once, for the last ones may take long."""
    for measure in parts:
        title, *lines = measure()
        text = "\n".join([*lines, "", conditions()]).strip()
        write_page(page, head, {**read_sections(page), title: text})


def conditions() -> str:
    """The machine, and how busy it was: parts of a page may have been measured on other ones."""
    machine = describe_machine()
    return f"{machine.processor}, {machine.cores} cores; load average {os.getloadavg()[0]:.1f}."


def write_page(page: Path, head: str, sections: dict[str, str]) -> None:
    lines = [head.strip()]
    for title, text in sections.items():
        lines += ["", title, "", text]
    page.write_text("\n".join(lines) + "\n")


def read_sections(page: Path) -> dict[str, str]:
    """What earlier runs measured, by heading: a part that is measured again replaces its own section only."""
    if not page.exists():
        return {}
    _, *found = page.read_text().split("\n## ")
    return {f"## {title}": text.strip() for title, _, text in (part.partition("\n") for part in found)}
