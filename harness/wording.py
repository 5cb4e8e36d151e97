"""How counts are worded: "1 trial", "2 trials", "1,918 classes"."""


def counted(count: int | str, one: str, many: str | None = None) -> str:
    """A count before its noun, or before noun and verb: `counted(n, "trial is", "trials are")`."""
    text = f"{count:,}" if isinstance(count, int) else count
    return f"{text} {one if text == '1' else many or one + ('es' if one.endswith('s') else 's')}"
