"""A learner's own warnings, kept for the record instead of printed where nobody looks: each once, a few of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from harness.wording import in_a_line

MOST_WARNINGS = 10
LONGEST_WARNING = 300


@contextmanager
def heed_warnings(kept: list[str]) -> Iterator[None]:
    """Collect what is warned of meanwhile; filters that the learner's module has set stay in force."""
    with warnings.catch_warnings():

        def keep(message: Warning | str, category: type[Warning], *_: object, **__: object) -> None:
            text = in_a_line(f"{category.__name__}: {message}", LONGEST_WARNING)
            if text not in kept and len(kept) < MOST_WARNINGS:
                kept.append(text)

        warnings.showwarning = keep
        yield
