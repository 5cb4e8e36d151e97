"""Datasets of OpenML, by its own client: `openml:ID`, whose columns are numbers, values from a list, or texts.

The client fetches the ARFF file and compares it with the checksum that the server states. Reading it is left to
liac-arff, which the client needs anyway: the client's own reading keeps a pickle beside the file and loads that.
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
"""The format's name for a column of texts."""

Attribute = tuple[str, str | list[str]]
"""A column's name, and its kind or the values that it may have."""


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
    """The columns named as `features=height,width`, else all of numbers and of values from a list."""
    check_missing(missing)
    given = _fetch(path)
    chosen = given.label(label)
    asked = {"features": features, "label": chosen, "group": group, "time": time, "left_out": given.left_out(chosen)}
    return replace(read_numbers([given.table()], given.name, asked, missing, separator), revision=given.revision)


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
    """The texts of the columns named; the target's classes. See docs/how-to/your-data.md for the options."""
    check_missing(missing)
    given = _fetch(path)
    asked = {"text": text, "label": given.label(label), "split": None, "id": None, "group": group, "time": time}
    wanted = Wanted(given.name, asked, missing, separator, levels, taxonomy, min_df=min_df)
    return replace(read_texts([given.table()], wanted), revision=given.revision)


def stamp_openml(*, path: str | int, taxonomy: str | None = None, **_: object) -> str:
    """Return the number, which names one version of one dataset for ever, and the stamp of the taxonomy's file."""
    return f"{path} {stamp_files(taxonomy=taxonomy)}"


# -- fetching --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Given:
    """A dataset as the server describes it, and its file."""

    name: str
    file: Path
    targets: tuple[str, ...]
    """The columns to predict, according to the server."""
    useless: tuple[str, ...]
    """Columns that are nothing to learn from: numbers of rows and the like."""
    revision: str

    is_sparse: bool = False

    @contextmanager
    def table(self) -> Iterator[Table]:
        """Its rows."""
        with self._open() as found:
            attributes, rows = found
            columns = tuple(name for name, _ in attributes)
            values = {place: kind for place, (_, kind) in enumerate(attributes) if isinstance(kind, list)}

            def read(places: Sequence[int]) -> Cells:
                wanted = [(place, _unsaid(attributes[place][1])) for place in places]
                for number, row in enumerate(rows, 1):
                    yield number, _cells(row, wanted)

            yield Table(self.name, "OpenML", columns, read, values)

    def label(self, asked: str | int | None) -> str | int | None:
        """The column of the label: as asked for, or the only target."""
        if asked is None and len(self.targets) > 1:
            raise DataError(
                f"{self.name} has several targets: {', '.join(self.targets)}",
                next_step=f'choose one, as in --data "{self.name}(label={self.targets[0]})"',
            )
        return asked if asked is not None else next(iter(self.targets), None)

    def left_out(self, label: str | int | None) -> tuple[str, ...]:
        """Columns that are no features unless they are named: texts, other targets, and what is of no use."""
        with self._open() as found:
            texts = [name for name, kind in found[0] if kind == TEXT]
        others = [name for name in self.targets if name != label]
        return (*texts, *others, *self.useless)

    @contextmanager
    def _open(self) -> Iterator[tuple[list[Attribute], Iterator[Any]]]:
        """Names and kinds of its columns, and its rows: lists of cells, or the present cells of a sparse row."""
        import arff  # noqa: PLC0415 (comes with the client)

        with self.file.open(encoding="utf-8") as stream:
            try:
                found = arff.load(stream, return_type=arff.LOD_GEN if self.is_sparse else arff.DENSE_GEN)
                yield found["attributes"], found["data"]
            except arff.ArffException as error:
                raise DataError(f"{self.name}: its file cannot be read: {error}") from error


def _cells(row: Any, wanted: Sequence[tuple[int, Any]]) -> list[Any]:
    """The cells of a row, dense or sparse."""
    if isinstance(row, dict):
        return [row.get(place, unsaid) for place, unsaid in wanted]
    return [row[place] for place, _ in wanted]


def _unsaid(kind: str | list[str]) -> Any:
    """Return the value of a missing cell in a sparse row: zero, or the first value of the list."""
    return kind[0] if isinstance(kind, list) else 0.0


def _fetch(path: str | int) -> _Given:
    """Return the file of a dataset, from the client's cache or the server, and its description."""
    if not str(path).isdecimal():
        raise DataError(
            f"openml:{path}: expected the number of a dataset, as in openml:61",
            next_step="look it up at https://www.openml.org/search?type=data",
        )
    try:
        import openml  # noqa: PLC0415 (an extra that may be missing)
    except ImportError:
        raise DataError(
            "data of OpenML needs its client", next_step="pip install 'manyclass-harness[openml]'"
        ) from None
    os.environ[openml.config.OPENML_SKIP_PARQUET_ENV_VAR] = "true"  # the checksum that is stated is the ARFF file's
    description = _asked(openml, int(path))
    targets = _names(description.default_target_attribute)
    useless = (*_names(description.ignore_attribute), *_names(description.row_id_attribute))
    revision = f"{openml.config.get_server_base_url()}/d/{path} version {description.version}"
    checksum = f"MD5 {description.md5_checksum}"
    is_sparse = description.format.lower() == "sparse_arff"
    file = Path(description.data_file)
    return _Given(f"openml:{path}", file, targets, useless, f"{revision}, {checksum}", is_sparse)


def _asked(openml: Any, number: int) -> Any:
    """Return the client's description of a dataset, with its file fetched and verified."""
    errors = openml.exceptions
    try:
        return openml.datasets.get_dataset(number, download_data=True)
    except errors.OpenMLHashException as error:
        raise DataError(
            f"the downloaded file does not match the server's checksum: {error}", next_step="try again"
        ) from error
    except (errors.OpenMLServerNoResult, errors.OpenMLPrivateDatasetError) as error:
        raise DataError(
            f"OpenML has no dataset {number}, or it is private ({error})",
            next_step="look it up at https://www.openml.org/search?type=data",
        ) from error
    except (errors.OpenMLServerError, OSError) as error:
        raise DataError(
            f"{openml.config.server} does not answer ({error})",
            next_step="try again when there is a net; `server=` in the client's configuration names another server",
        ) from error


def _names(given: str | Sequence[str] | None) -> tuple[str, ...]:
    """Columns as the server names them: none, several with commas between, or a list."""
    names = given.split(",") if isinstance(given, str) else given or ()
    return tuple(names)
