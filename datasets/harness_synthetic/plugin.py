"""Registers the synthetic datasets, and an experiment on them, by name, without making them."""

from collections.abc import Iterable

from harness import DatasetSpec, ExperimentSpec, hookimpl


@hookimpl
def harness_datasets() -> Iterable[DatasetSpec]:
    """Return the synthetic datasets."""
    return [
        DatasetSpec(
            name="topics",
            load="harness_synthetic.topics:make_topics",
            summary="made-up texts with Zipf classes and words in groups of classes; labels=2 or more: multi-label",
            representation="tfidf",
            licence="none needed: made from a seed",
            citation="no source: made by manyclass-harness",
            facts={"rows": 2_000, "features": 1_000, "classes": 50, "taxonomy_depth": 2},
        ),
        DatasetSpec(
            name="zipf",
            load="harness_synthetic.zipf:make_zipf",
            summary="made-up texts of any size, for speed and scaling: Zipf classes and words, long rows",
            representation="tfidf",
            licence="none needed: made from a seed",
            citation="no source: made by manyclass-harness",
            facts={"rows": 40_000, "features": 60_000, "classes": 1_000, "taxonomy_depth": 2},
        ),
        DatasetSpec(
            name="directory",
            load="harness_synthetic.directory:make_directory",
            summary="made-up pages of any number, about as hard as a web directory: shared words, confused siblings",
            representation="logtfidf",
            licence="none needed: made from a seed",
            citation="no source: made by manyclass-harness",
            facts={"rows": 40_000, "features": 100_000, "classes": 1_000, "taxonomy_depth": 3},
        ),
        DatasetSpec(
            name="gaussians",
            load="harness_synthetic.gaussians:make_gaussians",
            summary="made-up dense rows in the likeness of Aloi: 1,000 Gaussian classes, 128 non-negative dimensions",
            representation="tf",
            licence="none needed: made from a seed",
            citation="no source: made by manyclass-harness",
            facts={"rows": 108_000, "features": 128, "classes": 1_000},
        ),
        DatasetSpec(
            name="hsvm-synthetic",
            load="harness_synthetic.hsvm:make_hsvm_synthetic",
            summary="the made-up task of the hierarchical SVM: a class tree with a random weight vector at each node",
            representation="raw",
            licence="none needed: made from a seed",
            citation="the task: L. Cai, T. Hofmann: Hierarchical document categorization with support vector machines, "
            "CIKM 2004; made by manyclass-harness",
            facts={"rows": 2_000, "features": 20, "classes": 27, "taxonomy_depth": 3},
        ),
    ]


@hookimpl
def harness_experiments() -> Iterable[ExperimentSpec]:
    """Return the experiment on datasets of growing size."""
    return [
        ExperimentSpec(
            name="scaling",
            resource="harness_synthetic:experiments/scaling.toml",
            summary="training and prediction of every learner against the number of classes, 100 to 100,000",
        )
    ]
