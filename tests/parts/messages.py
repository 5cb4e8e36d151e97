"""Assertions on messages: which names, files and values a message mentions, whatever its wording."""

import re

NOTHING_TO_RUN = "nothing left to run"
NO_RUN = "no run is active"
"""Words for states in messages."""


def naming(*parts):
    """Return a pattern for `pytest.raises(match=...)` that finds all parts, in any order.

    A part is found as a whole word: "1" is not found in "10".
    """
    return "(?s)^" + "".join(f"(?=.*{_whole(part)})" for part in parts)


def assert_names(text, *parts):
    """Assert that a text mentions all parts, in any order and as whole words; of several texts, one must."""
    texts = [text] if isinstance(text, str) else text
    assert any(re.search(naming(*parts), one) for one in texts), f"{parts} not all found in: {text}"


def _whole(part):
    before = r"(?<!\w)" if re.match(r"\w", part) else ""
    after = r"(?!\w)" if re.search(r"\w\Z", part) else ""
    return before + re.escape(part) + after
