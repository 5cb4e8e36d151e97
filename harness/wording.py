"""How things are worded: counts ("1 trial", "1,918 classes"), a text in a line, a text fit to be printed."""

import re

_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")
"""Control characters but for tab and new line, and those that turn the order of letters round."""


def counted(count: int | str, one: str, many: str | None = None) -> str:
    """A count before its noun, or before noun and verb: `counted(n, "trial is", "trials are")`."""
    text = f"{count:,}" if isinstance(count, int) else count
    if text == "1":
        return f"{text} {one}"
    return f"{text} {many or _plural(one)}"


def _plural(noun: str) -> str:
    if noun.endswith("s"):
        return f"{noun}es"
    return f"{noun}s"


def in_a_line(text: str, most: int) -> str:
    """A text as one line, cut where it gets too long."""
    line = well_formed(" ".join(text.split()))
    return line if len(line) <= most else f"{line[:most]}..."


def well_formed(text: str) -> str:
    """A text that can be written to any file: halves of characters, which Python allows, are shown as escapes."""
    return text.encode("utf-8", "backslashreplace").decode()


def printable(text: str) -> str:
    """A text with what would move a terminal's cursor, colour it or turn letters round shown as escapes."""
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode(), text)
