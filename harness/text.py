"""Text for messages, tables and figures: counts with nouns, numbers with units, safe output, similar names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import TypeVar

from harness.errors import HarnessError

_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters except tab and new line, and marks that reverse the direction of writing."""


def counted(count: int | str, one: str, many: str | None = None) -> str:
    """Return a count with its noun in the singular or plural; `many` gives an irregular plural.

    Examples
    --------
    >>> counted(1, "trial"), counted(1918, "class"), counted(2, "trial is", "trials are")
    ('1 trial', '1,918 classes', '2 trials are')
    """
    text = f"{count:,}" if isinstance(count, int) else count
    if text == "1":
        return f"{text} {one}"
    return f"{text} {many or _plural(one)}"


def _plural(noun: str) -> str:
    if noun.endswith("s"):
        return f"{noun}es"
    return f"{noun}s"


def in_a_line(text: str, most: int) -> str:
    """Return a text as one line, cut after `most` characters.

    Examples
    --------
    >>> in_a_line("first    line", 8)
    'first li...'
    """
    line = well_formed(" ".join(text.split()))
    return line if len(line) <= most else f"{line[:most]}..."


def well_formed(text: str) -> str:
    """Return a text that can be encoded as UTF-8: lone surrogates become escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def printable(text: str) -> str:
    """Return a text that is safe to print on a terminal: control characters become escapes."""
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def as_error(text: str) -> str:
    """Return a message about an error that ends the command."""
    return f"error: {text.strip()}"


def as_warning(text: str) -> str:
    """Return a message about a result that may not be what the user expects.

    Examples
    --------
    >>> as_warning("2 of 6 trials failed.")
    'warning: 2 of 6 trials failed.'
    """
    return f"warning: {text.strip()}"


def as_note(text: str) -> str:
    """Return a message that helps to read the output."""
    return f"note: {text.strip()}"


SUFFIXES = {
    "seconds": ((3600.0, " h"), (60.0, " min"), (1.0, " s"), (1e-3, " ms"), (1e-6, " µs"), (1e-9, " ns")),
    "count": ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")),
    "bytes": ((1e9, " GB"), (1e6, " MB"), (1e3, " kB"), (1.0, " B")),
}
"""Scales and suffixes of each unit, largest first. The last one also applies to smaller numbers."""


def scale_of(size: float, unit: str) -> tuple[float, str]:
    """Return the divisor and the suffix for a number of this size: 1 and an empty suffix for a share.

    Examples
    --------
    >>> scale_of(226_000, "count"), scale_of(0.5, "share")
    ((1000.0, 'k'), (1.0, ''))
    """
    scales = SUFFIXES.get(unit, ((1.0, ""),))
    for scale, suffix in scales:
        if size >= scale:
            return scale, suffix
    return scales[-1]


def digits_of(size: float) -> int:
    """Return the number of decimals that show a number between 0.1 and 1000 with three significant digits."""
    if size >= 100:
        return 0
    if size >= 10:
        return 1
    if size >= 1 or size == 0:
        return 2
    return 3


def say(value: float, unit: str) -> str:
    """Return a number with three significant digits and its unit.

    Examples
    --------
    >>> say(0.000072, "seconds"), say(226_000, "count"), say(8.3e6, "bytes"), say(0.5, "share")
    ('72.0 µs', '226k', '8.30 MB', '0.500')
    """
    scale, suffix = scale_of(abs(value), unit)
    digits = 3 if unit == "share" else digits_of(abs(value / scale))
    return f"{value / scale:.{digits}f}{suffix}"


def say_briefly(value: float, unit: str) -> str:
    """Return a round number, such as the value of an axis tick, without trailing zeros.

    Times of a second or more stay in seconds, because ticks are powers of ten: 100 s and not 1.66667 min.

    Examples
    --------
    >>> say_briefly(100, "seconds"), say_briefly(0.001, "seconds"), say_briefly(10_000, "count")
    ('100 s', '1 ms', '10k')
    """
    scale, suffix = scale_of(abs(value), unit)
    if unit == "seconds" and scale > 1:
        scale, suffix = 1.0, " s"
    return f"{value / scale:,.6g}{suffix if value else ''}"


def nearest(name: str, known: Iterable[str], most: int = 3) -> list[str]:
    """Return up to `most` known names that are similar to this one, best first, ignoring case.

    Examples
    --------
    >>> nearest("Titel", ["title", "code"])
    ['title']
    """
    written: dict[str, list[str]] = {}
    for one in known:
        written.setdefault(one.casefold(), []).append(one)
    found: list[str] = []
    for folded in get_close_matches(name.casefold(), written, n=most):
        found += written[folded]
    return found[:most]


T = TypeVar("T")


def choose(choices: Mapping[str, T], name: str, what: str) -> T:
    """Return the choice with this name.

    Raises
    ------
    HarnessError
        If there is no such choice. The message lists the choices; its culprit is `what` with the name.
    """
    if name not in choices:
        raise HarnessError(f"expected one of {', '.join(choices)}", culprit=f"{what} {name!r}")
    return choices[name]
