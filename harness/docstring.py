"""A docstring in numpy's style, taken apart: what a thing does, and what each of its parameters means."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

_UNDERLINE = re.compile(r"-{3,}$")
_PARAMETER = re.compile(r"(\w+(?:, \w+)*) : (.*)")
"""One parameter, or several that are explained together."""


@dataclass(frozen=True)
class Docstring:
    """The words before the first section, paragraph by paragraph, the meaning of each parameter, and more."""

    paragraphs: tuple[str, ...] = ()
    parameters: dict[str, str] = field(default_factory=dict)
    use: str = ""
    """When to use it."""
    references: str = ""
    """The papers that it comes from."""


def parse_docstring(text: str) -> Docstring:
    """Take a docstring apart; what has no section of parameters has none of their meanings."""
    sections = _sections(text)
    paragraphs = [" ".join(part.split()) for part in sections.get("", "").split("\n\n")]
    meanings: dict[str, str] = {}
    together: list[str] = []
    for line in sections.get("Parameters", "").splitlines():
        found = _PARAMETER.match(line)
        if found:
            together = found[1].split(", ")
            meanings |= dict.fromkeys(together, found[2].strip())
        elif line.strip():
            for name in together:
                meanings[name] += f" {line.strip()}"
    use, references = (" ".join(sections.get(name, "").split()) for name in ("When to use", "References"))
    return Docstring(tuple(part for part in paragraphs if part), meanings, use, references)


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
