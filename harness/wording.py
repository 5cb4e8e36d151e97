"""How counts are worded: "1 trial", "2 trials", "1,918 classes"; and texts of any origin made fit to be printed."""


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
    line = " ".join(text.split())
    return line if len(line) <= most else f"{line[:most]}..."


def printable(text: str) -> str:
    """A text without what a terminal would obey: only lines and tabs are left of all control characters."""
    letters = []
    for letter in text:
        harmless = letter.isprintable() or letter in "\n\t"
        letters.append(letter if harmless else "\N{REPLACEMENT CHARACTER}")
    return "".join(letters)
