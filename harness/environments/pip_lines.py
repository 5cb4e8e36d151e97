"""What pip's lines tell: which package it is at, and which one it blames where it fails. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

_AT_WORK = re.compile(r"\s*(?:Collecting|Building wheels? for) ([^\s(:]+)")
_SHOWN = re.compile(r"\s*(?:Collecting|Building wheel for|Downloading|Installing collected packages:) ?.*")
_BLAMED = (
    re.compile(r"No matching distribution found for (\S+)"),
    re.compile(r"Cannot install (.+?) because"),
    re.compile(r"Failed building wheel for (\S+)"),
    re.compile(r"Failed to build '?([^\s']+)'? when"),
)
_STEP_FAILED = "finished with status 'error'"


def is_progress(line: str) -> bool:
    """Whether it is worth showing while one waits."""
    return _SHOWN.fullmatch(line.rstrip()) is not None


def find_culprit(lines: Iterable[str]) -> str:
    """The first package that pip blames; empty where it blames none, as where a disk is full.

    That of a step that failed is told before, or in, the line that says so.
    """
    at_work = ""
    for line in lines:
        found = _AT_WORK.match(line)
        if found:
            at_work = found.group(1)
        for pattern in _BLAMED:
            blamed = pattern.search(line)
            if blamed:
                return blamed.group(1)
        if _STEP_FAILED in line and at_work:
            return at_work
    return ""
