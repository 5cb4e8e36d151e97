"""Registers the synthetic data sets by name; makes nothing."""

from collections.abc import Iterable

from harness import DatasetSpec, hookimpl


@hookimpl
def harness_datasets() -> Iterable[DatasetSpec]:
    """The synthetic data sets."""
    return [
        DatasetSpec(
            name="topics",
            load="harness_synthetic.topics:load",
            summary="made-up texts with Zipf classes and words in groups of classes; labels=2 or more: multi-label",
            representation="tfidf",
            licence="none needed: made from a seed",
            citation="no source: made by manyclass-harness",
        ),
        DatasetSpec(
            name="zipf",
            load="harness_synthetic.zipf:load",
            summary="made-up texts of any size, for speed and scaling: Zipf classes and words, long rows",
            representation="tfidf",
            licence="none needed: made from a seed",
            citation="no source: made by manyclass-harness",
        ),
    ]
