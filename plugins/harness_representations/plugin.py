"""What this plugin brings, by name only: nothing is imported here."""

from __future__ import annotations

from collections.abc import Iterable

from harness import RepresentationSpec, hookimpl

_WEIGHTS = "harness_representations.weights"


@hookimpl
def harness_representations() -> Iterable[RepresentationSpec]:
    """The representations of texts, and those of counts."""
    return [*_of_texts(), *_of_counts()]


def _of_texts() -> Iterable[RepresentationSpec]:
    yield RepresentationSpec(
        name="words",
        load="harness_representations.words:Words",
        takes="text",
        gives="counts",
        summary="words, or runs of words: words(ngrams=1:2)",
    )
    yield RepresentationSpec(
        name="chars",
        load="harness_representations.chars:Chars",
        takes="text",
        gives="counts",
        summary="runs of characters inside of words: chars(ngrams=2:5)",
    )


def _of_counts() -> Iterable[RepresentationSpec]:
    yield RepresentationSpec(name="raw", load=f"{_WEIGHTS}:Raw", summary="rows as they are")
    yield RepresentationSpec(
        name="binary",
        load=f"{_WEIGHTS}:Binary",
        gives="counts",
        summary="which features a row has, not how often; l2-normalised",
    )
    yield RepresentationSpec(name="tf", load=f"{_WEIGHTS}:Tf", summary="rows l2-normalised")
    yield RepresentationSpec(
        name="tfidf",
        load=f"{_WEIGHTS}:TfIdf",
        summary="tf * ln(N / df) of the training rows, l2-normalised",
    )
    yield RepresentationSpec(
        name="logtfidf",
        load=f"{_WEIGHTS}:LogTfIdf",
        summary="ln(1 + tf) * ln(N / df) of the training rows, l2-normalised",
    )
