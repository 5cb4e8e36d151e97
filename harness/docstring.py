"""A docstring in numpy's style, taken apart: what a thing does, and what each of its parameters means."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_UNDERLINE = re.compile(r"-{3,}$")
_PARAMETER = re.compile(r"(\w+) : (.*)")


@dataclass(frozen=True)
class Docstring:
    """The words before the first section, paragraph by paragraph, and the meaning of each parameter."""

    paragraphs: tuple[str, ...] = ()
    parameters: dict[str, str] = field(default_factory=dict)


def parse_docstring(text: str) -> Docstring:
    """Take a docstring apart; what has no section of parameters has none of their meanings."""
    sections = _sections(text)
    paragraphs = [" ".join(part.split()) for part in sections.get("", "").split("\n\n")]
    meanings: dict[str, str] = {}
    last = ""
    for line in sections.get("Parameters", "").splitlines():
        found = _PARAMETER.match(line)
        if found:
            last = found[1]
            meanings[last] = found[2].strip()
        elif last and line.strip():
            meanings[last] += f" {line.strip()}"
    return Docstring(tuple(part for part in paragraphs if part), meanings)


def _sections(text: str) -> dict[str, str]:
    """The text of each section by its heading; what comes before the first has an empty one."""
    lines = text.splitlines()
    sections: dict[str, list[str]] = {"": []}
    heading = ""
    for place, line in enumerate(lines):
        follows = lines[place + 1] if place + 1 < len(lines) else ""
        if line and _UNDERLINE.match(follows):
            heading = line.strip()
            sections[heading] = []
        elif not _UNDERLINE.match(line):
            sections[heading].append(line)
    return {name: "\n".join(body) for name, body in sections.items()}
