"""Registers the representations by name; imports none of them."""

from __future__ import annotations

from collections.abc import Iterable

from harness import RepresentationSpec, hookimpl

_WEIGHTS, _VECTORS = "harness_representations.weights", "harness_representations.vectors"


@hookimpl
def harness_representations() -> Iterable[RepresentationSpec]:
    """Return the representations of texts, of counts, and of vectors."""
    return [*_of_texts(), *_of_counts(), *_to_vectors()]


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

    yield RepresentationSpec(
        name="hashed",
        load="harness_representations.hashed:Hashed",
        takes="text",
        gives="counts",
        summary="words or runs of characters by their hashes, in 2 ** bits columns: hashed(of=words, bits=20)",
    )


def _of_counts() -> Iterable[RepresentationSpec]:
    yield RepresentationSpec(name="raw", load=f"{_WEIGHTS}:Raw", parameters={}, summary="rows as they are")
    yield RepresentationSpec(
        name="binary",
        load=f"{_WEIGHTS}:Binary",
        parameters={},
        gives="counts",
        summary="which features a row has, not how often; l2-normalised",
    )
    yield RepresentationSpec(name="tf", load=f"{_WEIGHTS}:Tf", parameters={}, summary="rows l2-normalised")
    yield RepresentationSpec(
        name="tfidf",
        load=f"{_WEIGHTS}:TfIdf",
        parameters={},
        summary="tf * ln(N / df) of the training rows, l2-normalised",
    )
    yield RepresentationSpec(
        name="logtfidf",
        load=f"{_WEIGHTS}:LogTfIdf",
        parameters={},
        summary="ln(1 + tf) * ln(N / df) of the training rows, l2-normalised",
    )
    yield RepresentationSpec(
        name="frequent",
        load=f"{_VECTORS}:Frequent",
        summary="the features that enough training rows have",
    )


def _to_vectors() -> Iterable[RepresentationSpec]:
    yield RepresentationSpec(
        name="truncated-svd",
        load=f"{_VECTORS}:Reduced",
        gives="vectors",
        summary="the d directions in which rows differ most: truncated-svd(chars, d=100)",
    )
    yield RepresentationSpec(
        name="standard",
        load=f"{_VECTORS}:Standard",
        gives="vectors",
        parameters={},
        summary="each feature less its mean, by its standard deviation",
    )
    yield RepresentationSpec(
        name="scaled",
        load=f"{_VECTORS}:Scaled",
        gives="counts",
        parameters={},
        summary="each feature from 0 to 1: for learners that take nothing negative",
    )
