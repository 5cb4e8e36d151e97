"""How the words of texts are counted, before they are weighed: what papers and earlier releases went by."""

from __future__ import annotations


def counted_words(tokens: str, *, english: bool = True, min_df: int = 1) -> str:
    """The representation that counts words of a kind, with or without English stop words and rare words.

    `tokens` is a kind that `words` knows, or a regular expression.
    """
    params = {"tokens": tokens}
    if english:
        params["stop_words"] = "english"
    if min_df > 1:
        return f"words({_written(params)}, min_df={min_df}, weighting='raw')"
    return f"words({_written(params)}, weighting='raw')"


def _written(params: dict[str, str]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in params.items())
