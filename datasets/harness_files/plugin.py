"""Registers the loaders of files by name; imports and reads nothing."""

from __future__ import annotations

from harness import DatasetSpec, hookimpl

OWN = "by the owner of the file"
THEIRS = "see its page on the hub"
STAMP = "harness_files.places:stamp_files"
TEXTS, PARQUET = (".csv", ".tsv", ".tab", ".jsonl", ".ndjson"), (".parquet", ".pq")
"""Endings of table files."""


def _files(name: str, *, module: str, **more: object) -> DatasetSpec:
    """Return the spec of a file format."""
    return DatasetSpec(
        name=name,
        load=f"harness_files.{module}:load_{name}",
        recognises=f"harness_files.recognise:is_{name}",
        stamp=STAMP,
        licence=OWN,
        citation=OWN,
        **more,  # type: ignore[arg-type]  # the spec checks its own fields
    )


def _hub(name: str, *, module: str, **more: object) -> DatasetSpec:
    """Return the datasets of repositories, fetched by their clients."""
    kept_by = name.partition("-")[0]
    return DatasetSpec(
        name=name,
        load=f"harness_files.{module}:load_{name.replace('-', '_')}",
        stamp=f"harness_files.{module}:stamp_{kept_by}",
        licence=THEIRS,
        citation=THEIRS,
        **more,  # type: ignore[arg-type]  # the spec checks its own fields
    )


@hookimpl
def harness_datasets() -> list[DatasetSpec]:
    """Return the built-in datasets of this family."""
    return [
        _files(
            "table",
            module="table",
            opens=(*TEXTS, *PARQUET, "/"),
            summary="your CSV, TSV, JSON lines or Parquet: a column of text, a column of labels",
        ),
        DatasetSpec(  # chosen by `features=` or by name, since a table may have texts as well as numbers
            name="numbers",
            load="harness_files.numbers:load_numbers",
            stamp=STAMP,
            opens=(*TEXTS, *PARQUET),
            representation="raw",
            licence=OWN,
            citation=OWN,
            summary="your CSV, TSV, JSON lines or Parquet: columns of numbers, a column of labels",
        ),
        _files(
            "svmlight",
            module="sparse",
            opens=(".svm", ".svmlight", ".libsvm", "/"),
            representation="raw",
            summary="your svmlight / LIBSVM file: labels and id:value pairs, one row a line",
        ),
        _files(
            "xmc",
            module="sparse",
            opens=(".xmc", "/"),
            representation="raw",
            summary="your file in the format of the Extreme Classification Repository",
        ),
        _files(
            "texts",
            module="texts",
            opens=("/",),
            summary="your folder of texts: a folder for each class, a file for each text",
        ),
        _files(
            "arrays",
            module="arrays",
            opens=(".npz", ".npy"),
            representation="raw",
            summary="your .npz: X (dense, or the pieces of a sparse matrix) and y; or X as .npy, labels beside it",
        ),
        _hub(
            "hf",
            module="hub",
            opens=("hf:",),
            summary="hf:NAME of the Hugging Face Hub: a column of text, a column of labels",
        ),
        _hub(
            "hf-numbers",
            module="hub",
            opens=("hf:",),
            representation="raw",
            summary="hf:NAME of the Hugging Face Hub: columns of numbers, a column of labels",
        ),
        _hub(
            "openml",
            module="openml_sets",
            opens=("openml:",),
            representation="raw",
            summary="openml:ID of OpenML: columns of numbers or of values from a list, a column of labels",
        ),
        _hub(
            "openml-texts",
            module="openml_sets",
            opens=("openml:",),
            summary="openml:ID of OpenML: a column of text, a column of labels",
        ),
        DatasetSpec(
            name="subsample",
            load="harness_files.subsample:load_subsample",
            wraps="dataset",
            licence="that of the dataset inside",
            citation="that of the dataset inside",
            summary="some classes and examples of any dataset, drawn by a seed: scaling curves",
        ),
    ]
