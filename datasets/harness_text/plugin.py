"""Registers the text data sets by name; reads nothing."""

from collections.abc import Iterable

from harness import DatasetSpec, hookimpl


@hookimpl
def harness_datasets() -> Iterable[DatasetSpec]:
    """The text data sets."""
    return [
        DatasetSpec(
            name="icd10cm",
            load="harness_text.icd10cm:load",
            stamp="harness_text.icd10cm:stamp",
            summary="diagnosis terms of ICD-10-CM by three-character category, with chapters and sections",
            representation="tfidf",
            licence="ICD-10-CM: published for free use by the U.S. NCHS and CMS (ICD-10 itself: copyright of the WHO); "
            "the package that carries it: MIT",
            citation="National Center for Health Statistics: ICD-10-CM Tabular List of Diseases and Injuries; "
            "as carried by S. Travasci's simple-icd-10-cm, https://github.com/StefanoTrv/simple_icd_10_CM",
        )
    ]
