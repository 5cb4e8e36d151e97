"""Pages of docs/ that benchmarks write part by part: what is not measured again stays."""

from __future__ import annotations

from pathlib import Path


def read_sections(page: Path) -> dict[str, str]:
    """What earlier runs measured, by heading: a part that is measured again replaces its own section only."""
    if not page.exists():
        return {}
    _, *found = page.read_text().split("\n## ")
    return {f"## {title}": text.strip() for title, _, text in (part.partition("\n") for part in found)}
