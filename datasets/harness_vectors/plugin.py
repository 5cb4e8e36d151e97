"""Registers the data sets of feature vectors by name; reads nothing."""

from collections.abc import Iterable

from harness import DatasetSpec, hookimpl


@hookimpl
def harness_datasets() -> Iterable[DatasetSpec]:
    """The data sets of feature vectors."""
    return [
        DatasetSpec(
            name="digits",
            load="harness_vectors.digits:load",
            summary="1,797 handwritten digits of 8 x 8 pixels; few classes, for a quick look",
            representation="tf",
            licence="CC BY 4.0",
            citation="E. Alpaydin, C. Kaynak: Optical Recognition of Handwritten Digits, UCI Machine Learning "
            "Repository, 1998, https://doi.org/10.24432/C50P49; as carried by scikit-learn",
        )
    ]
