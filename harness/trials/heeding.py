"""A learner's own warnings, kept for the record instead of printed where nobody looks: each once, a few of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

MOST_WARNINGS = 10
LONGEST_WARNING = 300


@contextmanager
def heed_warnings(kept: list[str]) -> Iterator[None]:
    """Collect what is warned of meanwhile; filters that the learner's module has set stay in force."""
    with warnings.catch_warnings():

        def keep(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
            text = shorten(f"{category.__name__}: {message}")
            if text not in kept and len(kept) < MOST_WARNINGS:
                kept.append(text)

        warnings.showwarning = keep
        yield


def shorten(text: str) -> str:
    """A text as one line of bounded length."""
    line = " ".join(text.split())
    if len(line) <= LONGEST_WARNING:
        return line
    return f"{line[:LONGEST_WARNING]}..."
