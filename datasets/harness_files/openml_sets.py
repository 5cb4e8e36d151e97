"""Datasets of OpenML, by its own client: `openml:ID`. Columns are numbers, values from a list, or texts.

The client fetches the ARFF file and verifies the server's checksum. The file is read by liac-arff, which the client
requires anyway. The reader of the client is not used, because it loads a pickle that it stores beside the file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from harness import Dataset
from harness.errors import DataError
from harness.sdk.reading.tables import Cells, Table
from harness_files.labels import check_missing
from harness_files.numbers import read_numbers
from harness_files.places import stamp_files
from harness_files.table import Wanted, read_texts

TEXT = "STRING"
"""Name of a text column's type in ARFF."""

Attribute = tuple[str, str | list[str]]
"""A column's name, and its type or its possible values."""


def load_openml(
    *,
    path: str | int,
    features: str | int | None = None,
    label: str | int | None = None,
    group: str | int | None = None,
    time: str | int | None = None,
    separator: str | None = None,
    missing: str = "error",
) -> Dataset:
    """Load numeric and categorical columns and a label column from OpenML.

    Parameters
    ----------
    path : str or int
        Number of the dataset.
    features : str, int or None, default=None
        Columns of the features, as in `features=height,width`. None means all numeric and categorical columns.
    label : str, int or None, default=None
        Column of the label. None means the only target.
    group : str, int or None, default=None
        Column for `--split grouped:COLUMN`.
    time : str, int or None, default=None
        Column for `--split time:COLUMN`.
    separator : str or None, default=None
        Mark between several labels in a cell.
    missing : {"error", "drop"}, default="error"
        Treatment of rows without a label: "error", or "drop" to skip them.

    Returns
    -------
    Dataset
        The rows, in the order of the file.

    Raises
    ------
    DataError
        If the dataset cannot be fetched, or does not fit the options.
    """
    check_missing(missing)
    given = _fetch(path)
    chosen = given.label(label)
    requested = {
        "features": features,
        "label": chosen,
        "group": group,
        "time": time,
        "left_out": given.left_out(chosen),
    }
    return replace(read_numbers([given.table()], given.name, requested, missing, separator), revision=given.revision)


def load_openml_texts(
    *,
    path: str | int,
    text: str | int,
    label: str | int | None = None,
    group: str | int | None = None,
    time: str | int | None = None,
    separator: str | None = None,
    levels: str | None = None,
    taxonomy: str | None = None,
    missing: str = "error",
    min_df: int = 1,
) -> Dataset:
    """Load a text column and a label column from OpenML.

    Parameters
    ----------
    path : str or int
        Number of the dataset.
    text : str or int
        Columns of the text.
    label : str, int or None, default=None
        Column of the label. None means the only target.
    group : str, int or None, default=None
        Column for `--split grouped:COLUMN`.
    time : str, int or None, default=None
        Column for `--split time:COLUMN`.
    separator : str or None, default=None
        Mark between several labels in a cell.
    levels : str or None, default=None
        Mark between the levels of a label. None means '/' if every label has one; '' means none.
    taxonomy : str or None, default=None
        File with the class tree.
    missing : {"error", "drop"}, default="error"
        Treatment of rows without a label: "error", or "drop" to skip them.
    min_df : int, default=1
        Minimum number of texts with a word.

    Returns
    -------
    Dataset
        The texts, in the order of the file.

    Raises
    ------
    DataError
        If the dataset cannot be fetched, or does not fit the options.
    """
    check_missing(missing)
    given = _fetch(path)
    requested = {"text": text, "label": given.label(label), "split": None, "id": None, "group": group, "time": time}
    wanted = Wanted(given.name, requested, missing, separator, levels, taxonomy, min_df=min_df)
    return replace(read_texts([given.table()], wanted), revision=given.revision)


def stamp_openml(*, path: str | int, taxonomy: str | None = None, **_: object) -> str:
    """Return the number, which always names the same version of a dataset, and the stamp of the taxonomy's file."""
    return f"{path} {stamp_files(taxonomy=taxonomy)}"


# -- fetching --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Given:
    """A dataset with the server's description and its file."""

    name: str
    file: Path
    targets: tuple[str, ...]
    """The columns to predict, according to the server."""
    useless: tuple[str, ...]
    """Columns without any information, such as row numbers."""
    revision: str

    is_sparse: bool = False

    @contextmanager
    def table(self) -> Iterator[Table]:
        """Yield the table of its rows."""
        with self._open() as found:
            attributes, rows = found
            columns = tuple(name for name, _ in attributes)
            values = {place: kind for place, (_, kind) in enumerate(attributes) if isinstance(kind, list)}

            def read(places: Sequence[int]) -> Cells:
                wanted = [(place, _default_cell(attributes[place][1])) for place in places]
                for number, row in enumerate(rows, 1):
                    yield number, _cells(row, wanted)

            yield Table(self.name, "OpenML", columns, read, values)

    def label(self, requested: str | int | None) -> str | int | None:
        """Return the column of the label: the requested one, or the only target."""
        if requested is None and len(self.targets) > 1:
            raise DataError(
                f"{self.name} has several targets: {', '.join(self.targets)}",
                next_step=f'Choose one, as in --data "{self.name}(label={self.targets[0]})".',
            )
        return requested if requested is not None else next(iter(self.targets), None)

    def left_out(self, label: str | int | None) -> tuple[str, ...]:
        """Return columns that are not features by default: texts, other targets, and useless columns."""
        with self._open() as found:
            texts = [name for name, kind in found[0] if kind == TEXT]
        others = [name for name in self.targets if name != label]
        return (*texts, *others, *self.useless)

    @contextmanager
    def _open(self) -> Iterator[tuple[list[Attribute], Iterator[Any]]]:
        """Yield names and types of its columns, and its rows: lists of cells, or the present cells of a sparse row."""
        import arff  # noqa: PLC0415 (comes with the client)

        with self.file.open(encoding="utf-8") as stream:
            try:
                found = arff.load(stream, return_type=arff.LOD_GEN if self.is_sparse else arff.DENSE_GEN)
                yield found["attributes"], found["data"]
            except arff.ArffException as error:
                raise DataError(f"{self.name}: its file cannot be read: {error}") from error


def _cells(row: Any, wanted: Sequence[tuple[int, Any]]) -> list[Any]:
    """Return the requested cells of a dense or sparse row."""
    if isinstance(row, dict):
        return [row.get(place, unsaid) for place, unsaid in wanted]
    return [row[place] for place, _ in wanted]


def _default_cell(kind: str | list[str]) -> Any:
    """Return the value of a missing cell in a sparse row: zero, or the first value of the list."""
    return kind[0] if isinstance(kind, list) else 0.0


def _fetch(path: str | int) -> _Given:
    """Return the file of a dataset, from the client's cache or the server, and its description."""
    if not str(path).isdecimal():
        raise DataError(
            f"openml:{path}: expected the number of a dataset, as in openml:61",
            next_step="Look it up at https://www.openml.org/search?type=data.",
        )
    try:
        import openml  # noqa: PLC0415 (an extra that may be missing)
    except ImportError:
        raise DataError(
            "data of OpenML needs its client", next_step="Run `pip install 'manyclass-harness[openml]'`."
        ) from None
    os.environ[openml.config.OPENML_SKIP_PARQUET_ENV_VAR] = "true"  # the server's checksum is that of the ARFF file
    description = _describe(openml, int(path))
    targets = _names(description.default_target_attribute)
    useless = (*_names(description.ignore_attribute), *_names(description.row_id_attribute))
    revision = f"{openml.config.get_server_base_url()}/d/{path} version {description.version}"
    checksum = f"MD5 {description.md5_checksum}"
    is_sparse = description.format.lower() == "sparse_arff"
    file = Path(description.data_file)
    return _Given(f"openml:{path}", file, targets, useless, f"{revision}, {checksum}", is_sparse)


def _describe(openml: Any, number: int) -> Any:
    """Return the client's description of a dataset, with its file fetched and verified."""
    errors = openml.exceptions
    try:
        return openml.datasets.get_dataset(number, download_data=True)
    except errors.OpenMLHashException as error:
        raise DataError(
            f"the downloaded file does not match the server's checksum: {error}", next_step="Try again."
        ) from error
    except (errors.OpenMLServerNoResult, errors.OpenMLPrivateDatasetError) as error:
        raise DataError(
            f"OpenML has no dataset {number}, or it is private ({error})",
            next_step="Look it up at https://www.openml.org/search?type=data.",
        ) from error
    except (errors.OpenMLServerError, OSError) as error:
        raise DataError(
            f"{openml.config.server} does not answer ({error})",
            next_step="Try again with a network connection, or set `server=` in the client's configuration.",
        ) from error


def _names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Return column names from the server's form: none, a text with commas, or a list."""
    names = given.split(",") if isinstance(given, str) else given or ()
    return tuple(names)
